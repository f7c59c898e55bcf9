"""Checks of the database: its schema, its pages, its group, where it came from, its last backup."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from perlica.app.config import Config
from perlica.app.doctor.findings import Finding, Level, error, foreign, note, ok, warning
from perlica.app.layout import database_path
from perlica.domain.clock import now_ms
from perlica.domain.errors import PerlicaError
from perlica.domain.texts import Language, Text, say_duration
from perlica.stores.backup import LAST_BACKUP_KEY, RESTORED_FROM_KEY
from perlica.stores.database import Database
from perlica.stores.health import HealthLimits, Severity, check_database, measure
from perlica.stores.migrations import read_migrations
from perlica.stores.service import ServiceStore

BACKUP_WITHIN_MS = 7 * 86_400_000
"""A database older than this should have a backup that is younger."""

_SUBJECT = "database"
_VERSION = "SELECT max(version) AS version FROM schema_versions"
_TARGET = "SELECT group_id, created_at_ms FROM target_group WHERE id = 1"


def check_stored(config: Config) -> Iterator[Finding]:
    """Everything about the database file, without changing it."""
    path = database_path(config.service.state_dir)
    if not path.is_file():
        yield note("database_missing", _SUBJECT, _MISSING, path=str(path))
        return
    faults = list(_check_health(config, path))
    yield from faults
    if any(fault.level is Level.error for fault in faults):
        return
    try:
        with Database.open(path, read_only=True) as database:
            yield from _check_schema(database, path)
            yield from _check_target(database, config)
            yield from _check_history(database)
    except PerlicaError as fault:
        yield error(fault.code, _SUBJECT, foreign(fault.text), foreign(fault.remedy))


def _check_health(config: Config, path: Path) -> Iterator[Finding]:
    limits = HealthLimits(min_free_bytes=config.retention.min_free_bytes)
    for found in check_database(path, limits):
        if found.code == "disk_low":
            continue  # said by the check of the state directory
        make = error if found.severity is Severity.fault else warning
        label = _LABELS.get(found.code, Text(zh="{said}", en="{said}"))
        yield make(found.code, _SUBJECT, label, foreign(found.remedy), said=found.text)


def _check_schema(database: Database, path: Path) -> Iterator[Finding]:
    (row,) = database.query(_VERSION)
    version, newest = int(row["version"] or 0), read_migrations()[-1].version
    if version > newest:
        yield error(
            "schema_newer", _SUBJECT, _SCHEMA_NEWER, _UPGRADE, version=version, newest=newest
        )
    elif version < newest:
        yield note("schema_older", _SUBJECT, _SCHEMA_OLDER, version=version, newest=newest)
    else:
        size = measure(path).database_bytes // 2**20
        yield ok("database_ok", _SUBJECT, _DATABASE_OK, version=version, size=f"{size} MiB")


def _check_target(database: Database, config: Config) -> Iterator[Finding]:
    for row in database.query(_TARGET):
        if row["group_id"] != config.napcat.group_id:
            yield error("other_group", "napcat.group_id", _OTHER_GROUP, _KEEP_GROUP)


def _check_history(database: Database) -> Iterator[Finding]:
    service = ServiceStore(database)
    origin = service.find(RESTORED_FROM_KEY)
    if origin:
        yield note("database_restored", _SUBJECT, _RESTORED, origin=origin)
    last = service.find(LAST_BACKUP_KEY)
    born = [int(row["created_at_ms"]) for row in database.query(_TARGET)]
    since_ms = now_ms() - int(last) if last else None
    if since_ms is not None and since_ms <= BACKUP_WITHIN_MS:
        yield ok("backup_ok", "backup", _BACKUP_OK)
    elif born and now_ms() - born[0] > BACKUP_WITHIN_MS:
        text = _BACKUP_NONE if since_ms is None else _backup_old(since_ms)
        yield warning("backup_old", "backup", text, _MAKE_BACKUP)


def _backup_old(since_ms: int) -> Text:
    return Text(
        zh=f"最近一次备份在 {say_duration(since_ms, Language.zh)}之前",
        en=f"the last backup is {say_duration(since_ms, Language.en)} old",
    )


_LABELS: Mapping[str, Text] = {
    "database_corrupt": Text(zh="数据库已损坏（{said}）", en="the database is damaged ({said})"),
    "database_dangling": Text(zh="数据库有断开的引用（{said}）", en="{said}"),
    "database_readable": Text(zh="别的用户能读数据库文件（{said}）", en="{said}"),
    "wal_large": Text(zh="数据库的 WAL 太大（{said}）", en="{said}"),
    "database_busy": Text(zh="数据库正被占用（{said}）", en="{said}"),
    "database_unusable": Text(zh="数据库打不开（{said}）", en="{said}"),
}
_MISSING = Text(
    zh="{path} 还不存在，启动时会创建", en="{path} does not exist yet, a start makes it"
)
_DATABASE_OK = Text(
    zh="数据库完好，结构版本 {version}，{size}", en="the database is well, schema {version}, {size}"
)
_SCHEMA_NEWER = Text(
    zh="数据库结构版本 {version} 比程序认识的 {newest} 新",
    en="the database has schema {version}, this program knows {newest}",
)
_UPGRADE = Text(zh="安装更新的程序", en="install a newer program")
_SCHEMA_OLDER = Text(
    zh="数据库结构版本 {version}，启动时会升级到 {newest}",
    en="the database has schema {version}; a start brings it to {newest}",
)
_OTHER_GROUP = Text(zh="数据库属于另一个群", en="the database belongs to another group")
_KEEP_GROUP = Text(
    zh="改回原来的群号，或给新群另设 state_dir",
    en="set the old number again, or give the new group a state_dir of its own",
)
_RESTORED = Text(zh="数据库恢复自 {origin}", en="the database was restored from {origin}")
_BACKUP_OK = Text(zh="最近有备份", en="there is a recent backup")
_BACKUP_NONE = Text(zh="还没有任何备份", en="there is no backup at all")
_MAKE_BACKUP = Text(zh="定期执行 perlica backup", en="run `perlica backup` regularly")
