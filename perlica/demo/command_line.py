"""`python -m perlica.demo napcat|model`: one stand-in as a process, ready when it prints its line.

The line is one JSON object with the addresses; SIGTERM and SIGINT end the process with status 0.
"""

import argparse
import json
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from perlica.demo.model import RehearsalModel
from perlica.demo.napcat import NapCatStandIn, Settings, demo_account
from perlica.demo.napcat.account import load_account
from perlica.demo.napcat.chat_page import ChatPage

CANNOT_START = 1
Ready = dict[str, object]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one stand-in until a signal; the exit status."""
    chosen = _parser().parse_args(arguments)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    begin: Callable[[argparse.Namespace, ExitStack], Ready] = chosen.begin
    with ExitStack() as exits:
        try:
            ready = begin(chosen, exits)
        except (OSError, ValueError) as error:
            print(f"perlica.demo {chosen.what}: {error}", file=sys.stderr)
            return CANNOT_START
        print(json.dumps({"ready": chosen.what, "pid": os.getpid(), **ready}), flush=True)
        ended.wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m perlica.demo", description=__doc__)
    kinds = parser.add_subparsers(dest="what", required=True)
    napcat = kinds.add_parser("napcat", help="the NapCat stand-in with its chat page")
    napcat.set_defaults(begin=_begin_napcat)
    napcat.add_argument("--port", type=int, default=0, help="WebSocket port; 0 takes a free one")
    napcat.add_argument("--page-port", type=int, default=0, help="port of the chat page")
    napcat.add_argument("--token-file", type=Path, required=True, help=_SECRET_HELP)
    napcat.add_argument("--state-file", type=Path, help="journal of the groups' history")
    napcat.add_argument("--account-file", type=Path, help="JSON with other groups and members")
    napcat.add_argument("--message-format", choices=("array", "string"), default="array")
    napcat.add_argument("--heartbeat-ms", type=int, default=Settings().heartbeat_interval_ms)
    napcat.add_argument(
        "--no-own-messages", action="store_true", help="reportSelfMessage false: no message_sent"
    )
    model = kinds.add_parser("model", help="the rehearsal model")
    model.set_defaults(begin=_begin_model)
    model.add_argument("--port", type=int, default=0, help="HTTP port; 0 takes a free one")
    model.add_argument("--key-file", type=Path, required=True, help=_SECRET_HELP)
    model.add_argument("--pace-ms", type=int, default=15, help="pause between chunks of a stream")
    return parser


_SECRET_HELP = "file with the secret; made with a new one (mode 0600) when it does not exist"  # noqa: S105 - a help text


def _begin_napcat(chosen: argparse.Namespace, exits: ExitStack) -> Ready:
    account = load_account(chosen.account_file) if chosen.account_file else demo_account()
    settings = Settings(
        message_format=chosen.message_format,
        reports_own_messages=not chosen.no_own_messages,
        heartbeat_interval_ms=chosen.heartbeat_ms,
    )
    stand_in = NapCatStandIn(
        token=_read_or_make_secret(chosen.token_file),
        account=account,
        settings=settings,
        journal=chosen.state_file,
        port=chosen.port,
    )
    napcat = exits.enter_context(stand_in)
    page = exits.enter_context(ChatPage(napcat, chosen.page_port))
    return {
        "url": napcat.url,
        "page": page.url,
        "self_id": napcat.self_id,
        "group_id": napcat.group_id,
    }


def _begin_model(chosen: argparse.Namespace, exits: ExitStack) -> Ready:
    model = RehearsalModel(
        api_key=_read_or_make_secret(chosen.key_file),
        port=chosen.port,
        pace_s=chosen.pace_ms / 1000,
    )
    exits.enter_context(model)
    return {"base_url": model.base_url, "model": model.models[0]}


def _read_or_make_secret(path: Path) -> str:
    """The secret of the file, its last line end left out.

    Raises:
        ValueError: the file is empty.
    """
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    secret = path.read_text("utf-8").strip()
    if not secret:
        raise ValueError(f"{path} is empty")
    return secret
