"""`perlica console`: the read-only web console by itself, and the tokens of its viewers."""

import json
import secrets
import signal
import threading
from datetime import datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from perlica.app.cli.options import config_option, json_option
from perlica.app.config import Config, load_config
from perlica.app.console import console_settings
from perlica.app.layout import database_path
from perlica.app.logs import start_logging
from perlica.app.secrets import Secret, read_secret
from perlica.console import start_console
from perlica.domain.clock import now_ms
from perlica.domain.errors import Misconfigured
from perlica.protection import Channel, protect
from perlica.stores.audit import AuditStore
from perlica.stores.database import Database
from perlica.stores.viewers import Viewer, ViewerStore, digest_token

_DAY_MS = 86_400_000
_MOST_DAYS = 366
_TOKEN_PREFIX = "perlica-viewer-"  # noqa: S105 - what a token begins with, so that scanners know it
_LOOK_S = 1.0


@click.group("console", short_help="The web console: run it alone, manage viewers' tokens.")
def command() -> None:
    """The read-only web console and who may look at it.

    `perlica run` starts the console by itself when console.listen is set; `serve` runs it alone,
    for example beside a service that is stopped.

    Begin with `perlica console token add NAME`: nobody can look without a token.
    """


@command.command("serve", short_help="Run the console alone until it is told to stop.")
@config_option
def serve(config_path: Path) -> None:
    """Run the console until SIGTERM or SIGINT, without the service.

    It reads the same database and changes nothing. The log goes to stderr.

    Raises: Misconfigured when the console cannot be served as configured.
    """
    config = load_config(config_path)
    secret = _proxy_secret(config)
    settings = console_settings(config, secret)
    if settings is None:
        raise Misconfigured(
            "console_off",
            "no console is configured",
            remedy='set console.listen = "127.0.0.1:8450"',
        )
    start_logging(config.log, secrets=[secret.reveal()] if secret else [])
    stop_asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop_asked.set())
    server = start_console(settings, database_path(config.service.state_dir))
    click.echo(f"console: {server.url}", err=True)
    try:
        while not stop_asked.wait(_LOOK_S) and server.is_alive:
            pass
    finally:
        server.stop()
    if not stop_asked.is_set():
        raise Misconfigured("console_ended", "the console ended by itself; the log says why")


@command.group("token", short_help="Add, list and revoke viewers' tokens.")
def token() -> None:
    """Tokens with which viewers log in. Only a digest is kept: a lost token is made anew."""


@token.command("add", short_help="Make a token for a viewer; it is shown once.")
@click.argument("name")
@click.option(
    "--days",
    type=click.IntRange(1, _MOST_DAYS),
    help="Days that it lasts; by default console.token_days.",
)
@config_option
def add(name: str, config_path: Path, days: int | None) -> None:
    """Make a token for the viewer NAME and print it on standard output, once and never again."""
    config = load_config(config_path)
    lifetime_ms = (days or config.console.token_days) * _DAY_MS
    made = _TOKEN_PREFIX + secrets.token_urlsafe(32)
    with Database.open(database_path(config.service.state_dir)) as database, database.transaction():
        viewer = ViewerStore(database).add(
            name, token_digest=digest_token(made), lifetime_ms=lifetime_ms
        )
        _audit(database, "console.token_added", viewer)
    until = _time(viewer.expires_at_ms, ZoneInfo(config.service.time_zone))
    click.echo(f"{name}: valid until {until}; keep it now, it is not shown again", err=True)
    click.echo(made)


@token.command("list", short_help="List viewers and whether their tokens count.")
@config_option
@json_option
def list_tokens(config_path: Path, *, as_json: bool) -> None:
    """List everybody who ever got a token: living, expired, revoked, or of a restored database."""
    config = load_config(config_path)
    with Database.open(database_path(config.service.state_dir), read_only=True) as database:
        store = ViewerStore(database)
        viewers = [(viewer, _state(store, viewer)) for viewer in store.list_all()]
    if as_json:
        click.echo(json.dumps([_as_json(*entry) for entry in viewers], indent=2))
        return
    zone = ZoneInfo(config.service.time_zone)
    for viewer, state in viewers:
        until = _time(viewer.expires_at_ms, zone)
        click.echo(f"{viewer.name}: {state}, made {_time(viewer.created_at_ms, zone)}, to {until}")
    if not viewers:
        click.echo("nobody has a token; make one with: perlica console token add NAME", err=True)


@token.command("revoke", short_help="Make a viewer's token worthless at once.")
@click.argument("name")
@config_option
def revoke(name: str, config_path: Path) -> None:
    """Revoke the token of the viewer NAME; open sessions end with their next request."""
    config = load_config(config_path)
    with Database.open(database_path(config.service.state_dir)) as database, database.transaction():
        viewer = ViewerStore(database).revoke(name)
        _audit(database, "console.token_revoked", viewer)
    click.echo(f"{viewer.name}: revoked")


def _proxy_secret(config: Config) -> Secret | None:
    path = config.console.proxy_secret_file
    return None if path is None else read_secret(path, key="console.proxy_secret_file")


def _audit(database: Database, kind: str, viewer: Viewer) -> None:
    detail = protect(
        {"viewer": viewer.id, "name": viewer.name, "expires_at_ms": viewer.expires_at_ms},
        Channel.AUDIT,
    )
    AuditStore(database).add_event(kind, actor="operator", detail=detail)


def _state(store: ViewerStore, viewer: Viewer) -> str:
    if viewer.revoked_at_ms is not None:
        return "revoked"
    if viewer.expires_at_ms <= now_ms():
        return "expired"
    return "living" if store.is_living(viewer) else "void since a restore"


def _as_json(viewer: Viewer, state: str) -> dict[str, object]:
    return {
        "name": viewer.name,
        "state": state,
        "created_at_ms": viewer.created_at_ms,
        "expires_at_ms": viewer.expires_at_ms,
        "revoked_at_ms": viewer.revoked_at_ms,
    }


def _time(at_ms: int, zone: tzinfo) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, zone):%Y-%m-%d %H:%M}"
