"""A report proves what it names: a whole run, of this code, with this way out."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gate.bench import FULL
from gate.checks.egress import LINES
from perlica.app.capabilities.gate_report import FULL_DEPTH, judge_report, read_report
from perlica.domain.texts import Language
from sandboxd.config import Config
from sandboxd.identity import code_digest, configuration_digest

WriteReport = Callable[..., Path]
EGRESS = {"allow": [{"name": "mirror.example"}]}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """What is lent to every sandbox."""
    path = tmp_path / "init"
    path.write_bytes(b"init")
    return path


@pytest.mark.parametrize("depth", ["gate", "gate-full-shortened", "", "full"])
def test_a_run_that_was_not_the_whole_gate_proves_nothing(
    write_report: WriteReport, depth: str
) -> None:
    report = write_report(depth=depth)

    assert read_report(report).faults() == ("depth",)
    assert not judge_report(report, {}).allows


def test_the_service_wants_the_depth_that_the_whole_gate_has(write_report: WriteReport) -> None:
    assert FULL.name == FULL_DEPTH
    assert read_report(write_report()).faults() == ()


def test_a_whole_run_with_fewer_cuts_is_not_called_whole() -> None:
    assert FULL.with_cuts(FULL.cuts - 1).name != FULL_DEPTH
    assert FULL.with_cuts(FULL.cuts).name == FULL_DEPTH
    assert FULL.with_cuts(None) is FULL


@pytest.mark.parametrize("key", [key for key, _, _ in LINES])
def test_every_line_about_the_way_out_has_to_be_in_it(write_report: WriteReport, key: str) -> None:
    assert read_report(write_report(without=key)).faults() == (key,)


def test_a_report_from_before_the_code_was_told_speaks_for_no_node(
    write_report: WriteReport,
) -> None:
    from tests.gate.test_capability import NODE

    verdict = judge_report(write_report(turned={"code": ""}), {"node-1": lambda: NODE})

    assert not verdict.allows
    assert "code not reported" in verdict.reason.say(Language.en)
    assert "code 报告为 未写明" in verdict.reason.say(Language.zh)


@pytest.mark.parametrize(
    "changed",
    [
        {"egress": {"allow": [{"name": "other.example"}]}},
        {"egress": {"allow": [{"name": "mirror.example", "ports": [80]}]}},
        {"egress": EGRESS | {"upload_bytes": 8 * 1024 * 1024}},
        {"egress": EGRESS | {"forbidden_networks": ["8.8.8.0/24"]}},
        {"egress": EGRESS | {"test_only_addresses": ["127.0.0.1"]}},
        {"egress": None},
        {"environment": ["PATH", "AWS_*"]},
        {"set_id_bits": "strip"},
        {"ceilings": {"pids": 4096}},
    ],
)
def test_another_way_out_or_another_environment_is_another_configuration(
    program: Path, changed: dict[str, object]
) -> None:
    given: dict[str, object] = {"init": program, "egress": EGRESS}

    one = configuration_digest(Config.model_validate(given))
    other = configuration_digest(Config.model_validate(given | changed))

    assert one != other
    assert one == configuration_digest(Config.model_validate(given))


def test_a_changed_added_or_renamed_file_is_other_code(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/a.py").write_text("pass")
    (tmp_path / "native.so").write_bytes(b"1")
    digests = [code_digest(tmp_path)]
    (tmp_path / "inner/a.py").write_text("pass # changed")
    digests.append(code_digest(tmp_path))
    (tmp_path / "inner/a.py").rename(tmp_path / "inner/b.py")
    digests.append(code_digest(tmp_path))
    (tmp_path / "native.so").write_bytes(b"2")
    digests.append(code_digest(tmp_path))
    (tmp_path / "notes.txt").write_text("no code")

    assert len(set(digests)) == 4
    assert code_digest(tmp_path) == digests[-1]
