"""What the commands print for people: tables that fit a terminal, sizes and ages in words."""

import time
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sandboxd import wire

_STYLES = {"ready": "green", "broken": "bold red", "interrupted": "yellow", "started": "cyan"}
_STEP = 1024
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86400
_SHORT_DIGEST = 19


def show(table: Table) -> None:
    """Prints it; wide enough for whole ids when the output is no terminal."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)


def size(count: float | None) -> str:
    """Bytes in words: `12.5 MiB`."""
    if count is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < _STEP:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= _STEP
    return f"{count:.1f} TiB"


def age(at_ms: int | None) -> str:
    """How long ago, in one unit: `5 min`."""
    if at_ms is None:
        return "-"
    passed_s = max(0, time.time() - at_ms / 1000)
    if passed_s < _MINUTE_S:
        return f"{passed_s:.0f} s"
    if passed_s < _HOUR_S:
        return f"{passed_s / _MINUTE_S:.0f} min"
    return f"{passed_s / _HOUR_S:.0f} h" if passed_s < _DAY_S else f"{passed_s / _DAY_S:.0f} d"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, empty: str) -> Table:
    """A plain table; columns whose title begins with `>` are numbers."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption_justify="left")
    for column in columns:
        made.add_column(
            column.lstrip(">"), justify="right" if column[0] == ">" else "left", no_wrap=True
        )
    for row in rows:
        made.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    if not made.row_count:
        made.caption = empty
    return made


def sandboxes(states: Iterable[wire.SandboxState]) -> Table:
    """`sandboxd ls`."""
    rows = (
        (
            state.name,
            state.state,
            state.network,
            size(state.disk.used_bytes),
            size(state.disk.size_bytes),
            str(len(state.running_operations)),
            age(state.created_at_ms),
            state.image_digest[:_SHORT_DIGEST],
            state.instance,
        )
        for state in states
    )
    columns = ("name", "state", "network", ">used", ">disk", ">runs", ">age", "image", "instance")
    return table(columns, rows, empty="no sandbox on this node")


def operations(listed: Iterable[wire.OperationSummary]) -> Table:
    """`sandboxd ops`."""
    rows = (
        (
            item.operation,
            item.kind,
            item.sandbox or "-",
            item.state,
            item.error or "-",
            age(item.started_at_ms),
            "-"
            if item.finished_at_ms is None
            else f"{item.finished_at_ms - item.started_at_ms} ms",
            "yes" if item.acknowledged else "no",
        )
        for item in listed
    )
    columns = ("operation", "kind", "sandbox", "state", "error", ">age", ">took", "acknowledged")
    return table(columns, rows, empty="no operation is known")


def _took(item: wire.OperationSummary) -> str:
    if item.finished_at_ms is None:
        return "-"
    return f"{item.finished_at_ms - item.started_at_ms} ms"


def use(report: wire.UseReport) -> Table:
    """`sandboxd top`."""
    rows = (
        (
            item.name,
            item.state,
            f"{size(item.memory_bytes)} / {size(item.memory_limit_bytes)}",
            f"{item.pids} / {item.pids_limit}",
            f"{item.cpu_ms / 1000:.1f} s",
            f"{size(item.disk_used_bytes)} / {size(item.disk_bytes)}",
            str(item.running_operations),
        )
        for item in report.sandboxes
    )
    columns = ("name", "state", ">memory", ">pids", ">cpu", ">disk", ">runs")
    made = table(columns, rows, empty="no sandbox on this node")
    made.title = f"daemon: {size(report.resident_bytes)} resident"
    return made


def garbage(report: wire.GarbageReport) -> Table:
    """`sandboxd gc --dry-run`."""
    rows: list[tuple[str, str, str, str]] = [
        ("image", image.digest, size(image.size_bytes), "no sandbox is made of it")
        for image in report.images
    ]
    rows += [
        (orphan.kind, orphan.name, size(orphan.size_bytes), orphan.evidence or "none: it stays")
        for orphan in report.orphans
    ]
    return table(("kind", "name", ">size", "evidence"), rows, empty="nothing to collect")


def images(held: Iterable[wire.HeldImage]) -> Table:
    """`sandboxd image list`."""
    rows = (
        (image.digest, size(image.size_bytes), age(image.imported_at_ms), image.reference or "-")
        for image in held
    )
    return table(("digest", ">size", ">age", "reference"), rows, empty="no image on this node")
