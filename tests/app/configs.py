"""Configurations that tests begin with."""

import os
from pathlib import Path

DIGEST = "sha256:" + "ab" * 32

MINIMAL = """\
[service]
state_dir = "/var/lib/perlica"

[napcat]
url = "ws://127.0.0.1:3001"
token_file = "/etc/perlica/secrets/napcat-token"
group_id = 600100200
self_id = 10000

[members]
owners = [30001, 30002]

[model]
base_url = "http://127.0.0.1:8000/v1"
name = "rehearsal"
"""

SOCKET = "/run/perlica-tests-have-none/sandboxd.sock"
"""Not where a node's daemon listens: what runs on the machine is no part of a test."""
SANDBOX = f"""
[sandbox]
socket = "{SOCKET}"
node = "node-1"

[sandbox.image]
reference = "local/demo"
digest = "{DIGEST}"
introduction = "busybox"
revision = 1
"""


def filled_in(example: str) -> str:
    """An example with the numbers that its operator has to write."""
    for invented, real in (
        ("group_id = 0", "group_id = 600100200"),
        ("self_id = 0", "self_id = 10000"),
        ("\nowners = [0]", "\nowners = [30001]"),
        ("\nmembers = [0]", "\nmembers = [30003]"),
    ):
        example = example.replace(invented, real)
    return example


def write_private(path: Path, text: str) -> Path:
    """A file that only we can read."""
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    return path


def write_config(
    folder: Path, text: str = "", *, napcat_port: int = 1, model_port: int = 1
) -> Path:
    """A whole configuration below `folder`, with its secret; `text` is appended."""
    token = write_private(folder / "napcat-token", "a-long-napcat-token-for-tests\n")
    config = f"""\
[service]
state_dir = "{folder / "state"}"
demo = true

[napcat]
url = "ws://127.0.0.1:{napcat_port}"
token_file = "{token}"
group_id = 600100200
self_id = 10000
connect_within_s = 2
call_within_s = 2

[members]
owners = [30001, 30002]

[model]
base_url = "http://127.0.0.1:{model_port}/v1"
name = "rehearsal"
connect_within_s = 2
first_token_within_s = 2

{text}
"""
    return write_private(folder / "perlica.toml", config)


def is_root() -> bool:
    """Whether the tests run as root."""
    return os.geteuid() == 0


NODES: dict[tuple[str, ...], dict[str, str]] = {
    ("sandbox", "nodes"): {"name": "node-9", "socket": "/run/perlica-tests-have-none/nine.sock"},
    ("sandbox", "remote_nodes"): {
        "name": "node-9",
        "address": "node-9.internal:7443",
        "server_name": "node-9.internal",
        "authority_file": "/etc/perlica/ca.pem",
        "certificate_file": "/etc/perlica/perlica.pem",
        "key_file": "/etc/perlica/key.pem",
    },
}
