"""How full a sandbox's disk is: told by its node, shown to Owners and in the console."""

from pathlib import Path

from perlica.commands.sandbox_answers import answer_sandbox
from perlica.domain.clock import now_ms
from perlica.domain.ids import RowId, SandboxName
from perlica.domain.node import LossRule
from perlica.domain.sandbox import BackendSandbox, NodeSurvey, SandboxState
from perlica.domain.texts import Language
from perlica.sandboxes.node_watch import Look, NodeWatcher
from perlica.stores.database import Database
from perlica.stores.disk_use import DiskUse, DiskUseStore
from perlica.stores.sandboxes import SandboxStore
from perlica.stores.views.sandboxes import find_sandbox
from tests.console.seeder import LIMITS, Seeder, make_database

DAY_MS = 86_400_000


def _said(used: int | None, *, instance: str = "b2f1c0") -> BackendSandbox:
    return BackendSandbox(
        name=SandboxName("dev"),
        instance=instance,
        state="ready",
        image_digest="sha256:" + "4e7a" * 16,
        disk_bytes=LIMITS.disk_bytes,
        disk_used_bytes=used,
    )


def _sandbox(db: Database) -> int:
    seeder = Seeder(db)
    sandbox = seeder.reserve("dev", "试试")
    seeder.settle(sandbox, SandboxState.ready)
    return sandbox


def test_what_a_node_says_is_kept_until_it_says_something_else(tmp_path: Path) -> None:
    with Database.open(make_database(tmp_path / "perlica.db")) as db:
        sandbox, store = _sandbox(db), DiskUseStore(db)
        with db.transaction():
            store.note("node-1", [_said(3 * 2**20)])
            store.note("node-1", [_said(None)])

        view = find_sandbox(db, sandbox)

    assert view is not None
    assert view.disk_used_bytes == 3 * 2**20


def test_another_instance_of_the_same_name_changes_nothing(tmp_path: Path) -> None:
    with Database.open(make_database(tmp_path / "perlica.db")) as db:
        sandbox, store = _sandbox(db), DiskUseStore(db)
        with db.transaction():
            store.note("node-1", [_said(1, instance="other")])
            store.note("node-2", [_said(1)])

        view = find_sandbox(db, sandbox)

    assert view is not None
    assert view.disk_used_bytes is None


def test_an_owner_reads_how_full_the_disk_is_and_when_that_was(tmp_path: Path) -> None:
    with Database.open(make_database(tmp_path / "perlica.db")) as db:
        _sandbox(db)
        row = SandboxStore(db).find_living(SandboxName("dev"))
    at_ms = now_ms()
    half = DiskUse(used_bytes=LIMITS.disk_bytes // 2, seen_at_ms=at_ms - 5_000)
    limit = LIMITS.disk_bytes // 2**20

    def shown(use: DiskUse | None, language: Language) -> str:
        return answer_sandbox(
            row, "dev", disk_use=use, idle_ms=DAY_MS, now_ms=at_ms, language=language
        )

    assert f"磁盘已用 {limit // 2} / {limit} MiB（50%，5 秒前）" in shown(half, Language.zh)
    assert f"{limit // 2} of {limit} MiB disk used (50%" in shown(half, Language.en)
    assert f"磁盘 {limit} MiB" in shown(None, Language.zh)


def test_a_look_at_a_node_brings_the_figures_of_its_sandboxes(tmp_path: Path) -> None:
    with Database.open(make_database(tmp_path / "perlica.db")) as db:
        sandbox = _sandbox(db)
        survey = NodeSurvey(node="node-1", identity="n1", images=(), sandboxes=(_said(7),))
        watcher = NodeWatcher(database=db, rule=LossRule(), language=Language.zh)

        watcher.take(Look(node="node-1", at_s=1.0, survey=survey))

        assert DiskUseStore(db).find(RowId(sandbox)) is not None
