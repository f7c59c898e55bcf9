"""docs/operations: the alerts are right, fire when they should, and speak of metrics that exist."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import IN_CI
from tests.frame.checkout import ROOT, read_tree_file
from tests.health.conftest import Site
from tests.health.promtool import NoPromtool, find_promtool

FOLDER = ROOT / "docs" / "operations"
METRIC = re.compile(r"\b(?:perlica|process)_[a-z_]+\b")
LABEL = re.compile(r"\b([a-z_]+)\s*(?:=~|!~|!=|=(?!=))\s*\"")
GROUPED = re.compile(r"\b(?:by|on)\s*\(([a-z_, ]*)\)")
SHOWN = re.compile(r"\{\{\s*\$?(?:labels\.)?([a-z_]+)\s*\}\}")
# Added by Prometheus when it scrapes, or by histograms.
ADDED = {"job", "instance", "le"}


@pytest.fixture(scope="session")
def promtool() -> str:
    try:
        return find_promtool()
    except NoPromtool as error:
        if IN_CI:
            raise
        pytest.skip(f"needs promtool: {error}")


def rules() -> list[Mapping[str, Any]]:
    (group,) = yaml.safe_load(read_tree_file("docs/operations/alerts.yaml"))["groups"]
    return group["rules"]  # type: ignore[no-any-return]


def panels() -> list[Mapping[str, Any]]:
    board = json.loads(read_tree_file("docs/operations/dashboard.json"))
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    """Name and expression of every alert and panel."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


def exposed(site: Site) -> tuple[set[str], set[str]]:
    """The names that /metrics shows, and all labels that its metrics can have."""
    names: set[str] = set()
    for kind, name in (
        (words[3], words[2])
        for words in map(str.split, site.get("/metrics").text.splitlines())
        if words[:2] == ["#", "TYPE"]
    ):
        names |= (
            {name + end for end in ("_bucket", "_count", "_sum")} if kind == "histogram" else {name}
        )
    registry = site.server.registry
    labels = {
        label
        for collector in set(registry._names_to_collectors.values())
        for label in getattr(collector, "_labelnames", ())
    }
    return names, labels


def test_every_metric_that_is_asked_for_is_one_that_is_shown(site: Site) -> None:
    names, _ = exposed(site)

    for where, expression in expressions():
        assert set(METRIC.findall(expression)) <= names, where


def test_every_metric_has_its_place_on_the_dashboard(site: Site) -> None:
    asked = {name for _, expression in expressions() for name in METRIC.findall(expression)}
    families = {
        re.sub("_(bucket|count|sum)$", "", name) for name in exposed(site)[0] if "perlica" in name
    }
    passed_over = {
        "perlica_audit_events_total",
        "perlica_figures_failures_total",
        "perlica_figures_seconds",
        "perlica_frames_dropped_total",
        "perlica_message_stored_timestamp_seconds",
        "perlica_operations_open_age_seconds",
        "perlica_send_attempts_total",
        "perlica_task_active_age_seconds",
        "perlica_ticket_decision_seconds",
        "perlica_tickets_pending_age_seconds",
    }

    assert families - {re.sub("_(bucket|count|sum)$", "", name) for name in asked} == passed_over


def test_every_label_that_is_asked_for_is_one_that_there_is(site: Site) -> None:
    _, labels = exposed(site)
    for where, expression in expressions():
        asked = set(LABEL.findall(expression))
        for group in GROUPED.findall(expression):
            asked |= {word.strip() for word in group.split(",") if word.strip()}
        assert asked <= labels | ADDED, where
    for rule in rules():
        assert set(SHOWN.findall(rule["annotations"]["summary"])) <= labels | ADDED, rule["alert"]
    for panel in panels():
        for target in panel["targets"]:
            assert set(SHOWN.findall(target["legendFormat"])) <= labels | ADDED, panel["title"]


def test_prometheus_accepts_the_alerts(promtool: str) -> None:
    done = subprocess.run(
        [promtool, "check", "rules", "--lint=all", "--lint-fatal", str(FOLDER / "alerts.yaml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_accepts_every_expression_of_the_dashboard(
    promtool: str, tmp_path: Path
) -> None:
    found = [
        {"record": f"panel:{number}", "expr": expression.replace("$job", "perlica")}
        for number, (_, expression) in enumerate(expressions())
    ]
    file = tmp_path / "panels.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": found}]}))
    done = subprocess.run(
        [promtool, "check", "rules", str(file)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(found) > 50


def test_the_alerts_fire_when_they_should(promtool: str, tmp_path: Path) -> None:
    shutil.copy(FOLDER / "alerts.yaml", tmp_path)
    shutil.copy(Path(__file__).with_name("alerts_test.yaml"), tmp_path)
    done = subprocess.run(
        [promtool, "test", "rules", "alerts_test.yaml"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_says_how_urgent_it_is_and_what_to_do() -> None:
    guide = read_tree_file("docs/operations/README.md")

    for rule in rules():
        assert rule["labels"]["severity"] in {"page", "ticket"}, rule["alert"]
        assert " / " in rule["annotations"]["summary"], rule["alert"]
        assert f"| {rule['alert']} |" in guide, rule["alert"]


def test_the_panels_of_the_dashboard_lie_side_by_side() -> None:
    board = json.loads(read_tree_file("docs/operations/dashboard.json"))
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (place["x"] + column, place["y"] + line)
            for column in range(place["w"])
            for line in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers)


def test_every_panel_explains_itself() -> None:
    for panel in panels():
        assert panel["title"], panel["id"]
        assert panel["description"], panel["title"]
