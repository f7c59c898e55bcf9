"""Checks of what lies on disk: secrets, the state directory, the policy, the log, the context."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from perlica.app.config import Config
from perlica.app.doctor.findings import Finding, error, foreign, note, ok, warning
from perlica.app.protection_rules import put_in_force
from perlica.app.secrets import SecretInvalid, read_secret, secret_files
from perlica.domain.errors import Misconfigured
from perlica.domain.texts import Text
from perlica.gateway.core.policy_file import check_actions, read_policy, unnamed_actions
from perlica.gateway.known_actions import CATALOG
from perlica.protection import POLICY_VERSION, Channel, ProtectionStatus, protect

_SHORT_SECRET = 16
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "fuse.sshfs", "afs"})
_FLEETING = frozenset({"tmpfs", "ramfs", "overlay"})


def check_secrets(config: Config) -> Iterator[Finding]:
    """Every secret's file: there, the service's own, private, one word."""
    owner = service_user(config)
    for key, path in secret_files(config):
        try:
            secret = read_secret(path, key=key, owner=owner)
        except SecretInvalid as invalid:
            text = Text(zh=f"{path}：{invalid.wrong.zh}", en=f"{path}: {invalid.wrong.en}")
            yield error(invalid.code, key, text, invalid.fix)
            continue
        if len(secret.reveal()) < _SHORT_SECRET:
            yield warning("secret_short", key, _SECRET_SHORT, _MAKE_LONGER)
        else:
            yield ok("secret_ok", key, _SECRET_OK)


def service_user(config: Config) -> int:
    """Whose files the service's are: for root, who looks on, the owner of the state directory."""
    us = os.geteuid()
    state = config.service.state_dir
    return state.stat().st_uid if us == 0 and state.is_dir() else us


def check_state_directory(config: Config) -> Iterator[Finding]:
    """The state directory: ours alone, writable, on a disk that keeps what it is given."""
    path = config.service.state_dir
    subject = "service.state_dir"
    if not path.exists():
        parent = next(p for p in path.parents if p.exists())
        if os.access(parent, os.W_OK):
            yield note("state_dir_missing", subject, _STATE_MISSING, path=str(path))
        else:
            yield error(
                "state_dir_cannot_be_made", subject, _STATE_UNMAKEABLE, _MAKE_STATE, path=str(path)
            )
        return
    status = path.stat()
    if not stat.S_ISDIR(status.st_mode) or not os.access(path, os.W_OK | os.X_OK):
        yield error(
            "state_dir_not_writable", subject, _STATE_READ_ONLY, _MAKE_STATE, path=str(path)
        )
    elif status.st_mode & _OTHERS:
        yield warning("state_dir_open", subject, _STATE_OPEN, _CLOSE_STATE, path=str(path))
    else:
        yield ok("state_dir_ok", subject, _STATE_OK, path=str(path))
    yield from _check_disk(config, path)


def _check_disk(config: Config, path: Path) -> Iterator[Finding]:
    free, wanted = shutil.disk_usage(path).free, config.retention.min_free_bytes
    if free < wanted:
        yield warning(
            "disk_low", "disk", _DISK_LOW, _FREE_DISK, free=_mib(free), wanted=_mib(wanted)
        )
    else:
        yield ok("disk_ok", "disk", _DISK_OK, free=_mib(free))
    kind = file_system_of(path)
    if kind in _REMOTE:
        yield error("file_system_remote", "disk", _REMOTE_DISK, _USE_LOCAL_DISK, kind=kind)
    elif kind in _FLEETING:
        yield warning("file_system_fleeting", "disk", _FLEETING_DISK, _USE_LOCAL_DISK, kind=kind)


def file_system_of(path: Path) -> str:
    """The kind of the file system that holds a path, as the kernel names it; "" if not found."""
    best, kind = -1, ""
    real = path.resolve()
    for line in Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines():
        before, _, after = line.partition(" - ")
        point = Path(before.split()[4].encode().decode("unicode_escape"))
        if real.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), after.split()[0]
    return kind


def check_protection(config: Config) -> Iterator[Finding]:
    """The operator's protection rules can be read and every one of them is sound."""
    try:
        count = put_in_force(config.protection.rules_file)
    except Misconfigured as wrong:
        yield error(wrong.code, "protection", foreign(wrong.text), foreign(wrong.remedy))
        return
    yield ok("protection_ok", "protection", _PROTECTION_OK, version=POLICY_VERSION, count=count)


