"""A service in a process of its own, for tests that kill it."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from perlica.app.layout import database_path
from perlica.stores.database import Database
from tests.recovery.run_with_fault import ARMED

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class ServiceProcess:
    """One process; `log` collects what it prints."""

    config: Path
    state_dir: Path
    log: Path
    module: str = "tests.recovery.run_with_fault"
    child: subprocess.Popen[bytes] | None = None

    def start(self, fault: str = "") -> None:
        """Start it, with an actor that will fail if one is named."""
        words = [sys.executable, "-m", self.module, str(self.config), fault]
        with self.log.open("ab") as log:
            self.child = subprocess.Popen(
                words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def arm(self) -> None:
        """From now on the fault happens when its message comes."""
        self.config.with_name(ARMED).touch()

    def kill(self) -> None:
        """kill -9."""
        if self.child is not None:
            self.child.kill()
            self.child.wait()

    def wait(self, within_s: float) -> int:
        """Its exit code; fails when it does not end in time."""
        assert self.child is not None
        return self.child.wait(within_s)

    def terminate(self, within_s: float = 45.0) -> int:
        """SIGTERM and wait."""
        assert self.child is not None
        self.child.terminate()
        return self.child.wait(within_s)

    def count(self, sql: str) -> int:
        """The first number of a query; 0 while there is no database."""
        if not database_path(self.state_dir).exists():
            return 0
        with Database.open(database_path(self.state_dir), read_only=True) as database:
            row = database.query_one(sql)
            assert row is not None
            return int(next(iter(row.values())))


@contextmanager
def service_process(directory: Path, config_text: str) -> Iterator[ServiceProcess]:
    """A service that is not started yet; ended in any case."""
    config = directory / "perlica.toml"
    config.write_text(config_text)
    Path(config).chmod(0o600)
    process = ServiceProcess(config, directory / "state", directory / "service.log")
    try:
        yield process
    finally:
        process.kill()
