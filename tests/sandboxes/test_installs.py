"""Commands that install dependencies are told from others, and planned as what they are."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.gateway.families.sandbox.install_tools import TOOLS
from perlica.gateway.families.sandbox.installs import find_installs
from tests.sandboxes.rig import Rig

INSTALLING = {
    "apt-get": (
        ["apt-get", "install", "-y", "jq"],
        ["/usr/bin/apt-get", "-y", "--no-install-recommends", "install", "jq"],
        ["sudo", "-E", "apt-get", "-o", "Dpkg::Use-Pty=0", "install", "jq"],
        ["sh", "-c", "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y jq"],
        ["sh", "-c", "if ! command -v jq >/dev/null 2>&1; then apt-get install -y jq; fi"],
        ["bash", "-lc", "set -e\napt-get \\\n  install -y jq | tee log"],
    ),
    "apt": (["apt", "-y", "full-upgrade"],),
    "aptitude": (["aptitude", "-y", "install", "jq"],),
    "pip": (
        ["pip", "install", "requests"],
        ["/opt/venv/bin/pip3.12", "--proxy", "http://x", "install", "-r", "r.txt"],
        ["python3", "-m", "pip", "install", "-U", "pip"],
        ["python3.12", "-I", "-X", "utf8", "-m", "pip", "install", "x"],
        ["env", "-u", "A", "PIP_NO_CACHE_DIR=1", "pip", "install", "x"],
        ["env", "A=b", "sh", "-c", "cd /srv && (pip install git+https://h/x#egg=x && ls)"],
        ["sh", "-c", "cat > r <<'END'\ntext\nEND\npip install -r r"],
        ["sh", "-c", "out=$(timeout -k 5 60 pip install x 2>&1)"],
        ["bash", "-o", "pipefail", "-c", "bash -c 'eval \"pip install x\"'"],
        ["su", "-", "dev", "-c", "pip install x"],
    ),
    "uv": (["uv", "pip", "install", "x"], ["uv", "--directory", "a", "sync"], ["uv", "add", "x"]),
    "poetry": (["poetry", "-C", "a", "install"],),
    "npm": (["npm", "ci"], ["npm", "--prefix", "web", "i"], ["nice", "-n", "5", "npm", "install"]),
    "pnpm": (["pnpm", "-C", "web", "add", "x"],),
    "yarn": (["yarn"], ["yarn", "--frozen-lockfile"], ["yarn", "add", "x"]),
    "cargo": (["cargo", "+nightly", "install", "ripgrep"],),
    "go": (["go", "install", "example.org/x@latest"], ["go", "mod", "download"]),
    "gem": (["gem", "install", "rake"],),
    "apk": (["apk", "add", "--no-cache", "jq"], ["busybox", "sh", "-c", "apk add jq"]),
    "dnf": (["dnf", "-y", "install", "jq"],),
    "conda": (["conda", "install", "-n", "a", "numpy"], ["conda", "env", "create", "-f", "e.yml"]),
}
NOT_INSTALLING = (
    [""],
    ["ls", "-la"],
    ["echo", "pip install x"],
    ["sh", "-c", "echo 'apt-get install jq'"],
    ["sh", "-c", "echo pip install x"],
    ["sh", "-c", "# pip install x\nls"],
    ["sh", "-c", "cat > a <<END\npip install x\nEND\nls"],
    ["sh", "-c", "ls > pip install"],
    ["sh", "-c", "pip install 'never closed"],
    ["pip", "show", "install"],
    ["pip", "install", "--help"],
    ["pip", "install", "--no-index", "./wheel"],
    ["apt-get", "update"],
    ["apt-get", "-s", "install", "jq"],
    ["apt", "search", "install"],
    ["npm", "run", "install"],
    ["npm", "test"],
    ["git", "add", "npm"],
    ["python3", "tool.py", "-m", "pip", "install"],
    ["make", "install"],
    # What cannot be told apart stays Low: building may fetch, a script may hold anything.
    ["cargo", "build"],
    ["sh", "setup.sh"],
    ["python3", "-c", "import os; os.system('pip install x')"],
)


@pytest.mark.parametrize(
    ("tool", "argv"), [(tool, argv) for tool, each in INSTALLING.items() for argv in each]
)
def test_a_command_that_installs_is_told_by_the_tool_that_it_runs(
    tool: str, argv: list[str]
) -> None:
    assert find_installs(argv) == (tool,)


@pytest.mark.parametrize("argv", NOT_INSTALLING)
def test_a_command_that_only_speaks_of_installing_is_none(argv: list[str]) -> None:
    assert find_installs(argv) == ()


def test_each_tool_of_a_long_script_is_named_once_also_from_standard_input() -> None:
    script = "apt-get install -y a && pip install b && pip install c; npm i"

    assert find_installs(["sh", "-c", script]) == ("apt-get", "pip", "npm")
    assert find_installs(["bash", "-s"], script) == ("apt-get", "pip", "npm")
    assert find_installs(["cat"], script) == ()


def test_a_script_that_nests_or_grows_without_end_costs_nothing() -> None:
    nested = "pip install x"
    for _ in range(12):
        nested = f"sh -c {json.dumps(nested)}"

    assert find_installs(["sh", "-c", nested]) == ()
    assert find_installs(["sh", "-c", "pip install x\n" * 100_000]) == ()


PIECES = st.sampled_from(
    (
        *("pip", "install", "sh", "-c", "-m", "python3", "env", "sudo", "timeout", "busybox"),
        *("-", "su", "$(", ")", "`", "'", '"', "\\", "&&", "<<E", "\n", "#", "apt-get", "-o"),
        *(">", "eval", "\0"),
    )
)


@given(argv=st.lists(st.one_of(PIECES, st.text(max_size=8)), min_size=1, max_size=12))
def test_no_command_however_broken_hinders_its_planning(argv: list[str]) -> None:
    for words in (argv, ["sh", "-c", " ".join(argv)], ["xargs", *argv]):
        found = find_installs(words, stdin="".join(argv))

        assert set(found) <= set(TOOLS)


@pytest.mark.evidence(12)
def test_an_install_through_the_mirrors_is_planned_as_the_medium_action_that_it_is(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(network="egress")
    rig.create("main")

    rig.run("sh", "-c", "apt-get install -y jq")
    rig.run("jq", "--version")

    planned = rig.column(
        """SELECT action || ' ' || level || ' ' || json_extract(plan, '$.scope') || ' '
            || coalesce(json_extract(plan, '$.effect.installs'), '')
        FROM operations WHERE json_extract(plan, '$.effect.argv') IS NOT NULL ORDER BY rowid"""
    )
    assert planned == [
        'dependency.install medium allowed_mirror ["apt-get"]',
        "sandbox.exec low sandbox ",
    ]


def test_without_a_way_out_a_command_that_says_install_is_an_ordinary_command(rig: Rig) -> None:
    rig.create("main")

    rig.run("pip", "install", "./wheel")

    assert rig.column("SELECT action FROM operations ORDER BY rowid DESC LIMIT 1") == [
        "sandbox.exec"
    ]


def test_an_install_is_a_use_of_its_sandbox(make_rig: Callable[..., Rig]) -> None:
    rig = make_rig(network="egress")
    rig.create("main")
    rig.age("main", 3)

    rig.run("pip", "install", "requests")

    assert rig.count("SELECT 1 FROM sandboxes WHERE last_active_at_ms > created_at_ms") == 1


@pytest.mark.evidence(15)
def test_a_look_at_the_names_in_a_directory_is_no_use_of_its_sandbox(rig: Rig) -> None:
    rig.create("main")
    rig.age("main", 3)
    before = rig.column("SELECT last_active_at_ms FROM sandboxes")

    rig.call("sandbox_read", sandbox="main", path="/", directory=True)
    after_looking = rig.column("SELECT last_active_at_ms FROM sandboxes")
    rig.call("sandbox_write", sandbox="main", path="/tmp/x", content="x")

    assert after_looking == before
    assert rig.column("SELECT last_active_at_ms FROM sandboxes") != before
