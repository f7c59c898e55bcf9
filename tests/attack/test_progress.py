"""A long task says that it still works, a few times, and no more."""

from perlica.demo.model import Held, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.clock import now_ms
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, PATIENCE_S, is_final, wait_until

FOUR_LINES_LATER_MS = 5_000
QUICK = "[task]\nprogress_after_s = 1.0\nprogress_every_s = 1.0\nmax_progress_lines = 2\n"


def test_a_long_task_reports_at_most_the_configured_number_of_lines(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    live = make_live(model.base_url, QUICK)
    held = Held(reply=Reply(text="终于好了"))
    model.add(held)

    asked = napcat.say(MEMBER, "慢慢做", mention=True)
    first = napcat.wait_for_reply(lambda m: "仍在进行" in m.text, PATIENCE_S, after=asked)
    second = napcat.wait_for_reply(lambda m: "仍在进行" in m.text, PATIENCE_S, after=first)
    began_ms = live.count("SELECT created_at_ms FROM tasks")
    wait_until(lambda: now_ms() - began_ms > FOUR_LINES_LATER_MS, what="time does not pass")
    held.released.set()
    napcat.wait_for_reply(lambda m: is_final(m) and "终于好了" in m.text, PATIENCE_S, after=second)

    lines = [message for message in napcat.sent if "仍在进行" in message.text]
    assert len(lines) == 2
