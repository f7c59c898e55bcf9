"""The daemon's configuration: one TOML file, checked whole before anything starts.

Every limit is finite and has a default for a node with 2 cores and 8 GiB. The ceilings hold
whatever a caller asks for.
"""

import difflib
import os
import re
import socket
import tomllib
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from sandboxd.faults import Misconfigured
from sandboxd.wire import MAX_FILE_BYTES, MAX_OUTPUT_BYTES, MAX_TIMEOUT_MS, MIN_DISK_BYTES

_GIB = 1024**3
_MIB = 1024**2


EnvironmentPattern = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\*?$")]
ENVIRONMENT: Final = tuple(
    """
CC CFLAGS CI COLUMNS CXX CXXFLAGS DEBIAN_FRONTEND EDITOR GOFLAGS GOPATH GREP_COLORS HOME LANG
LANGUAGE LC_* LDFLAGS LINES LOGNAME MAKEFLAGS NODE_ENV NO_COLOR NPM_CONFIG_* PAGER PATH
PIP_* PWD PYTHON* RUST_BACKTRACE SHELL SOURCE_DATE_EPOCH TERM TMPDIR TZ USER VIRTUAL_ENV
""".split()
)
"""What builds and terminals need. Nothing in it is a usual home of a credential, so that a caller
which passes on its own environment is refused instead of leaking one into a sandbox."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ceilings(_Section):
    """The most that one sandbox may be given."""

    memory_bytes: int = Field(default=2 * _GIB, ge=16 * _MIB)
    pids: int = Field(default=1024, ge=8)
    cpu_millis: int = Field(default=2000, ge=50)
    disk_bytes: int = Field(default=16 * _GIB, ge=MIN_DISK_BYTES)
    nofile: int = Field(default=4096, ge=64)


class Bounds(_Section):
    """What the whole daemon may hold and do at once."""

    sandboxes: int = Field(default=3, ge=1, le=64)
    running_operations: int = Field(default=8, ge=1, le=128)
    """Commands, file accesses, creations and so on at the same time; the next one is busy."""
    control_threads: int = Field(default=4, ge=2, le=32)
    """Threads that are left for health, state and cancel when all operations run."""
    connections: int = Field(default=64, ge=4, le=1024)
    request_timeout_s: int = Field(default=10, ge=1, le=120)
    """How long a connection may stay silent within a request."""
    timeout_ms: int = Field(default=3_600_000, ge=1000, le=MAX_TIMEOUT_MS)
    output_bytes: int = Field(default=2 * _MIB, ge=1024, le=MAX_OUTPUT_BYTES)
    file_bytes: int = Field(default=MAX_FILE_BYTES, ge=1024, le=MAX_FILE_BYTES)
    streamed_bytes: int = Field(default=64 * _MIB, ge=1024)
    """What one command's output may add up to on its way to a caller that listens meanwhile."""
    unacknowledged_output_bytes: int = Field(default=64 * _MIB, ge=_MIB)
    journal_operations: int = Field(default=10_000, ge=100)
    free_disk_bytes: int = Field(default=_GIB, ge=0)
    """Space on the node that creating a sandbox must leave free."""
    image_bytes: int = Field(default=16 * _GIB, ge=_MIB)
    image_entries: int = Field(default=1_000_000, ge=1000)
    stop_within_s: float = Field(default=8.0, gt=0, le=60)


Role = Literal["service", "observer"]
"""service: every call. observer: those that only look, and show no output of commands."""


class Tls(_Section):
    """The interface for callers on other machines: HTTP over mutual TLS 1.3."""

    host: str = "127.0.0.1"
    port: int = Field(ge=0, le=65535)
    certificate: Path
    key: Path
    client_authority: Path
    """Only certificates of this authority are let in, and of these only the names in `clients`."""
    clients: Mapping[str, Role] = Field(min_length=1, max_length=64)
    """The one DNS name of a client's certificate, and its role."""


class EgressRule(_Section):
    """A name that sandboxes with network "egress" may reach, and on which ports."""

    name: str = Field(pattern=r"^(\*\.)?([a-z0-9-]{1,63}\.)*[a-z][a-z0-9-]{0,62}$")
    """A whole name; with `*.` in front all names below it, but not itself."""
    ports: tuple[Annotated[int, Field(ge=1, le=65535)], ...] = (443,)
    encrypted_hello: Literal["refuse", "allow"] = "refuse"
    """What becomes of TLS clients that send an encrypted hello or pretend to, as browsers do. On a
    server shared with others it can lead to their names: allow it for servers of your own only."""


