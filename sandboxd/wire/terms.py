"""Words, ceilings and checked types that requests and answers are made of.

Private to `sandboxd.wire`, which offers all of it under one name.
"""

import base64
import binascii
from typing import Annotated, Final, Literal, NewType

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

PROTOCOL_VERSION: Final = 2
STREAM_TYPE: Final = "application/x-ndjson"
"""`Accept` of an exec whose output is wanted while it runs: StreamOutput lines, a StreamEnd."""

OperationId = NewType("OperationId", str)
SandboxName = NewType("SandboxName", str)
InstanceId = NewType("InstanceId", str)
ImageDigest = NewType("ImageDigest", str)
"""Digest of an OCI image manifest: `sha256:` and 64 hexadecimal digits."""

# Ceilings of the protocol. The daemon's own configuration can only be stricter.
MAX_REQUEST_BYTES: Final = 24 * 1024 * 1024
MAX_ARGUMENTS: Final = 1024
MAX_ARGUMENT_BYTES: Final = 128 * 1024
MAX_ARGUMENTS_BYTES: Final = 1024 * 1024
MAX_ENVIRONMENT: Final = 256
MAX_PATH_BYTES: Final = 4096
MAX_STDIN_BYTES: Final = 16 * 1024 * 1024
MAX_OUTPUT_BYTES: Final = 8 * 1024 * 1024
"""The most that is kept of stdout without its margins, and as much again of stderr."""
MAX_MARGIN_BYTES: Final = 1024 * 1024
"""The most that is kept beyond each side of what is left out of an output."""
MAX_FILE_BYTES: Final = 16 * 1024 * 1024
MAX_LISTED_ENTRIES: Final = 10_000
MAX_TIMEOUT_MS: Final = 6 * 60 * 60 * 1000
MIN_DISK_BYTES: Final = 320 * 1024 * 1024
"""mkfs.xfs refuses anything below 300 MB."""


def encode_bytes(raw: bytes) -> str:
    """Bytes as the base64 text of a `..._base64` field."""
    return base64.b64encode(raw).decode("ascii")


def decode_bytes(text: str) -> bytes:
    """The bytes of a `..._base64` field. Raises ValueError when it is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError("not base64") from error


def size_of_base64(text: str) -> int:
    """How many bytes a `..._base64` field holds, without decoding it."""
    return len(text) * 3 // 4 - len(text[-2:]) + len(text[-2:].rstrip("="))


def _is_base64(text: str) -> str:
    decode_bytes(text)
    return text


def _is_clean_path(path: str) -> str:
    if not path.startswith("/"):
        raise ValueError("must be absolute")
    if "\0" in path:
        raise ValueError("must not contain a NUL byte")
    if len(path.encode("utf-8", "surrogateescape")) > MAX_PATH_BYTES:
        raise ValueError(f"must be at most {MAX_PATH_BYTES} bytes")
    return path


Base64Text = Annotated[str, AfterValidator(_is_base64)]
AbsolutePath = Annotated[str, AfterValidator(_is_clean_path)]
Operation = Annotated[OperationId, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{7,63}$")]
Name = Annotated[SandboxName, Field(pattern=r"^[a-z][a-z0-9-]{0,30}[a-z0-9]$")]
Instance = Annotated[InstanceId, Field(pattern=r"^[0-9a-f]{32}$")]
Digest = Annotated[ImageDigest, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Epoch = Annotated[int, Field(ge=0, le=2**53 - 1)]
Network = Literal["none", "egress"]
NumericId = Annotated[int, Field(ge=0, le=65535)]


class Wire(BaseModel):
    """Base of everything that travels: closed, immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
