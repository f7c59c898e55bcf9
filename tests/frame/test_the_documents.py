"""What the documents promise about the tree is there."""

import re
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT, read_tree_file
from tools.check.tree import list_files

DOCUMENTS = sorted(str(path) for path in list_files() if path.suffix == ".md")
READMES = ("README.md", "README.zh-CN.md")


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_opens_with_the_two_commands(readme: str) -> None:
    first_block = re.search(r"```sh\n(.*?)```", read_tree_file(readme), flags=re.DOTALL)

    assert first_block
    assert re.findall(r"^make \w+", first_block[1], flags=re.MULTILINE) == [
        "make demo",
        "make test",
    ]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_link_to_a_file_of_the_tree_leads_somewhere(document: str) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", read_tree_file(document))
    inside = [target for target in targets if "://" not in target]

    folder = ROOT / Path(document).parent
    assert [target for target in inside if not (folder / target).exists()] == []


def test_both_readmes_have_the_same_parts() -> None:
    english, chinese = (
        re.findall(r"^## ", read_tree_file(name), flags=re.MULTILINE) for name in READMES
    )

    assert len(english) == len(chinese)


def test_the_architecture_page_names_every_room() -> None:
    text = read_tree_file("ARCHITECTURE.md")
    rooms = {path.parent for path in list_files() if path.match("perlica/*/__init__.py")}

    assert {str(room) for room in rooms if f"`{room}`" not in text} == set()


def test_every_decision_is_listed() -> None:
    listed = read_tree_file("docs/adr/README.md")
    decisions = [path.name for path in list_files() if path.match("docs/adr/[0-9]*.md")]

    assert decisions
    assert [name for name in decisions if f"({name})" not in listed] == []


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_lists_every_dot_command(readme: str) -> None:
    from perlica.commands.names import CommandName

    text = read_tree_file(readme)

    assert [name for name in CommandName if f"`.{name}" not in text] == []


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_lists_every_section_of_the_configuration(readme: str) -> None:
    from perlica.app.config import Config

    sections = set(Config.model_fields) - {"lacks"}
    text = read_tree_file(readme)

    assert {name for name in sections if f"`[{name}]`" not in text} == set()


@pytest.mark.parametrize("readme", READMES)
def test_a_readme_names_every_system_package(readme: str) -> None:
    from tools.setup.system import PARTS

    text = read_tree_file(readme)

    assert [part.package for part in PARTS if part.package not in text] == []


def test_both_units_start_from_the_same_checkout_and_the_service_has_no_privilege() -> None:
    service, daemon = (
        dict(
            re.findall(
                r"^(\w+)=(.*)$",
                read_tree_file(f"docs/operations/{name}.service"),
                flags=re.MULTILINE,
            )
        )
        for name in ("perlica", "sandboxd")
    )

    assert service["ExecStart"] == "/opt/perlica/.venv/bin/perlica run"
    assert daemon["ExecStart"].startswith("/opt/perlica/.venv/bin/sandboxd ")
    assert (service["User"], service["CapabilityBoundingSet"]) == ("perlica", "")
    assert service["RestartPreventExitStatus"] == "78"
