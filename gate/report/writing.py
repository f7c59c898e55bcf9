"""Writes a report as JSON, for the service, and as Markdown, for people."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gate.report.document import Report, ReportLine


def write_report(report: Report, directory: Path) -> tuple[Path, Path]:
    """Writes both forms. Returns the paths of the JSON and of the Markdown."""
    directory.mkdir(parents=True, exist_ok=True)
    kernel = report.facts.node.kernel.split("-")[0]
    stem = f"{report.depth}-linux-{kernel}-{report.facts.node.runtime}"
    as_json, as_markdown = directory / f"{stem}.json", directory / f"{stem}.md"
    as_json.write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
    as_markdown.write_text(markdown_of(report), encoding="utf-8")
    return as_json, as_markdown


def markdown_of(report: Report) -> str:
    """The report for people."""
    facts, node = report.facts, report.facts.node
    counts = Counter(line.outcome for line in report.lines)
    made = dt.datetime.fromtimestamp(report.made_at_ms / 1000, tz=dt.UTC)
    rows = [
        ("Depth", report.depth),
        ("Made", f"{made:%Y-%m-%d %H:%M} UTC, in {report.took_s} s"),
        ("Lines", ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))),
        ("Kernel", f"{node.kernel} ({node.architecture}), control groups {node.cgroup_mode}"),
        ("Runtime", f"{node.runtime} {node.runtime_version}"),
        ("Runtime class", facts.runtime_class),
        ("Storage", facts.storage),
        ("System-call filter", facts.seccomp),
        ("AppArmor, SELinux", facts.mandatory_access_control),
        ("Rights of sandboxd", ", ".join(facts.node_rights)),
        ("sandboxd", node.sandboxd),
        ("Configuration", f"sha256:{node.configuration}"),
        ("Code of sandboxd", f"sha256:{node.code}"),
        ("Image", facts.image_digest),
        ("Its squashfs", f"sha256:{facts.image_squashfs_sha256}"),
        *((name, version) for name, version in sorted(facts.programs.items())),
    ]
    verdict = "passed" if report.passed else "FAILED"
    parts = [
        f"# Rootfs gate: {verdict}",
        _table(("", ""), rows),
        "## Escape surface",
        "What a sandbox can do, and why that is harmless. Everything else was refused.",
        _table(("It can", "because"), [(s.can, s.because) for s in report.escape_surface]),
        "## Risks",
        "\n".join(f"- {risk}" for risk in report.risks),
        "## Lines",
        _table(("", "Claim", "Seen", "ms"), [_row(line) for line in report.lines]),
    ]
    return "\n\n".join(parts) + "\n"


def _row(line: ReportLine) -> tuple[str, ...]:
    return (line.outcome, f"`{line.key}` {line.claim}", line.detail, str(line.took_ms or ""))


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    def row(cells: tuple[str, ...]) -> str:
        return (
            "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
        )

    return "\n".join([row(head), "|" + " --- |" * len(head), *map(row, rows)])
