"""A stop ends within ten seconds whatever hangs, and the next process goes on."""

import time
from pathlib import Path

import pytest

from perlica.demo.model import Reply, ScriptedModel, Silent
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.live import MEMBER, PATIENCE_S, config_text, is_final, wait_until
from tests.recovery.process import service_process

STOPS_WITHIN_S = 10.0


@pytest.mark.evidence(14)
def test_sigterm_with_a_hanging_model_ends_within_ten_seconds_and_the_task_goes_on(
    tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel
) -> None:
    model.add(Silent(), Reply(text="接着做完了"))
    with service_process(tmp_path, config_text(tmp_path, napcat, model.base_url)) as service:
        service.start()
        napcat.wait_for_connection()
        asked = napcat.say(MEMBER, "慢慢想", mention=True)
        model.wait_for_request()

        began = time.monotonic()
        code = service.terminate()
        took_s = time.monotonic() - began
        service.start()
        answer = napcat.wait_for_reply(is_final, PATIENCE_S, after=asked)

        assert code == 0
        assert took_s < STOPS_WITHIN_S
        assert "接着做完了" in answer.text
        assert service.count("SELECT count(*) FROM tasks") == 1


@pytest.mark.evidence(13)
def test_a_second_instance_over_the_same_state_does_not_start(
    tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel
) -> None:
    text = config_text(tmp_path, napcat, model.base_url)
    with service_process(tmp_path, text) as first:
        first.start()
        napcat.wait_for_connection()
        with service_process(tmp_path, text) as second:
            second.start()

            code = second.wait(STOPS_WITHIN_S)

        assert code != 0
        wait_until(lambda: len(napcat.connections) == 1)


def test_a_group_that_reads_english_gets_english(
    tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel
) -> None:
    model.add(Reply(text="done"))
    text = config_text(tmp_path, napcat, model.base_url)
    english = text.replace("demo = true", 'demo = true\nlanguage = "en"')
    with service_process(tmp_path, english) as service:
        service.start()
        napcat.wait_for_connection()
        asked = napcat.say(MEMBER, "do it", mention=True)

        answer = napcat.wait_for_reply(after=asked)
        status = napcat.say(MEMBER, ".status")
        shown = napcat.wait_for_reply(after=status)

    for reply in (answer, shown):
        own_words = reply.text.split("·")[0]
        assert not any("\u4e00" <= character <= "\u9fff" for character in own_words.split("@")[-1])
