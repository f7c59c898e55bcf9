"""A whole service in this process: real SQLite, real sockets, real actors, stand-ins outside.

Tests speak as members through the NapCat stand-in and look at replies, rows and model requests.
"""

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from actors.base import Alarm, Wires
from perlica.app import parts
from perlica.app.assembly import Assembly
from perlica.app.config import Config, parse_config
from perlica.app.layout import database_path
from perlica.app.secrets import read_secrets
from perlica.app.supervision import Supervisor
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.gateway.core.family import ToolFamily
from perlica.gateway.core.policy_file import read_policy
from perlica.sandboxes.contract import SandboxBackend
from perlica.sandboxes.image import adopt_image
from perlica.sandboxes.memory import MemoryBackend
from perlica.sandboxes.nodes import Nodes
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate

OWNER, OTHER_OWNER, MEMBER, GUEST = 30001, 30002, 30003, 30009
PATIENCE_S = 45.0
TOMORROW_S = time.time() + 86_400
"""A moment for clocks that tests set: NapCat pushes nothing that is older than its own start."""


NODE = "test-node"
NO_DIGEST = "sha256:" + "0" * 64


def config_text(
    directory: Path,
    napcat: NapCatStandIn,
    model_url: str,
    extra: str = "",
    *,
    socket: Path | None = None,
    digest: str = NO_DIGEST,
) -> str:
    """A configuration for tests: quick sending, everything on loopback."""
    token = directory / "token"
    token.write_text(napcat.token)
    token.chmod(0o600)
    return f"""
[service]
state_dir = "{directory / "state"}"
demo = true
[napcat]
url = "{napcat.url}"
token_file = "{token}"
group_id = {napcat.group_id}
self_id = {napcat.self_id}
reconnect_at_most_s = 0.5
[members]
owners = [{OWNER}, {OTHER_OWNER}]
members = [{MEMBER}]
[model]
base_url = "{model_url}"
name = "scripted"
max_tries = 1
[outbox]
pace_s = 0.01
per_minute = 600
busy_every_s = 0.001
self_message_within_s = 0.3
[sandbox]
socket = "{socket or directory / "sandboxd.sock"}"
node = "{NODE}"
[sandbox.limits]
memory_bytes = 268435456
disk_bytes = 352321536
[sandbox.image]
reference = "test/image"
digest = "{digest}"
introduction = "an image for tests"
revision = 1
{extra}
"""


@dataclass(slots=True)
class LivePerlica:
    """One service over its state directory; may be stopped and started again."""

    config: Config
    backend: SandboxBackend = field(default_factory=MemoryBackend)
    others: Mapping[str, SandboxBackend] = field(default_factory=dict)
    more_families: tuple[ToolFamily, ...] = ()
    alarm: Alarm = field(default_factory=Alarm)
    exit_codes: list[int] = field(default_factory=list)
    wires: Wires = field(default_factory=Wires)
    _supervisor: Supervisor | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _watcher: threading.Thread | None = None

    @property
    def path(self) -> Path:
        """The database's file."""
        return database_path(self.config.service.state_dir)

    def start(self) -> Self:
        """Bring everything up, as `perlica run` does."""
        self.config.service.state_dir.mkdir(parents=True, exist_ok=True)
        migrate(self.path)
        with Database.open(self.path) as database:
            check_target(database, self.config.napcat.group_id, self.config.napcat.self_id)
            assert self.config.sandbox is not None
            adopt_image(database, parts.image_of(self.config.sandbox))
        self._stop.clear()
        self.wires = Wires()
        self._supervisor = Supervisor(alarm=self.alarm, stop_within_s=8.0)
        Assembly(
            config=self.config,
            secrets=read_secrets(self.config),
            policy=read_policy(self.config.policy.file),
            nodes=Nodes({NODE: self.backend, **self.others}),
            database_path=self.path,
            alarm=self.alarm,
            supervisor=self._supervisor,
            wires=self.wires,
            more_families=self.more_families,
        ).start()
        self._watcher = threading.Thread(target=self._watch, name="test-supervisor")
        self._watcher.start()
        return self

    def _watch(self) -> None:
        assert self._supervisor is not None
        self.exit_codes.append(self._supervisor.watch(self._stop))

    def stop(self) -> bool:
        """Stop in order; whether everything ended in time."""
        self._stop.set()
        if self._watcher is not None:
            self._watcher.join()
        return self._supervisor.stop() if self._supervisor is not None else True

    @contextmanager
    def database(self) -> Iterator[Database]:
        """A read-only look at the tables."""
        with Database.open(self.path, read_only=True) as database:
            yield database

    def count(self, sql: str) -> int:
        """The first number of a query."""
        with self.database() as database:
            row = database.query_one(sql)
            assert row is not None
            return int(next(iter(row.values())))

    def raw_files(self) -> bytes:
        """Every byte that the service keeps in its state directory."""
        files = self.config.service.state_dir.rglob("*")
        return b"".join(path.read_bytes() for path in files if path.is_file())


def live_config(directory: Path, napcat: NapCatStandIn, model_url: str, extra: str = "") -> Config:
    """The configuration of `config_text`, judged."""
    return parse_config(config_text(directory, napcat, model_url, extra))


def wait_until(holds: Callable[[], bool], within_s: float = PATIENCE_S, what: str = "") -> None:
    """Wait for a condition, bounded."""
    deadline = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"did not happen within {within_s} s: {what}")
        time.sleep(0.01)


def is_final(message: Message) -> bool:
    """Whether a reply is the end of a task."""
    return "【Perlica 回答" in message.text or "任务 T-" in message.text


def marker() -> str:
    """A word that stands nowhere else."""
    return f"marker{secrets.token_hex(5)}"
