"""Installs happen by themselves and the group is told of them, in few messages."""

import pytest

from perlica.demo.model import Reply
from tests.behaviour.asking import create, delete
from tests.behaviour.live import MEMBER, is_final
from tests.sandboxes.conftest import MakeStage
from tests.sandboxes.stage import APPROVE, Stage, exec_

TOLD = "已按策略自动执行"


@pytest.fixture
def with_mirrors(make_stage: MakeStage) -> Stage:
    """A service whose sandboxes may reach the mirrors of their node."""
    return make_stage(sandbox='network = "egress"\n')


def installs(count: int) -> list[Reply]:
    """One install in each of several turns."""
    return [Reply(calls=(exec_("pip", "install", f"p{number}"),)) for number in range(count)]


def announcements(stage: Stage) -> list[str]:
    """What the group was told of Medium actions."""
    return [message.text for message in stage.napcat.sent if TOLD in message.text]


@pytest.mark.evidence(12)
def test_ten_installs_are_one_announcement_and_the_answer_lists_them_all(
    with_mirrors: Stage,
) -> None:
    stage = with_mirrors
    stage.model.add(Reply(calls=(create(),)), *installs(10))

    asked = stage.napcat.say(MEMBER, "装十个", mention=True)
    answer = stage.wait_for_reply(is_final, after=asked)

    assert len(announcements(stage)) == 1
    assert answer.text.count("安装依赖（main） pip install p") == 10


def test_an_install_is_announced_in_its_step_when_nothing_was_said_just_before(
    with_mirrors: Stage,
) -> None:
    stage = with_mirrors
    stage.do(create())
    stage.model.add(*installs(2))

    asked = stage.napcat.say(MEMBER, "装两个", mention=True)
    stage.wait_for_reply(is_final, after=asked)

    _, announced = announcements(stage)
    assert "安装依赖（main） pip install p0" in announced


def test_installs_that_wait_for_their_announcement_are_told_before_a_question(
    with_mirrors: Stage,
) -> None:
    stage = with_mirrors
    stage.model.add(Reply(calls=(create(),)), *installs(3), Reply(calls=(delete(),)))

    asked = stage.napcat.say(MEMBER, "装完再删", mention=True)
    stage.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=asked)

    first, second = announcements(stage)
    assert "创建沙箱" in first
    assert second.count("pip install p") == 3