def check_policy(config: Config) -> Iterator[Finding]:
    """The policy file can be read and says what it is."""
    try:
        policy = read_policy(config.policy.file)
        check_actions(policy, CATALOG)
    except Misconfigured as wrong:
        yield error(wrong.code, "policy", foreign(wrong.text), foreign(wrong.remedy))
        return
    left_out = unnamed_actions(policy, CATALOG)
    if left_out:
        yield note("policy_unnamed", "policy", _POLICY_UNNAMED, names=", ".join(left_out))
    source = str(config.policy.file) if config.policy.file else "policy.toml"
    yield ok("policy_ok", "policy", _POLICY_OK, version=policy.version, source=source)


def check_context(config: Config) -> Iterator[Finding]:
    """The text for the model holds nothing that protection would take out of it."""
    if not config.context.text:
        return
    status = protect(config.context.text, Channel.MODEL).status
    if status is ProtectionStatus.SCANNED_NO_FINDINGS:
        yield ok("context_ok", "context.text", _CONTEXT_OK, version=config.context.version)
    else:
        yield error("context_holds_secret", "context.text", _CONTEXT_SECRET, _CLEAN_CONTEXT)


def check_log(config: Config) -> Iterator[Finding]:
    """The log's file can be made where it is wanted."""
    path = config.log.file
    if path is None:
        return
    target = path if path.exists() else path.parent
    if target.exists() and os.access(target, os.W_OK):
        yield ok("log_ok", "log.file", _LOG_OK, path=str(path))
    else:
        yield error("log_not_writable", "log.file", _LOG_CLOSED, _OPEN_LOG, path=str(path))


def _mib(size_bytes: int) -> str:
    return f"{size_bytes // 2**20} MiB"


_SECRET_OK = Text(zh="密钥文件可用，权限合适", en="the secret's file is usable and private")
_SECRET_SHORT = Text(zh="密钥不到 16 个字符", en="the secret has less than 16 characters")
_MAKE_LONGER = Text(
    zh="换成更长的随机值；NapCat 的 token 两边都要换",
    en="set a longer random one; a token of NapCat on both sides",
)
_STATE_MISSING = Text(
    zh="{path} 还不存在，启动时会创建", en="{path} does not exist yet, a start makes it"
)
_STATE_UNMAKEABLE = Text(zh="{path} 不存在，也无权创建", en="{path} cannot be made")
_STATE_READ_ONLY = Text(zh="{path} 不是可写的目录", en="{path} is no directory we can write")
_STATE_OPEN = Text(zh="别的用户能进入 {path}", en="others can enter {path}")
_STATE_OK = Text(zh="{path} 可写，只有我们能进", en="{path} is writable and ours alone")
_MAKE_STATE = Text(
    zh="创建 {path}，让运行服务的用户拥有它，权限 0700",
    en="make {path}, owned by the service's user, mode 0700",
)
_CLOSE_STATE = Text(zh="执行 chmod 700 {path}", en="chmod 700 {path}")
_DISK_OK = Text(zh="磁盘还剩 {free}", en="{free} are free on the disk")
_DISK_LOW = Text(zh="磁盘只剩 {free}，至少要 {wanted}", en="{free} are free, {wanted} are wanted")
_FREE_DISK = Text(
    zh="清理磁盘；否则旧消息会提前清理", en="free disk space, or old messages go early"
)
_REMOTE_DISK = Text(
    zh="状态目录在网络文件系统（{kind}）上，数据库会损坏",
    en="the state directory is on a network file system ({kind}); the database would break",
)
_FLEETING_DISK = Text(
    zh="状态目录在 {kind} 上，重启后会丢失",
    en="the state directory is on {kind}, which a restart empties",
)
_USE_LOCAL_DISK = Text(zh="换到本地磁盘或块存储卷", en="use a local disk or a block volume")
_PROTECTION_OK = Text(
    zh="规则版本 {version}，自定义规则 {count} 条", en="rules {version}, {count} of your own"
)
_POLICY_UNNAMED = Text(
    zh="策略没有写这些动作，因此一律拦截：{names}",
    en="the policy leaves these actions out, so they are blocked: {names}",
)
_POLICY_OK = Text(zh="策略版本 {version}（{source}）", en="policy version {version} ({source})")
_CONTEXT_OK = Text(zh="初始上下文版本 {version}", en="initial context version {version}")
_CONTEXT_SECRET = Text(
    zh="初始上下文里有像密钥的内容，或没能查完",
    en="the initial context holds something like a credential, or could not be scanned",
)
_CLEAN_CONTEXT = Text(zh="去掉它；密钥只放在文件里", en="take it out; secrets live in files only")
_LOG_OK = Text(zh="日志写到 {path}", en="the log goes to {path}")
_LOG_CLOSED = Text(zh="{path} 写不了", en="{path} cannot be written")
_OPEN_LOG = Text(
    zh="创建目录并让运行服务的用户拥有它", en="make its directory, owned by the service's user"
)
