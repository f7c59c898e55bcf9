"""The contracts in setup.cfg are not only kept: each of them would notice being broken."""

import configparser
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT

ROOMS = (
    "app",
    "console",
    "health",
    "session",
    "commands",
    "tasks",
    "runtimes",
    "runtimes/native",
    "gateway",
    "gateway/core",
    "gateway/families",
    "gateway/families/sandbox",
    "gateway/families/history",
    "conversation",
    "sandboxes",
    "clients",
    "clients/model",
    "stores",
    "protection",
    "domain",
    "demo",
)
ALLOWED = (
    ("perlica/stores/database.py", "import apsw"),
    ("actors/base.py", "import pykka"),
    ("perlica/app/wiring.py", "import pykka, actors, perlica.demo"),
    ("perlica/clients/cluster.py", "import mcp"),
    ("perlica/clients/sandboxd.py", "from sandboxd import wire"),
    ("perlica/runtimes/native/runtime.py", "import perlica.clients.model.contract"),
    ("perlica/app/runtimes.py", "import perlica.runtimes.native.runtime, perlica.clients.model"),
    ("perlica/session/loop.py", "import perlica.runtimes.sessions"),
    ("actors/serializer.py", "import perlica.gateway, perlica.session, perlica.stores"),
    ("perlica/console/page.py", "import perlica.stores"),
)
# What is imported, by whom, and the contract that must notice. Each module breaks one rule.
FORBIDDEN = (
    ("perlica.domain.task", "perlica.stores", "Imports point down"),
    ("perlica.protection.seal", "perlica.clients", "Imports point down"),
    ("perlica.stores.tasks", "perlica.clients", "Imports point down"),
    ("perlica.gateway.upward", "actors", "Imports point down"),
    ("perlica.session.sideways", "perlica.commands", "Imports point down"),
    ("perlica.session.upward", "perlica.app", "Imports point down"),
    ("perlica.gateway.sql", "apsw", "Only the stores speak to SQLite"),
    ("actors.sql", "sqlite3", "Only the stores speak to SQLite"),
    ("perlica.gateway.threads", "pykka", "Only actors and their wiring know Pykka"),
    ("perlica.clients.protocol", "mcp", "Only the cluster client speaks MCP"),
    ("sandboxd.service", "perlica.domain", "The node daemon stands alone"),
    ("perlica.app.shortcut", "sandboxd.daemon", "by its wire format only"),
    ("perlica.demo.shortcut", "perlica.domain", "share no code"),
    ("perlica.session.demo", "perlica.demo.napcat", "starts the stand-ins"),
    ("perlica.console.action", "perlica.gateway", "neither act nor call out"),
    ("perlica.gateway.core.knowing", "perlica.gateway.families.sandbox", "knows no family"),
    ("perlica.gateway.families.sandbox.other", "perlica.gateway.families.history", "stand apart"),
    ("perlica.runtimes.checks", "perlica.clients.model.contract", "Only the native runtime"),
    ("perlica.runtimes.outside", "perlica.clients.sandboxd", "Only the native runtime"),
    ("perlica.runtimes.native.node", "perlica.clients.sandboxd", "Only the native runtime"),
    ("perlica.runtimes.shortcut", "perlica.runtimes.native.runtime", "which runtime thinks"),
    ("actors.thinking", "perlica.runtimes.native.runtime", "which runtime thinks"),
    ("perlica.session.opaque", "perlica.clients.model.contract", "knows the model's client"),
    ("perlica.gateway.model", "perlica.clients.model.contract", "knows the model's client"),
)


MODULES = (
    "sandboxd/wire.py",
    "sandboxd/daemon.py",
    "perlica/demo/napcat.py",
    "perlica/clients/sandboxd.py",
    "perlica/clients/model/contract.py",
    "perlica/runtimes/sessions.py",
    "perlica/runtimes/native/runtime.py",
)


def _build_house(folder: Path) -> Path:
    """Every room of the design, empty, under our contracts."""
    shutil.copy(ROOT / "setup.cfg", folder)
    for package in ("perlica", "actors", "sandboxd", *(f"perlica/{room}" for room in ROOMS)):
        (folder / package).mkdir()
        (folder / package / "__init__.py").touch()
    for module in MODULES:
        (folder / module).touch()
    return folder


def _lint(house: Path) -> tuple[int, str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    done = subprocess.run(
        command,
        cwd=house,
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each contract says about a house in which every rule is broken once."""
    house = _build_house(tmp_path_factory.mktemp("broken"))
    for module, imported, _ in FORBIDDEN:
        path = house / f"{module.replace('.', '/')}.py"
        path.write_text(f"import {imported}\n", encoding="utf-8")
    _, output = _lint(house)
    details = output.split("Broken contracts", 1)[1]
    sections = re.split(r"\n(?=[^\n]+\n-{3,}\n)", details)
    return {section.strip().splitlines()[0]: section for section in sections if section.strip()}


def test_what_the_design_allows_is_allowed(tmp_path: Path) -> None:
    house = _build_house(tmp_path)
    for module, line in ALLOWED:
        (house / module).write_text(f"{line}\n", encoding="utf-8")

    code, output = _lint(house)

    assert code == 0, output


@pytest.mark.parametrize(("module", "imported", "contract"), FORBIDDEN)
def test_a_forbidden_import_is_noticed(
    complaints: dict[str, str], module: str, imported: str, contract: str
) -> None:
    (section,) = (text for title, text in complaints.items() if contract in title)

    assert f"{module} -> {imported} (l.1)" in section


def test_every_room_has_its_place_in_the_layers() -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    layers = settings["importlinter:contract:layers"]["layers"]
    rooms = {path.parent.name for path in (ROOT / "perlica").glob("*/__init__.py")}

    assert {room for room in rooms - {"demo"} if f"(perlica.{room})" not in layers} == set()
