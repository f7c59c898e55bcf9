"""A node that the gate can run on, the gate's image imported once, and reports made by hand."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gate.lines import Line
from gate.report.document import Facts, NodeIdentity, make_report

ROOT = Path(__file__).parents[2]
IN_CI = os.environ.get("CI") == "true"
PROGRAMS = ("crun", "catatonit", "mkfs.xfs", "mksquashfs", "busybox", "cc", "xfs_repair")
REPORTED_NODE = NodeIdentity(
    kernel="6.18.0",
    architecture="x86_64",
    runtime="crun",
    runtime_version="1.8.1",
    cgroup_mode="v2",
    file_system="ext4",
    sandboxd="0.1.0",
    configuration="c" * 64,
    code="e" * 64,
)


@pytest.fixture(scope="session")
def needs_node() -> None:
    """A machine on which the gate can run at all."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    reason = "needs root" if os.geteuid() != 0 else f"not installed: {', '.join(missing)}"
    if os.geteuid() == 0 and not missing:
        return
    if IN_CI:
        pytest.fail(f"must not be missing in CI: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def images(needs_node: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gate's image as a node keeps it."""
    from gate.rig.image import build_gate_image
    from sandboxd.images.catalog import Catalog
    from sandboxd.images.unpack import UnpackLimits

    home = tmp_path_factory.mktemp("gate-image")
    build_gate_image(home / "layout")
    Catalog(home / "images").import_layout(home / "layout", wanted=None, limits=UnpackLimits())
    shutil.rmtree(home / "layout")
    return home / "images"


@pytest.fixture(scope="module")
def sabotaged(
    request: pytest.FixtureRequest, images: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], dict[str, str]]]:
    """Runs of the gate with one guarantee broken each, two at once: what became of each line.

    They are those that the tests of this run ask for as `sabotage`.
    """
    names = {
        str(item.callspec.params["sabotage"])
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and "sabotaged" in item.fixturenames
        and hasattr(item, "callspec")
    }
    homes = {name: tmp_path_factory.mktemp(name) for name in sorted(names)}
    with ThreadPoolExecutor(2) as threads:
        runs = {name: threads.submit(_sabotage, name, images, home) for name, home in homes.items()}
        yield lambda name: runs[name].result()
    assert [path for home in homes.values() for path in home.iterdir()] == []


def _sabotage(name: str, images: Path, home: Path) -> dict[str, str]:
    done = subprocess.run(
        [
            *(sys.executable, Path(__file__).with_name("saboteur.py")),
            *(name, "gate", images, home),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return outcomes


@pytest.fixture
def facts() -> Facts:
    return Facts(
        node=REPORTED_NODE,
        image_digest=f"sha256:{'a' * 64}",
        image_squashfs_sha256="b" * 64,
        seccomp="allow-list of 300 calls",
        mandatory_access_control="none",
        node_rights=("CHOWN", "SYS_ADMIN"),
        runtime_class="crun by sandboxd",
        storage="XFS on a loop file",
        programs={"mkfs.xfs": "6.1.0"},
    )


@pytest.fixture
def write_report(facts: Facts, tmp_path: Path) -> Callable[..., Path]:
    """A report file of a run in which all went well, but for what is given."""

    def write(*, without: str = "", turned: dict[str, Any] | None = None, **fields: object) -> Path:
        from gate.checks import ALL
        from gate.checks.egress import LINES
        from gate.checks.isolation import _line

        keys = {check.key: check for check in ALL if check.key not in {"escape", "egress"}}
        lines = [
            Line(
                key=key,
                claim=check.claim,
                outcome="not run" if check.may_be_missing else "pass",
                detail="seen",
                may_be_missing=check.may_be_missing,
            )
            for key, check in keys.items()
        ]
        lines += [
            Line(key=key, claim=claim, outcome="pass", detail="seen") for key, claim, _ in LINES
        ]
        lines += [_line(f"blocked\tEPERM\tcannot do thing {n}\t") for n in range(120)]
        lines.append(
            Line(key="machine.leftovers", claim="nothing is left", outcome="pass", detail="none")
        )
        document = make_report(
            lines, facts, depth="gate-full", took_s=1.0, made_at_ms=1
        ).model_dump(mode="json")
        document |= fields
        document["facts"]["node"] |= turned or {}
        document["lines"] = [line for line in document["lines"] if line["key"] != without]
        path = tmp_path / "report.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return write
