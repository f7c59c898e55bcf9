"""What goes wrong reaches the group in its language: every code has words, no sentence slips in."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.commands.audit_words import say_facts
from perlica.commands.sandbox_answers import answer_refused
from perlica.commands.sandbox_texts import REFUSALS
from perlica.domain.errors import Refused
from perlica.domain.texts import Language
from perlica.domain.texts.faults import FAULTS, say_fault
from perlica.domain.texts.sandboxes import say_command_ended, say_lost, say_orphans
from perlica.gateway.known_actions import CATALOG
from perlica.stores import faults

ROOT = Path(__file__).parents[2]
ERRORS = {"Refused", "Blocked", "Retryable", "OutcomeUnknown", "Misconfigured", "StaleState"}
AT_THE_START = {"backup.py", "migrations.py", "policy_file.py", "viewers.py", "database.py"}
"""Told to an operator on his terminal, in both languages or in the log; never to the group."""
NOT_A_CODE = {"code", "why"}
SENTENCE = "the node said: no space left on device"


def raised_codes() -> Iterator[str]:
    """The codes with which the rooms between the group and a node give up."""
    rooms = (
        "perlica/gateway",
        "perlica/sandboxes",
        "perlica/stores",
        "perlica/clients",
        "perlica/tasks",
        "perlica/runtimes",
        "actors",
    )
    files = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    for path in files:
        if path.name in AT_THE_START or path.parent.name in {"model", "napcat", "onebot"}:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(code)), *_]):
                    if name in ERRORS and code not in NOT_A_CODE:
                        yield code


CODES = sorted({*raised_codes(), *(code for _, code, _ in faults._RULES)})


def test_the_walk_finds_the_codes() -> None:
    assert {"sandbox_busy", "no_such_sandbox", "policy_changed", "plan_too_long"} <= set(CODES)


@pytest.mark.parametrize("code", [code for code in CODES if code != "tool_twice"])
def test_every_code_that_the_group_may_read_has_words_in_both_languages(code: str) -> None:
    said = {language: answer_refused(Refused(code, SENTENCE), language) for language in Language}

    assert code in {**FAULTS, **REFUSALS}
    assert said[Language.zh] != said[Language.en]
    assert code not in said[Language.zh]
    assert not any(SENTENCE in text for text in said.values())


@pytest.mark.parametrize("language", list(Language))
def test_a_sentence_that_was_meant_for_a_log_does_not_reach_the_group(language: Language) -> None:
    texts = (
        say_fault(SENTENCE, language),
        say_command_ended("main", "x", SENTENCE, language),
        say_lost("main", "node-1", SENTENCE, language),
        say_orphans([("main", SENTENCE)], language),
        say_facts({"reason": SENTENCE}, language, CATALOG),
        answer_refused(Refused("some_code", SENTENCE), language),
    )

    assert not any("space left" in text for text in texts)


def test_words_in_chinese_are_chinese() -> None:
    without = [code for code, text in FAULTS.items() if not re.search("[一-鿿]", text.zh)]

    assert without == []
