"""A mark is not evidence by itself: the test says what it shows and asserts it; so for actions."""

from pathlib import Path

import pytest

from tests.evidence.actions import find_action_faults
from tests.evidence.pending import PendingFileWrong, read_pending_actions
from tests.frame.checkout import ROOT
from tests.frame.test_the_evidence_map import PASSING, Suite

POLICY = 'version = "1"\n[low]\n"sandbox.exec" = ["sandbox"]\n[block]\n"host.access" = ["node"]\n'


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def write_code(root: Path, *, policy: str, code: str) -> None:
    """A small tree with a policy and one module that makes plans."""
    room = root / "perlica" / "gateway"
    room.mkdir(parents=True)
    (room / "policy.toml").write_text(policy, encoding="utf-8")
    (room / "tools.py").write_text(code, encoding="utf-8")


def test_a_mark_without_an_assertion_fails_the_run(suite: Suite) -> None:
    suite.write_test(1, "def test_it_holds_what_it_says():\n    print(1)\n")

    run = suite.run()

    assert run.returncode == 4
    assert "asserts nothing" in run.stderr


@pytest.mark.parametrize(
    "body",
    [
        "def look():\n    assert True\ndef test_it_holds_what_it_says():\n    look()\n",
        "def test_it_holds_what_it_says():\n    with pytest.raises(KeyError):\n        {}[1]\n",
        "@pytest.mark.parametrize('x', [1])\ndef test_it_holds_what_it_says(x):\n    assert x\n",
    ],
)
def test_an_assertion_may_stand_in_a_function_that_the_test_calls(suite: Suite, body: str) -> None:
    suite.write_pending(range(2, 21))
    first, _, rest = body.partition("def test_it")
    text = f"import pytest\n{first}@pytest.mark.evidence(1)\ndef test_it{rest}"
    (suite.folder / "tests" / "test_item_1.py").write_text(text, encoding="utf-8")

    assert suite.run().returncode == 0
    assert suite.entry(1)["status"] == "shown"


def test_a_test_that_does_not_say_what_it_shows_fails_the_run(suite: Suite) -> None:
    suite.write_test(1, "def test_it():\n    assert True\n")

    run = suite.run()

    assert run.returncode == 4
    assert "says in a sentence what it shows" in run.stderr


def test_a_mark_on_a_whole_file_fails_the_run(suite: Suite) -> None:
    text = f"import pytest\npytestmark = pytest.mark.evidence(1)\n{PASSING}"
    (suite.folder / "tests" / "test_file.py").write_text(text, encoding="utf-8")

    run = suite.run()

    assert run.returncode == 4
    assert "each test bears its own evidence mark" in run.stderr


def test_the_map_says_what_each_test_shows(suite: Suite) -> None:
    documented = PASSING.replace(":\n", ':\n    """The moon is round."""\n', 1)
    suite.write_test(1, PASSING)
    suite.write_test(2, documented)

    assert suite.run().returncode == 0
    assert suite.entry(1)["tests"][0]["shows"] == "it holds what it says"
    assert suite.entry(2)["tests"][0]["shows"] == "The moon is round."


def test_a_listed_action_that_nothing_plans_fails_a_whole_run(suite: Suite) -> None:
    write_code(suite.folder, policy=POLICY, code="x = 1\n")
    suite.write_test(1, PASSING)

    run = suite.run()

    assert run.returncode == 1
    assert "sandbox.exec: listed by the policy, planned by nothing" in run.stdout


@pytest.mark.parametrize(
    ("code", "pending", "fault"),
    [
        ("x = 1", [], "sandbox.exec: listed by the policy, planned by nothing"),
        ('"""sandbox.exec in words"""', [], "sandbox.exec: listed by the policy"),
        ('x = "sandbox.exec"', ["sandbox.exec"], "said not to exist yet, but code plans it"),
        ('x = "sandbox.exec"', ["other.one"], "other.one: said not to exist yet, but the policy"),
        ('x = ("sandbox.exec", "host.access")', [], "host.access: blocked by the policy"),
    ],
)
def test_policy_code_and_what_is_said_to_be_missing_must_agree(
    tmp_path: Path, code: str, pending: list[str], fault: str
) -> None:
    write_code(tmp_path, policy=POLICY, code=code)

    (found,) = find_action_faults(tmp_path, pending)

    assert fault in found


@pytest.mark.parametrize(("code", "pending"), [('x = "sandbox.exec"', []), ("", ["sandbox.exec"])])
def test_what_is_planned_or_said_to_be_missing_is_no_fault(
    tmp_path: Path, code: str, pending: list[str]
) -> None:
    write_code(tmp_path, policy=POLICY, code=code)

    assert find_action_faults(tmp_path, pending) == ()


def test_every_action_of_the_policy_is_planned_or_said_not_to_exist_yet() -> None:
    pending = read_pending_actions(ROOT / "tests" / "evidence-pending.toml")

    assert find_action_faults(ROOT, pending) == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[action]]\nname = "x"\n', "needs name and capability"),
        ('[[action]]\nname = "x"\ncapability = "run"\n', "no capability 'run'"),
        ('[[action]]\nname = "x"\ncapability = "web"\n' * 2, "stands there twice"),
    ],
)
def test_a_careless_list_of_missing_actions_is_refused(
    tmp_path: Path, text: str, complaint: str
) -> None:
    path = tmp_path / "evidence-pending.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(PendingFileWrong, match=complaint):
        read_pending_actions(path)
