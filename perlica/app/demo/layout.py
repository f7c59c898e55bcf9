"""The files of a demo: directories, secrets and the two configurations.

Made anew at each start except for the secrets and the state, which stay, so that a demo that is
started again goes on where it was.
"""

import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

NODE = "demo-node"
_RUN = Path("/run")
IMAGE_REFERENCE = "perlica-demo/busybox"
_INTRODUCTION = "演示镜像：busybox（sh、ls、cat、vi、wget 等小工具），没有包管理器"


_SERVICE_PART = """\
# Written anew at each start of the demo.
[service]
state_dir = {state}
language = {language}
demo = true

[napcat]
url = {url}
token_file = {token}
group_id = {group_id}
self_id = {self_id}
reconnect_at_most_s = 5.0

[members]
owners = {owners}
members = {members}

[model]
base_url = {model_url}
name = {model_name}
key_file = {model_key}

[outbox]
pace_s = 0.2
per_minute = 120

[log]
file = {log}
"""
_CONSOLE_PART = """
[console]
listen = {console}
"""
_SANDBOX_PART = """
[sandbox]
socket = {socket}
node = {node}

[sandbox.limits]
memory_bytes = 268435456
disk_bytes = 402653184

[sandbox.image]
reference = {reference}
digest = {digest}
introduction = {introduction}
revision = 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoPaths:
    """Where everything of a demo lies below its root directory."""

    root: Path

    @property
    def state(self) -> Path:
        """perlica's state: the database."""
        return self.root / "perlica"

    @property
    def config(self) -> Path:
        """perlica's configuration."""
        return self.root / "perlica.toml"

    @property
    def log(self) -> Path:
        """perlica's log."""
        return self.root / "perlica.log"

    @property
    def token(self) -> Path:
        """NapCat's token."""
        return self.root / "secrets" / "napcat-token"

    @property
    def model_key(self) -> Path:
        """The model's key."""
        return self.root / "secrets" / "model-key"

    @property
    def history(self) -> Path:
        """The stand-in's journal of the invented groups."""
        return self.root / "group.jsonl"

    @property
    def sandboxd_state(self) -> Path:
        """sandboxd's disks, images and journal."""
        return self.root / "sandboxd"

    @property
    def sandboxd_run(self) -> Path:
        """sandboxd's socket and runtime state, outside of homes that others may not enter."""
        name = hashlib.sha256(str(self.root).encode()).hexdigest()[:8]
        return _RUN / f"perlica-demo-{name}"

    @property
    def socket(self) -> Path:
        """sandboxd's socket."""
        return self.sandboxd_run / "sandboxd.sock"

    @property
    def sandboxd_config(self) -> Path:
        """sandboxd's configuration."""
        return self.root / "sandboxd.toml"

    @property
    def sandboxd_log(self) -> Path:
        """sandboxd's log."""
        return self.root / "sandboxd.log"

    @property
    def image_layout(self) -> Path:
        """The OCI layout that the demo image is built into."""
        return self.root / "image"

    def prepare(self) -> None:
        """Make the directories and the secrets that are not there yet."""
        for directory in (self.root, self.token.parent, self.state, self.sandboxd_state):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for secret in (self.token, self.model_key):
            if not secret.exists():
                _write_private(secret, secrets.token_urlsafe(24))


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFacts:
    """What the configuration of a demo is made from; `image_digest` is None without sandboxes.

    `console` is the address of the web console, None without one.
    """

    napcat_url: str
    group_id: int
    self_id: int
    owners: tuple[int, ...]
    members: tuple[int, ...]
    model_url: str
    model_name: str
    model_key_file: Path
    image_digest: str | None
    language: str
    console: str | None


def write_node_config(paths: DemoPaths) -> None:
    """Write sandboxd's configuration: the name by which perlica knows the node."""
    _write_private(paths.sandboxd_config, f"node = {_text(NODE)}\n")


def write_config(paths: DemoPaths, facts: DemoFacts) -> None:
    """Write perlica's configuration."""
    text = _SERVICE_PART.format(
        state=_text(paths.state),
        language=_text(facts.language),
        url=_text(facts.napcat_url),
        token=_text(paths.token),
        group_id=facts.group_id,
        self_id=facts.self_id,
        owners=list(facts.owners),
        members=list(facts.members),
        model_url=_text(facts.model_url),
        model_name=_text(facts.model_name),
        model_key=_text(facts.model_key_file),
        log=_text(paths.log),
    )
    if facts.console is not None:
        text += _CONSOLE_PART.format(console=_text(facts.console))
    if facts.image_digest is not None:
        text += _SANDBOX_PART.format(
            socket=_text(paths.socket),
            node=_text(NODE),
            reference=_text(IMAGE_REFERENCE),
            digest=_text(facts.image_digest),
            introduction=_text(_INTRODUCTION),
        )
    _write_private(paths.config, text)


def _text(value: str | Path) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's."""
    return json.dumps(str(value), ensure_ascii=False)


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
