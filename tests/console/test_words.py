"""Every word that a page says exists in both languages, and none is left over."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

import perlica.console
from perlica.console.parts import Health
from perlica.console.words import WORDS
from perlica.console.words.records import KEYS, VALUES
from perlica.domain.approval import TicketState, Verdict
from perlica.domain.operation import OperationState
from perlica.domain.outbox import OutboxKind, OutboxState
from perlica.domain.plan import Level
from perlica.domain.sandbox import SandboxState
from perlica.domain.texts import Language
from perlica.domain.texts.audit import EVENTS
from perlica.session.window import CutBy, QuotedFate
from perlica.stores.image_switches import SwitchState

FOLDER = Path(perlica.console.__file__).parent
ROOT = Path(__file__).parents[2]
SAID = re.compile(r"""(?:say|known|Fact\(label=say)\(\s*["']([a-z_.]+)["']""")
QUOTED = re.compile(r"""["']([a-z_]+(?:\.[a-z_]+)+|[a-z_]+)["']""")
FILLED = re.compile(r"""f["']([a-z_]+\.[a-z_.{}]+)["']""")
PLACES = ("perlica", "actors")
KIND = re.compile(r'''(?:add_event|_audit|\.audit)\(\s*(?:database, )?"([a-z_.]+)"''')
FAMILIES: Mapping[str, Iterable[str]] = {
    "state.ticket": TicketState,
    "state.operation": OperationState,
    "state.sandbox": SandboxState,
    "state.send": OutboxState,
    "state.switch": SwitchState,
    "kind": OutboxKind,
    "level": Level,
    "part": Health,
    "window.cut": CutBy,
    "window.quoted": [fate for fate in QuotedFate if fate is not QuotedFate.none],
}


def sources() -> str:
    files = chain(FOLDER.rglob("*.py"), FOLDER.rglob("*.html"))
    return "\n".join(p.read_text("utf-8") for p in files if p.parent.name != "words")


def _pattern(begun: str) -> str:
    """A name with something filled in, as a pattern of names."""
    return re.sub(r"\\\{.*?\\\}", "[a-z_]+", re.escape(begun))


def test_every_word_that_is_said_exists() -> None:
    assert {word for word in SAID.findall(sources()) if not word.endswith(".")} - set(
        WORDS
    ) == set()


def test_every_state_has_its_word() -> None:
    wanted = {f"{family}.{word}" for family, words in FAMILIES.items() for word in words}

    assert wanted - set(WORDS) == set()


def test_every_kind_of_audit_event_and_every_verdict_has_its_words() -> None:
    files = chain.from_iterable((ROOT / place).rglob("*.py") for place in PLACES)
    written = {kind for path in files for kind in KIND.findall(path.read_text("utf-8"))}

    assert {"ticket.decision", "sandbox.lost", "console.token_added"} <= written
    assert written - set(EVENTS) == set()
    assert {f"image.{state}" for state in SwitchState} <= set(EVENTS)
    assert set(VALUES["verdict"]) == {verdict.value for verdict in Verdict}


def test_no_word_is_left_over() -> None:
    text = sources()
    quoted = set(QUOTED.findall(text))
    filled = {re.compile(_pattern(begun)) for begun in FILLED.findall(text)}
    left = {
        word
        for word in WORDS
        if word not in quoted and not any(pattern.fullmatch(word) for pattern in filled)
    }

    families = (*FAMILIES, "state.call", "theme")
    assert {word for word in left if word.rpartition(".")[0] not in families} == set()


def test_both_languages_want_the_same_fields_and_english_is_ascii() -> None:
    words = {**WORDS, **EVENTS, **KEYS}
    for values in VALUES.values():
        words |= values
    for name, word in words.items():
        assert word.fields(Language.zh) == word.fields(Language.en), name
        assert word.en.isascii() or name == "other_language", name
