"""An operator's own protection rules: checked whole, in force at once, never leaking an example."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from perlica.app.cli import main
from perlica.app.protection_rules import put_in_force
from perlica.domain.errors import Misconfigured
from perlica.protection import Channel, protect

RULE = """
[[rule]]
kind = "acme_token"
pattern = 'acme-[0-9a-f]{8}'
matches = ["acme-0a1b2c3d"]
must_not_match = ["acme-notes"]
"""


@pytest.fixture(autouse=True)
def _no_rules_left() -> object:
    yield
    put_in_force(None)


def _file(directory: Path, text: str) -> Path:
    path = directory / "protection.toml"
    path.write_text(text)
    return path


def test_a_rule_of_the_operator_redacts_from_then_on(tmp_path: Path) -> None:
    before = protect("see acme-0a1b2c3d", Channel.MESSAGE).content

    put_in_force(_file(tmp_path, RULE))
    after = protect("see acme-0a1b2c3d", Channel.MESSAGE)

    assert before == "see acme-0a1b2c3d"
    assert "0a1b2c3d" not in after.content
    assert after.findings[0].kind == "acme_token"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (RULE.replace("acme-0a1b2c3d", "other"), "protection_rule_matches"),
        (RULE.replace("{8}", "*(?=x)"), "protection_rule_pattern"),
        (RULE.replace("acme-[0-9a-f]{8}", ".*"), "protection_rule_empty"),
        (RULE + "colour = 1\n", "protection_rules_wrong"),
        ("[[rule]\n", "protection_rules_unreadable"),
    ],
)
def test_a_rule_that_is_not_sound_stops_the_start_and_shows_no_example(
    tmp_path: Path, text: str, code: str
) -> None:
    with pytest.raises(Misconfigured) as wrong:
        put_in_force(_file(tmp_path, text))

    assert wrong.value.code == code
    assert "0a1b2c3d" not in str(wrong.value)


def test_protect_tries_a_rules_file_and_names_line_and_rule_but_not_the_secret(
    tmp_path: Path,
) -> None:
    path = _file(tmp_path, RULE)

    done = CliRunner().invoke(main, ["protect", "--rules", str(path)], input="one\nacme-0a1b2c3d\n")

    assert done.exit_code == 0
    assert "line 2: acme_token (operator.acme_token)" in done.stderr
    assert "0a1b2c3d" not in done.output
