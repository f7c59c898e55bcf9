"""What the configuration's errors and its example say, so that nobody has to guess."""

import pytest

from perlica.app.config import parse_config
from perlica.app.config.example import write_example
from perlica.app.config.sections.sandbox import SandboxImageSection, SandboxSection
from perlica.domain.texts import Language
from perlica.sandboxes.expiry import DUE_FOR_S
from tests.app.configs import MINIMAL
from tests.app.test_config import changed, problem_of, problems_of


def test_everything_that_a_capability_lacks_is_told_in_one_run() -> None:
    (capability,) = parse_config(MINIMAL + "[sandbox]\nnetwork = 'none'\n").capabilities()

    keys = ("socket", "node", *(f"image.{key}" for key in SandboxImageSection.model_fields))
    assert ", ".join(f"sandbox.{key}" for key in keys) in capability.reason.say(Language.zh)


def test_the_wait_before_a_deletion_is_what_the_keeper_of_sandboxes_means_by_it() -> None:
    """The configuration does not import the keeper: `perlica -h` would load the database."""
    assert SandboxSection.model_fields["expire_after_due_s"].default == DUE_FOR_S


def test_the_example_marks_what_has_no_default_in_a_section_that_is_commented_out() -> None:
    lines = write_example().splitlines()

    for line in ('#node = "node-1"', "#revision = 1"):
        assert "【必填】" in lines[lines.index(line) - 1]
    assert "【必填】" not in lines[lines.index('#network = "none"') - 1]


def test_without_an_owner_it_says_how_many_are_needed() -> None:
    problem = problem_of(changed("members", "owners", "[]"))

    assert problem.code == "wrong_size"
    assert problem.wrong.say(Language.zh) == "有 0 项，至少要有 1 项"
    assert "at least 1" in problem.wrong.say(Language.en)


def test_a_wrong_choice_is_shown_beside_the_right_ones() -> None:
    problem = problem_of(changed("model", "api", '"opennai"'))

    assert problem.wrong.say(Language.zh) == "现在是“opennai”，应当是 openai、anthropic 之一"
    assert '"opennai"' in problem.wrong.say(Language.en)


def test_true_and_false_stand_apart_from_the_words_around_them() -> None:
    problem = problem_of(changed("service", "demo", '"yes"'))

    assert problem.wrong.say(Language.zh) == "现在是文字，应当是 true 或 false"


@pytest.mark.parametrize(
    ("section", "example"),
    [("napcat", "127.0.0.1:6700"), ("console", "127.0.0.1:8450"), ("health", "127.0.0.1:9464")],
)
def test_a_wrong_listening_address_is_answered_with_that_sections_own(
    section: str, example: str
) -> None:
    found = problems_of(changed(section, "listen", '"localhost"'))
    (problem,) = (each for each in found if each.code == "listen_bad")

    assert f'{section}.listen = "{example}"' in problem.remedy.say(Language.zh)