class Egress(_Section):
    """The way out of sandboxes: without this section there is none."""

    allow: tuple[EgressRule, ...] = Field(min_length=1, max_length=256)
    forbidden_networks: tuple[IPv4Network | IPv6Network, ...] = Field(default=(), max_length=256)
    """Public ranges that stay closed all the same, such as a cluster's own. Private, loopback,
    link-local, shared and metadata addresses always are."""
    test_only_addresses: tuple[IPv4Address | IPv6Address, ...] = ()
    """Addresses that are let through although they are not public. For tests; empty otherwise."""
    connections: int = Field(default=64, ge=1, le=256)
    """At the same time for one sandbox; more wait for their turn."""
    wait_s: float = Field(default=20, gt=0, le=300)
    """How long one waits, before it is answered with 503."""
    upload_bytes: int = Field(default=4 * _MIB, ge=4096)
    """What one connection may send, TLS handshake included."""
    upload_bytes_per_hour: int = Field(default=64 * _MIB, ge=4096)
    """What all connections of one sandbox together may send."""
    download_bytes: int = Field(default=4 * _GIB, ge=4096)
    connection_s: float = Field(default=1800, gt=0, le=86400)
    silent_s: float = Field(default=120, gt=0, le=3600)


class Registry(_Section):
    """One registry that images may come from."""

    host: str = Field(pattern=r"^[a-z0-9.-]{1,253}(:[0-9]{1,5})?$")
    credentials: Path | None = None
    """A containers-auth.json(5) file that only root can read; it never reaches a sandbox."""
    certificates: Path | None = None
    """A directory with the authority of the registry's certificate, as skopeo takes it."""
    plain_http: bool = False
    """Without TLS. The digest still decides what is believed, but everybody can read along."""


class Config(_Section):
    """The whole file. Paths are absolute; `socket` is the Unix socket of the interface."""

    node: str = Field(default_factory=socket.gethostname, pattern=r"^[A-Za-z0-9._-]{1,253}$")
    state_dir: Path = Path("/var/lib/sandboxd")
    run_dir: Path = Path("/run/sandboxd")
    socket: Path = Path("/run/sandboxd/sandboxd.sock")
    socket_gid: int = Field(default_factory=os.getgid, ge=0)
    allowed_uids: tuple[int, ...] = Field(default_factory=lambda: (os.getuid(),))
    runtime: str = Field(default="crun", pattern=r"^(/[\w./-]+/)?(crun|runc)$")
    init: Path = Path("/usr/bin/catatonit")
    cgroup_parent: str = Field(default="/perlica", pattern=r"^(/[A-Za-z0-9_-]{1,64}){1,4}$")
    first_host_id: int = Field(default=1_900_000_000, ge=65536, le=4_000_000_000)
    """Each sandbox gets 65536 host ids from here on; nobody else may use them."""
    layers_by_path: bool = False
    """Use the older way of naming overlay layers although the kernel has the newer one."""
    set_id_bits: Literal["keep", "strip", "refuse"] = "keep"
    """Set-user-id and set-group-id files of an image. Kept they do nothing: sandboxes are mounted
    nosuid and their processes never gain privileges."""
    registries: tuple[Registry, ...] = Field(default=(), max_length=64)
    egress: Egress | None = None
    tls: Tls | None = None
    environment: tuple[EnvironmentPattern, ...] = ENVIRONMENT
    """Names that a caller may set for a command; `*` at the end stands for anything."""
    ceilings: Ceilings = Ceilings()
    bounds: Bounds = Bounds()


def load_config(file: Path | None, changes: dict[str, Any]) -> Config:
    """The configuration from a file, with `changes` (from the command line) on top.

    Raises: Misconfigured naming the key, what was expected and, for an unknown key, the near one.
    """
    given: dict[str, Any] = {}
    if file is not None:
        try:
            given = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise Misconfigured(f"{file}: {error.strerror}", remedy="give --config FILE") from error
        except tomllib.TOMLDecodeError as error:
            raise Misconfigured(f"{file}: {error}", remedy="correct the TOML") from error
    try:
        config = Config.model_validate(given | changes)
    except ValidationError as error:
        found = "; ".join(_explain(problem) for problem in error.errors(include_url=False))
        raise Misconfigured(found, remedy="correct the configuration") from error
    for name in ("state_dir", "run_dir", "socket", "init"):
        path = getattr(config, name)
        if not path.is_absolute() or re.search(r"[\s,:\\]", str(path)):
            raise Misconfigured(f"{name}: must be an absolute path without blanks, commas, colons")
    # The kernel names files and mounts by their real paths.
    real = {"state_dir": config.state_dir.resolve(), "run_dir": config.run_dir.resolve()}
    return config.model_copy(update=real)


def _explain(problem: ErrorDetails) -> str:
    where = ".".join(str(part) for part in problem["loc"])
    if problem["type"] != "extra_forbidden":
        return f"{where}: {problem['msg']}"
    sections: dict[str, type[_Section]] = {
        "ceilings": Ceilings,
        "bounds": Bounds,
        "tls": Tls,
        "egress": Egress,
        "registries": Registry,
    }
    section = sections.get(str(problem["loc"][0]), Config)
    near = difflib.get_close_matches(str(problem["loc"][-1]), section.model_fields, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"{where}: there is no such key{hint}"
