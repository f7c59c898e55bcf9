"""What holds for every test: where it may run, what must not skip in CI, and the evidence map.

At home a test that lacks root, a browser or a service skips and says why. In CI (`CI=true`)
nothing may skip, so a machine that lost a part cannot look healthy.
"""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.evidence.plugin import EvidencePlugin
from tests.suite.by_folder import FoldersPlugin
from tests.suite.sample import LONG, SEED, Sample, SamplePlugin
from tests.suite.second_try import OFF, SecondTryPlugin

IN_CI = os.environ.get("CI") == "true"
_NULL = Path("/dev/null")
_SAMPLE = pytest.StashKey[Sample]()
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")

# A loaded machine is slow now and then; pytest's own time limit catches what hangs.
hypothesis.settings.register_profile("perlica", deadline=None)
hypothesis.settings.load_profile("perlica")


class NoSkipsPlugin:
    """Fails a run in which anything skipped, and lists what."""

    def __init__(self) -> None:
        self._skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember each skip but not the expected failures."""
        if report.skipped and not hasattr(report, "wasxfail"):
            self._skipped.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Turn a passed run into a failed one."""
        if self._skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which tests skipped."""
        if self._skipped:
            terminalreporter.section("skipped, although nothing may skip in CI")
            for test in self._skipped:
                terminalreporter.write_line(test)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tests against real outside services and builds of images run only when asked for."""
    parser.addoption(
        "--live", action="store_true", help="also run tests that talk to real outside services"
    )
    parser.addoption(
        "--image", action="store_true", help="also build both container images (several minutes)"
    )
    parser.addoption(
        LONG, action="store_true", help="run everything of which there are samples otherwise"
    )
    parser.addoption(SEED, type=int, help="draw the samples of an earlier run again")
    parser.addoption(
        OFF, action="store_true", help="do not run failed tests once more, alone, at the end"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the suite's plugins, and in CI the rule against skips."""
    sampling = SamplePlugin(config)
    config.stash[_SAMPLE] = sampling.sample
    config.pluginmanager.register(sampling, "perlica-sample")
    config.pluginmanager.register(SecondTryPlugin(config), "perlica-second-try")
    config.pluginmanager.register(EvidencePlugin(config, in_ci=IN_CI), "perlica-evidence")
    config.pluginmanager.register(FoldersPlugin(), "perlica-folders")
    if IN_CI:
        config.pluginmanager.register(NoSkipsPlugin(), "perlica-no-skips")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave tests/live and tests/image out unless they were asked for; that is not to skip."""
    for name in ("live", "image"):
        is_there = collection_path == config.rootpath / "tests" / name
        if is_there and not config.getoption(f"--{name}"):
            return True
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here, with the reason a person needs."""
    if item.get_closest_marker("root") and os.geteuid() != 0:
        pytest.skip("needs root: run 'sudo make test'")
    if item.get_closest_marker("browser") and not any(map(shutil.which, _BROWSERS)):
        pytest.skip("needs chromium: on Debian 'apt-get install chromium'")
    if item.get_closest_marker("live") and not item.config.getoption("--live"):
        pytest.skip("talks to a real outside service: run with --live")


@pytest.fixture(scope="session")
def sample(pytestconfig: pytest.Config) -> Sample:
    """The draws of this run: what the ordinary run tries of what `--long` tries in whole."""
    return pytestconfig.stash[_SAMPLE]


_PLACES = (
    "/run/sandboxd",
    "/var/lib/sandboxd",
    "/etc/sandboxd",
    "/var/lib/perlica",
    "/etc/perlica",
)
"""Where an installation lies: no test may depend on whether there is one on this machine."""


class _Visits:
    """Sees each connection to, and each opening of, what belongs to an installation."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        sys.addaudithook(self._look)

    def _look(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "socket.connect":
            self._note(arguments[1])
        elif event == "open":
            self._note(arguments[0])

    def _note(self, place: object) -> None:
        if isinstance(place, str) and any(
            place == known or place.startswith(f"{known}/") for known in _PLACES
        ):
            self.seen.append(place)


_VISITS = _Visits()


@pytest.fixture(autouse=True)
def _what_is_installed_here_is_left_alone() -> Iterator[None]:
    """A daemon on the default socket, or a configuration in /etc, changes no test's outcome."""
    del _VISITS.seen[:]
    yield
    assert _VISITS.seen == [], "a test looked at what is installed on this machine"


@pytest.fixture(scope="session", autouse=True)
def _null_device_is_untouched() -> Iterator[None]:
    """A container runtime that gets the host's /dev/null as its output can change it for all."""
    yield
    status = _NULL.stat()
    assert stat.S_ISCHR(status.st_mode)
    assert (os.major(status.st_rdev), os.minor(status.st_rdev)) == (1, 3)
    assert stat.S_IMODE(status.st_mode) == 0o666
