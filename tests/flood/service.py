"""The service as a process of its own, so that its memory can be measured: `perlica run`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perlica.app.demo.processes import Process, python_module
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.live import config_text

_KIB = 1024


@contextmanager
def running_service(directory: Path, napcat: NapCatStandIn, model_url: str) -> Iterator[Process]:
    """A service that is connected to the stand-in; ended with the block."""
    config = directory / "perlica.toml"
    config.write_text(config_text(directory, napcat, model_url))
    config.chmod(0o600)
    command = python_module("perlica.app.cli", "run", "--config", str(config))
    process = Process("perlica", command, directory / "perlica.out")
    process.start()
    try:
        process.wait_until(lambda: bool(napcat.connections), 30, "did not connect")
        yield process
    finally:
        process.stop()


def peak_memory_bytes(pid: int) -> int:
    """The most resident memory that a process ever had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * _KIB
    raise ProcessLookupError(pid)
