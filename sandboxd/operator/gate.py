"""`sandboxd gate`: puts this node to the test and writes the report that switches sandboxes on.

The gate is a program of its own (`python -m gate`), which starts daemons of its own beside the
running one. It is only started here, never imported: the daemon stands without it.
"""

import importlib.util
import os
import sys

import click

from sandboxd.faults import Misconfigured, Refused


@click.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def gate(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Put this node to the test and write the report (see: gate --help)."""
    given = context.find_root().params
    if any(given[name] is not None for name in ("state_dir", "run_dir", "socket")):
        raise Refused(
            "the gate starts daemons in directories of its own",
            remedy="give the node's settings by --config FILE, and where to try by --target",
        )
    if importlib.util.find_spec("gate") is None:
        raise Misconfigured(
            "the gate is not installed beside sandboxd",
            remedy="run it on the node from the whole package or from a checkout (make gate-full)",
        )
    settings = () if given["config"] is None else ("--config", str(given["config"]))
    os.execv(  # noqa: S606 (no shell; the same Python, this very process)
        sys.executable, [sys.executable, "-m", "gate", *settings, *arguments]
    )
