"""The overview says of the model what really happened, never that it is in order by itself."""

import re
from pathlib import Path

import pytest

from perlica.console.parts import Health, PartStatus
from perlica.domain.task import EndReason
from perlica.domain.texts import Language, Text
from perlica.domain.texts.models import TROUBLES
from perlica.stores.database import Database
from perlica.stores.model_standing import SERVICE_TROUBLES
from tests.console.conftest import StartConsole
from tests.console.people import Person
from tests.stores.test_model_standing import answer, fail, shift

PART = PartStatus(
    name=Text(zh="模型", en="Model"),
    health=Health.unknown,
    text=Text(zh="m 位于 h", en="m at h"),
    is_model=True,
)


def badge(page: str) -> str:
    """What the model's badge says on this page (its HTML)."""
    line = page.partition("<b>模型</b>")[2].partition("</li>")[0]
    return re.sub(r"<[^>]*>", "", line).split()[0]


def overview(start: StartConsole) -> str:
    with Person(start(parts=lambda: (PART,), language=Language.zh)) as person:
        person.log_in()
        return person.get("/").text


def test_a_model_that_was_never_asked_is_not_said_to_be_in_order(start: StartConsole) -> None:
    shown = overview(start)

    assert "m 位于 h · 还没有应答过" in shown
    assert badge(shown) == "未知"


@pytest.mark.parametrize("reason", SERVICE_TROUBLES)
def test_every_trouble_of_the_model_is_on_the_overview_with_what_to_do(
    start: StartConsole, path: Path, reason: EndReason
) -> None:
    with Database.open(path) as db:
        fail(db, reason)

    shown = overview(start)

    assert TROUBLES[reason].what.zh in shown
    assert TROUBLES[reason].remedy.zh in shown
    assert badge(shown) == "故障"


def test_a_model_that_answered_since_is_in_order_again(start: StartConsole, path: Path) -> None:
    with Database.open(path) as db:
        fail(db, EndReason.model_key)
        shift(db, 1_000)
        answer(db)

    shown = overview(start)

    assert TROUBLES[EndReason.model_key].remedy.zh not in shown
    assert "m 位于 h" in shown
    assert "还没有应答过" not in shown
    assert badge(shown) == "正常"
