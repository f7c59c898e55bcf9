"""One life of the service: a story is played while the service is killed once, at one point.

Everything outside the service (QQ, the model, the sandboxes) lives in the test's process and goes
on, as it would outside.
"""

import shutil
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from perlica.app.layout import database_path
from perlica.demo.model import ScriptedModel
from perlica.demo.napcat import NapCatStandIn, Settings
from perlica.stores.database import Database
from tests.behaviour.live import config_text
from tests.crash.child import Order
from tests.crash.far_backend import BackendServer
from tests.crash.nursery import Child, Nursery
from tests.crash.points import Point
from tests.crash.stories import Story, is_final, think

PATIENCE_S = 40.0
LINGER_S = 1.3
"""After everything is settled: one tick more, for points that come late."""
_UNSETTLED = """
SELECT
    (SELECT count(*) FROM tasks WHERE ended_at_ms IS NULL)
    + (SELECT count(*) FROM operations WHERE state IN ('queued', 'started'))
    + (SELECT count(*) FROM outbox_messages WHERE state IN ('queued', 'sending', 'unknown'))
    + (SELECT count(*) FROM commands WHERE state = 'pending') AS open,
    (SELECT count(*) FROM tasks) AS tasks
"""


@dataclass(slots=True)
class Record:
    """What came of a life."""

    story: str
    fatal: Point | None
    was_killed: bool = False
    problems: list[str] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    seconds: float = 0.0


class Life:
    """Plays one story in a directory of its own."""

    def __init__(
        self, story: Story, nursery: Nursery, *, fatal: Point | None = None, traces: bool = False
    ) -> None:
        self._story = story
        self._nursery = nursery
        self._fatal = fatal
        self._directory = Path(tempfile.mkdtemp(prefix="perlica-life-", dir=_fast_directory()))
        self._journal = self._directory / "points" if traces else None
        self._record = Record(story=story.name, fatal=fatal)
        self._heard = 0

    def play(self) -> Record:
        """The whole story; the record says what was wrong."""
        began_s = time.monotonic()
        model = ScriptedModel(afterwards=lambda raw: think(self._story, raw))
        napcat = NapCatStandIn(settings=Settings(reports_own_messages=False))
        backend = BackendServer(self._directory / "node.sock")
        try:
            with model, napcat, backend:
                self._play_with(model, napcat, backend)
        finally:
            shutil.rmtree(self._directory)
        self._record.seconds = time.monotonic() - began_s
        return self._record

    def _play_with(
        self, model: ScriptedModel, napcat: NapCatStandIn, backend: BackendServer
    ) -> None:
        config = config_text(self._directory, napcat, model.base_url)
        self._nursery.on_end = napcat.feed.ring
        self._child = self._start(config, backend, self._fatal)
        self._story.begin(napcat)
        try:
            self._go_on(config, napcat, backend)
        finally:
            self._child.kill()
            self._nursery.wait_for_end(self._child)
        self._judge(napcat, backend)

    def _go_on(self, config: str, napcat: NapCatStandIn, backend: BackendServer) -> None:
        """Until everything is settled: react to what comes, and start again after the kill."""
        deadline_s = time.monotonic() + PATIENCE_S
        settled_since_s: float | None = None
        while time.monotonic() < deadline_s:
            if not self._child.is_alive:
                if not self._was_the_kill(self._child):
                    return
                self._child = self._start(config, backend, None)
            self._react(napcat, backend)
            now_s = time.monotonic()
            settled_since_s = (settled_since_s or now_s) if self._is_settled(napcat) else None
            if settled_since_s is not None and self._may_end(settled_since_s, now_s):
                return
            napcat.feed.wait_until(lambda: self._has_news(napcat), 0.05)
        self._record.problems.append("did not end")

    def _start(self, config: str, backend: BackendServer, fatal: Point | None) -> Child:
        order = Order(
            config=config,
            backend=str(backend.path),
            log=str(self._directory / "service.log"),
            journal=str(self._journal or ""),
            fatal_label=fatal.label if fatal else "",
            fatal_ordinal=fatal.ordinal if fatal else 0,
        )
        return self._nursery.start(order)

    def _was_the_kill(self, child: Child) -> bool:
        if child.code == -9 and self._fatal is not None and not self._record.was_killed:
            self._record.was_killed = True
            return True
        log = (self._directory / "service.log").read_text()[-4_000:]
        self._record.problems.append(f"the service ended by itself with {child.code}: {log}")
        return False

    def _react(self, napcat: NapCatStandIn, backend: BackendServer) -> None:
        for message in napcat.sent[self._heard :]:
            self._heard += 1
            self._story.hear(napcat, message, backend.effects)
        self._story.look(napcat, backend.effects)

    def _has_news(self, napcat: NapCatStandIn) -> bool | None:
        return True if len(napcat.sent) > self._heard or not self._child.is_alive else None

    def _is_settled(self, napcat: NapCatStandIn) -> bool:
        finals = [m for m in napcat.sent if is_final(m.text)]
        if len(finals) < len(self._story.finals):
            return False
        with self._database() as database:
            row = database.query(_UNSETTLED)[0]
        return not row["open"] and row["tasks"] == len(self._story.requests)

    def _may_end(self, settled_since_s: float, now_s: float) -> bool:
        """A life without a kill lingers for late points; one with a kill waits for it so long."""
        if self._record.was_killed:
            return True
        return now_s - settled_since_s > LINGER_S

    def _database(self) -> Database:
        return Database.open(database_path(self._directory / "state"), read_only=True)

    # --- what must have come of it ----------------------------------------------------------

    def _judge(self, napcat: NapCatStandIn, backend: BackendServer) -> None:
        problems = self._record.problems
        if dict(backend.effects) != dict(self._story.effects):
            problems.append(f"effects {dict(backend.effects)}")
        finals = [m.text for m in napcat.sent if is_final(m.text)]
        if len(finals) != len(self._story.finals) or not all(
            words in text for words, text in zip(self._story.finals, finals, strict=False)
        ):
            problems.append(f"finals {finals}")
        twice = [text for text, count in _count(napcat).items() if count > 1]
        if twice:
            problems.append(f"said twice: {twice}")
        with self._database() as database:
            problems += [
                f"{what}: {database.query(sql)}" for what, sql in _FORBIDDEN if database.query(sql)
            ]
        if problems:
            problems.append(self._describe(napcat))
        if self._journal is not None:
            self._record.points = _read_points(self._journal)

    def _describe(self, napcat: NapCatStandIn) -> str:
        with self._database() as database:
            tables = {
                table: [tuple(row.values()) for row in database.query(sql)]
                for table, sql in _DESCRIBED
            }
        return f"{tables} {[m.text[:60] for m in napcat.sent]}"


