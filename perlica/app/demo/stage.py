"""The stage of a demo: stand-ins in this process, perlica and sandboxd as processes."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from perlica.app.demo.layout import DemoFacts, DemoPaths, write_config, write_node_config
from perlica.app.demo.processes import DemoFailed, Process, python_module, run_once
from perlica.demo.model import RehearsalModel
from perlica.demo.napcat import NapCatStandIn, Settings
from perlica.domain.clock import now_ms

_START_WITHIN_S = 30.0
REHEARSAL = "rehearsal-1"


@dataclass(slots=True, kw_only=True)
class Stage:
    """Everything that runs in a demo; `start` and `stop` are for the person at the terminal.

    `model_url` names a real model instead of the rehearsal one; without a `model_key_file` it gets
    the demo's own key. With a `console_port` the web console is served there. `lock` is the one of
    the state directory, which every process of the demo holds.
    """

    paths: DemoPaths
    with_sandboxes: bool
    language: str = "zh"
    console_port: int | None = None
    model_url: str | None = None
    model_name: str = REHEARSAL
    model_key_file: Path | None = None
    lock: int | None = None
    napcat: NapCatStandIn = field(init=False)
    perlica: Process = field(init=False)
    sandboxd: Process | None = field(init=False, default=None)
    _rehearsal: RehearsalModel | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Make the files and bind the stand-in's port."""
        self.paths.prepare()
        self.napcat = NapCatStandIn(
            token=self.paths.token.read_text("utf-8"),
            journal=self.paths.history,
            settings=Settings(heartbeat_interval_ms=5_000),
        )
        self.perlica = Process(
            "perlica",
            python_module("perlica.app.cli", "run", "--config", str(self.paths.config)),
            self.paths.root / "perlica.out",
            keeps_open=self._locks,
        )

    @property
    def _locks(self) -> tuple[int, ...]:
        return () if self.lock is None else (self.lock,)

    def start(self) -> None:
        """Start all parts in order. Raises: DemoFailed."""
        self.napcat.start()
        digest = self._start_sandboxd() if self.with_sandboxes else None
        write_config(self.paths, self._facts(digest))
        self.start_perlica()

    def start_perlica(self) -> None:
        """Start the service and wait until NapCat sees it."""
        before = self.napcat.connection_count
        self.perlica.start()
        self.perlica.wait_until(
            lambda: self.napcat.connection_count > before and bool(self.napcat.connections),
            _START_WITHIN_S,
            "did not connect to NapCat",
        )

    def start_sandboxd_again(self) -> None:
        """Start the node daemon after a crash of it.

        Raises: DemoFailed when it does not come back.
        """
        if self.sandboxd is None:
            raise DemoFailed("this demo runs without sandboxes")
        self.paths.socket.unlink(missing_ok=True)
        self.sandboxd.start()
        self.sandboxd.wait_until(self.paths.socket.exists, _START_WITHIN_S, "made no socket")

    def stop(self) -> None:
        """Stop everything, the service first; never raises."""
        self.perlica.stop()
        if self.sandboxd is not None:
            self.sandboxd.stop()
            shutil.rmtree(self.paths.sandboxd_run, ignore_errors=True)
        if self._rehearsal is not None:
            self._rehearsal.stop()
        self.napcat.stop()

    def _facts(self, digest: str | None) -> DemoFacts:
        group = self.napcat.kernel.account.groups[0]
        url, key_file = self._model_address()
        return DemoFacts(
            napcat_url=self.napcat.url,
            group_id=group.group_id,
            self_id=self.napcat.self_id,
            owners=tuple(m.user_id for m in group.members if m.standing == "owner"),
            members=tuple(m.user_id for m in group.members if m.standing == "member"),
            model_url=url,
            model_name=self.model_name,
            model_key_file=key_file,
            image_digest=digest,
            language=self.language,
            console=None if self.console_port is None else f"127.0.0.1:{self.console_port}",
        )

    def new_console_token(self) -> str:
        """A token with which this demo's person may look at the console for a day."""
        name = f"demo-{now_ms()}"
        words = ("console", "token", "add", name, "--days", "1", "--config", str(self.paths.config))
        return run_once(python_module("perlica.app.cli", *words)).strip()

    def _model_address(self) -> tuple[str, Path]:
        if self.model_url is not None:
            return self.model_url, self.model_key_file or self.paths.model_key
        self._rehearsal = RehearsalModel(api_key=self.paths.model_key.read_text("utf-8")).start()
        return self._rehearsal.base_url, self.paths.model_key

    def _start_sandboxd(self) -> str:
        """Build and import the demo image once, start the daemon; the image's digest."""
        write_node_config(self.paths)
        places = [
            "--config",
            str(self.paths.sandboxd_config),
            "--state-dir",
            str(self.paths.sandboxd_state),
            "--run-dir",
            str(self.paths.sandboxd_run),
        ]
        layout = self.paths.image_layout
        digest = run_once(python_module("sandboxd", *places, "image", "build-demo", str(layout)))
        held = run_once(python_module("sandboxd", *places, "image", "list"))
        if digest not in held:
            run_once(python_module("sandboxd", *places, "image", "import", str(layout)))
        self.sandboxd = Process(
            "sandboxd",
            python_module("sandboxd", *places, "serve"),
            self.paths.sandboxd_log,
            keeps_open=self._locks,
        )
        self.start_sandboxd_again()
        return digest


def why_no_sandboxes() -> str | None:
    """Why this machine cannot run sandboxes, in words for a person; None when it can try."""
    if os.geteuid() != 0:
        return (
            "sandboxes need root: sandboxd mounts file systems and makes namespaces."
            " Run it as root or with sudo."
        )
    return None
