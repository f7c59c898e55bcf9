"""Which words of which tools install dependencies: the data behind `installs` beside it.

Each tool has the words after its name that fetch and install, and the options that take the next
word as their value. Only what a tool's own manual calls installing, adding, updating or syncing
stands here; building (`cargo build`, `go build`, `mvn`) may fetch too and cannot be told from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallTool:
    """`verbs` install, each one word or several; `bare` means that the name alone does too.

    `valued` are options before the verb whose value is the next word, `dry` those that only show.
    """

    verbs: frozenset[str]
    valued: frozenset[str] = frozenset()
    dry: frozenset[str] = frozenset()
    bare: bool = False
    any_words: bool = False
    """Whatever follows is installed: `cpanm Moose`, `uvx ruff`."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DRY: Final = _words(
    "--help --version --dry-run --simulate --just-print --no-act --recon --print-only --no-index"
    " --offline"
)
"""Of any tool: nothing is installed, or nothing comes through a mirror."""

_APT: Final = InstallTool(
    verbs=_words(
        "install reinstall upgrade full-upgrade dist-upgrade safe-upgrade build-dep satisfy"
    ),
    valued=_words("-o --option -c --config-file -t --target-release --default-release -a"),
    dry=_words("-s"),
)
_DNF: Final = InstallTool(
    verbs=_words("install localinstall reinstall upgrade update groupinstall builddep distro-sync")
    | {"group install", "module install"},
    valued=_words(
        "-c --config --installroot -x --exclude --enablerepo --disablerepo --repo --repoid"
        " -d -e --releasever --setopt"
    ),
)
_PIP: Final = InstallTool(
    verbs=_words("install"),
    valued=_words(
        "--proxy --log --cache-dir --timeout --retries --cert --client-cert --trusted-host"
        " --python --exists-action"
    ),
)
_NPM: Final = InstallTool(
    verbs=_words(
        "install add i in ins inst insta instal isnt isnta isntal isntall ci clean-install ic"
        " install-clean install-test it install-ci-test cit update up upgrade udpate"
    ),
    valued=_words("--prefix -C --registry -w --workspace --loglevel --cache --userconfig"),
)
_PNPM: Final = InstallTool(
    verbs=_words("install i add update up upgrade dlx"),
    valued=_words("-C --dir --filter -F --loglevel --registry --store-dir"),
)
_YARN: Final = InstallTool(
    verbs=_words("install add up upgrade dlx") | {"global add"},
    valued=_words("--cwd --registry --cache-folder"),
    bare=True,
)
_UV: Final = InstallTool(
    verbs=_words("add sync")
    | {"pip install", "pip sync", "tool install", "tool upgrade", "python install"},
    valued=_words("--directory --project --config-file --cache-dir --color --python -p"),
)
_CONDA: Final = InstallTool(
    verbs=_words("install create update upgrade") | {"env create", "env update"},
    valued=_words("-r --root-prefix -n --name -p --prefix --rc-file"),
)
_RUN_ANYTHING: Final = InstallTool(verbs=frozenset(), any_words=True)

TOOLS: Final[Mapping[str, InstallTool]] = {
    "apt": _APT,
    "apt-get": _APT,
    "aptitude": _APT,
    "dnf": _DNF,
    "microdnf": _DNF,
    "tdnf": _DNF,
    "yum": _DNF,
    "zypper": InstallTool(
        verbs=_words("install in update up dist-upgrade dup patch"),
        valued=_words("-R --root -c --config -D --reposd-dir"),
    ),
    "apk": InstallTool(
        verbs=_words("add upgrade fix"),
        valued=_words("-X --repository -p --root --arch --keys-dir --repositories-file"),
        dry=_words("-s"),
    ),
    "pacman": InstallTool(verbs=_words("-S -Sy -Syu -Syyu -Su -U --sync --upgrade")),
    "pip": _PIP,
    "pipx": InstallTool(verbs=_words("install inject upgrade upgrade-all reinstall")),
    "uv": _UV,
    "uvx": _RUN_ANYTHING,
    "poetry": InstallTool(
        verbs=_words("install add update sync") | {"self add", "self update"},
        valued=_words("-C --directory -P --project"),
    ),
    "pdm": InstallTool(
        verbs=_words("install add update sync"), valued=_words("-c --config -p --project")
    ),
    "pipenv": InstallTool(
        verbs=_words("install update upgrade sync"), valued=_words("--python --pypi-mirror")
    ),
    "conda": _CONDA,
    "mamba": _CONDA,
    "micromamba": _CONDA,
    "npm": _NPM,
    "pnpm": _PNPM,
    "pnpx": _RUN_ANYTHING,
    "yarn": _YARN,
    "yarnpkg": _YARN,
    "bun": InstallTool(verbs=_words("install i add a update"), valued=_words("--cwd -c --config")),
    "cargo": InstallTool(
        verbs=_words("install binstall fetch"),
        valued=_words("--config -Z -C --color --manifest-path"),
    ),
    "rustup": InstallTool(
        verbs=_words("install update")
        | {"toolchain install", "component add", "target add", "self update"}
    ),
    "go": InstallTool(
        verbs=_words("install get") | {"mod download", "mod tidy"}, valued=_words("-C")
    ),
    "gem": InstallTool(verbs=_words("install update i")),
    "bundle": InstallTool(verbs=_words("install update add"), bare=True),
    "bundler": InstallTool(verbs=_words("install update add"), bare=True),
    "composer": InstallTool(
        verbs=_words("install i require r update u upgrade create-project"),
        valued=_words("-d --working-dir"),
    ),
    "cpan": _RUN_ANYTHING,
    "cpanm": _RUN_ANYTHING,
    "luarocks": InstallTool(verbs=_words("install")),
    "opam": InstallTool(verbs=_words("install upgrade")),
    "nix-env": InstallTool(verbs=_words("-i -iA --install -u --upgrade")),
}
"""By the name of the program; `pip3`, `pip3.12` and the like are looked up as `pip`."""

PYTHON_MODULES: Final = _words("pip pipx uv poetry pdm pipenv")
"""Tools that are also run as `python -m`."""