_DESCRIBED = (
    ("tasks", "SELECT id, state, step, crashes FROM tasks"),
    (
        "calls",
        """SELECT c.tool, c.state, substr(o.content, 1, 200) FROM tool_calls AS c
        LEFT JOIN tool_outputs AS o ON o.call_id = c.id""",
    ),
    ("operations", "SELECT action, state FROM operations"),
    ("approvals", "SELECT state FROM approvals"),
    ("outbox", "SELECT kind, state, last_error FROM outbox_messages"),
    ("commands", "SELECT name, state FROM commands"),
)
_FORBIDDEN = (
    ("unknown operations", "SELECT id, action FROM operations WHERE state = 'unknown'"),
    (
        "a High without a consumed ticket",
        """SELECT o.id FROM operations AS o LEFT JOIN approvals AS a ON a.id = o.ticket_id
        WHERE o.level = 'high' AND (a.state IS NULL OR a.state <> 'consumed')""",
    ),
    (
        "a ticket without its end",
        "SELECT id, state FROM approvals WHERE state IN ('pending', 'approved')",
    ),
    (
        "a call without its end in a task that was answered",
        """SELECT c.id, c.tool, c.state FROM tool_calls AS c JOIN tasks AS t ON t.id = c.task_id
        WHERE t.state = 'completed' AND c.state <> 'done'""",
    ),
    (
        "a message given up",
        "SELECT id, kind, state, last_error FROM outbox_messages WHERE state IN ('dead')",
    ),
    (
        "an end without its summary",
        "SELECT id FROM tasks WHERE id NOT IN (SELECT task_id FROM session_summaries)",
    ),
)


def _count(napcat: NapCatStandIn) -> Counter[str]:
    return Counter(message.text for message in napcat.sent)


def _read_points(journal: Path) -> list[Point]:
    lines = (line.split(" ", 1) for line in journal.read_text().splitlines())
    return [Point(label, int(ordinal)) for ordinal, label in lines]


def _fast_directory() -> str | None:
    """A kill leaves the page cache as it is, so nothing is lost in memory; and it is fast."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None
