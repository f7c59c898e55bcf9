"""Command line of the demo: `python -m perlica.app.demo [--script]`."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click

from perlica.app.demo.conditions import (
    DemoCannotStart,
    RealModel,
    find_real_model,
    require_free_ports,
)
from perlica.app.demo.processes import DemoFailed
from perlica.app.demo.script import Script
from perlica.app.demo.stage import REHEARSAL, Stage, why_no_sandboxes
from perlica.app.demo.state import PAGE_PORT, HeldState, hold, hold_new, kept_state
from perlica.demo.napcat.chat_page import ChatPage
from perlica.domain.clock import monotonic_s

_EXIT_FAILED = 1
_EXIT_CANNOT = 2
_LOOK_EVERY_S = 0.5
_PORT = click.IntRange(1, 65_535)


@click.command()
@click.option("--script", is_flag=True, help="Do the main job unattended and check every step.")
@click.option(
    "--state",
    type=click.Path(path_type=Path),
    help="Where the demo keeps its files; delete it to begin anew.  [default: demo-state, with"
    " another --port demo-state-PORT; a script makes one below build/demo and deletes it]",
)
@click.option("--report", type=click.Path(path_type=Path), help="Write the demo's time as JSON.")
@click.option(
    "--port", type=_PORT, default=PAGE_PORT, show_default=True, help="Port of the chat page."
)
@click.option(
    "--console-port", type=_PORT, default=8450, show_default=True, help="Port of the web console."
)
@click.option("--language", type=click.Choice(["zh", "en"]), default="zh", show_default=True)
def main(
    *,
    script: bool,
    state: Path | None,
    report: Path | None,
    port: int,
    console_port: int,
    language: str,
) -> None:
    """Run Perlica with an invented QQ group in the browser.

    A real model is used when PERLICA_MODEL_BASE_URL, PERLICA_MODEL_NAME and
    PERLICA_MODEL_KEY_FILE are set, but not with --script.
    """
    if script:
        _perform(state, report, language)
        return
    obstacle = why_no_sandboxes()
    if obstacle is not None:
        click.echo(f"This demo runs without sandboxes: {obstacle}", err=True)
    try:
        model = _look_around(port, console_port)
        with hold(state or kept_state(port)) as held:
            stage = Stage(
                paths=held.paths,
                lock=held.lock,
                with_sandboxes=obstacle is None,
                language=language,
                console_port=console_port,
                model_url=model.url if model else None,
                model_name=model.name if model else REHEARSAL,
                model_key_file=model.key_file if model else None,
            )
            _play(stage, lambda: _serve(stage, port))
    except DemoCannotStart as error:
        _refuse(error)
    except DemoFailed as error:
        _fail(error)


def _perform(state: Path | None, report: Path | None, language: str) -> None:
    """The script, on a state of its own; ends the program when a step does not hold."""
    obstacle = why_no_sandboxes()
    if obstacle is not None:
        click.echo(f"The script needs sandboxes: {obstacle}", err=True)
        sys.exit(_EXIT_CANNOT)
    _end_in_order()
    began_s = monotonic_s()
    try:
        with hold_new(state) if state else hold_new() as held:
            _perform_in(held, language)
    except DemoCannotStart as error:
        _refuse(error)
    seconds = monotonic_s() - began_s
    click.echo(f"the whole demo held, {seconds:.1f} s")
    if report is not None:
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(json.dumps({"seconds": round(seconds, 2)}))


def _perform_in(held: HeldState, language: str) -> None:
    try:
        stage = Stage(paths=held.paths, lock=held.lock, with_sandboxes=True, language=language)
        _play(stage, Script(stage, click.echo).run)
    except DemoFailed as error:
        click.echo(f"files of this run, until the next one: {held.paths.root}", err=True)
        _fail(error)


def _play(stage: Stage, act: Callable[[], None]) -> None:
    """Start everything, act, and stop everything whatever happened. Raises: DemoFailed."""
    try:
        stage.start()
        act()
    finally:
        stage.stop()


def _end_in_order() -> None:
    """Let SIGTERM end the script as Ctrl-C does: what was started is stopped first."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _refuse(error: DemoCannotStart) -> NoReturn:
    click.echo(f"The demo cannot start: {error}", err=True)
    sys.exit(_EXIT_CANNOT)


def _fail(error: DemoFailed) -> NoReturn:
    click.echo(f"FAILED  {error}", err=True)
    sys.exit(_EXIT_FAILED)


def _look_around(port: int, console_port: int) -> RealModel | None:
    """The real model, if one is named. Raises: DemoCannotStart."""
    model = find_real_model(os.environ)
    require_free_ports(page=port, console=console_port)
    return model


def _serve(stage: Stage, port: int) -> None:
    """Show the chat page until Ctrl-C or SIGTERM, or until a part ends by itself."""
    asked = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    with ChatPage(stage.napcat, port=port) as page:
        click.echo(f"聊天页 / chat page:  {page.url}")
        if stage.console_port is not None:
            click.echo(f"控制台 / console:    http://127.0.0.1:{stage.console_port}/")
            click.echo(f"  令牌 / its token:  {stage.new_console_token()}")
        click.echo(f"files: {stage.paths.root}   end with Ctrl-C")
        while not asked.wait(_LOOK_EVERY_S):
            stage.perlica.check_alive()
            if stage.sandboxd is not None:
                stage.sandboxd.check_alive()
    click.echo("stopping …")


if __name__ == "__main__":
    main()
