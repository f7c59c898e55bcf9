"""What must be so before a demo starts: a real model is named whole, and its ports are free.

The demo's command line asks here first, so that a person learns of it before anything runs.
"""

import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

_URL = "PERLICA_MODEL_BASE_URL"
_NAME = "PERLICA_MODEL_NAME"
_KEY_FILE = "PERLICA_MODEL_KEY_FILE"
_LOOPBACK = "127.0.0.1"
_LAST_PORT = 65_535


class DemoCannotStart(Exception):
    """Something outside of the demo has to be changed first; the text says what, on one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealModel:
    """A model behind an OpenAI-compatible interface, instead of the rehearsal model."""

    url: str
    name: str
    key_file: Path


def find_real_model(environment: Mapping[str, str]) -> RealModel | None:
    """The model that the environment names, None when it names none.

    Raises: DemoCannotStart when only a part of it is named, or its key's file is not there.
    """
    given = {name: environment.get(name, "") for name in (_URL, _NAME, _KEY_FILE)}
    missing = [name for name, value in given.items() if not value]
    if len(missing) == len(given):
        return None
    if missing:
        present = ", ".join(name for name in given if name not in missing)
        raise DemoCannotStart(
            f"{', '.join(missing)} is not set, but {present} is: a real model needs all of"
            " them, the rehearsal model none"
        )
    key_file = Path(given[_KEY_FILE]).absolute()
    if not key_file.is_file():
        raise DemoCannotStart(f"{_KEY_FILE} names {key_file}, which is no file")
    return RealModel(url=given[_URL], name=given[_NAME], key_file=key_file)


def require_free_ports(*, page: int, console: int) -> None:
    """Bind both ports on loopback for a moment. Raises: DemoCannotStart naming the option."""
    with ExitStack() as held:
        for what, option, port in (
            ("chat page", "--port", page),
            ("web console", "--console-port", console),
        ):
            try:
                held.enter_context(socket.create_server((_LOOPBACK, port)))
            except OSError as error:
                other = port + 1 if port < _LAST_PORT else port - 1
                raise DemoCannotStart(
                    f"the {what} cannot use port {port} ({error.strerror});"
                    f' take another one: make demo ARGS="{option} {other}"'
                ) from error
