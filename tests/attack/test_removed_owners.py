"""An approval of somebody who is no Owner any more pays for nothing, though he gave it in time."""

from pathlib import Path

import pytest

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.stores.database import Database
from tests.attack.test_approvals import DELETIONS
from tests.behaviour.asking import APPROVE, ask_for_delete, create
from tests.behaviour.live import OTHER_OWNER, OWNER, LivePerlica, is_final, live_config


def _restart_without_other_owner(
    directory: Path, live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    """The service dies between OTHER_OWNER's approval and its use, and he is an Owner no more."""
    live.stop()
    with Database.open(live.path) as database, database.transaction():
        database.change(
            "UPDATE approvals SET state = 'approved', decided_by = :owner,"
            " decided_at_ms = created_at_ms WHERE state = 'pending'",
            {"owner": OTHER_OWNER},
        )
    narrowed = live_config(directory, napcat, model.base_url)
    members = narrowed.members.model_copy(update={"owners": (OWNER,), "members": (OTHER_OWNER,)})
    live.config = narrowed.model_copy(update={"members": members})
    live.start()
    napcat.wait_for_connection()


@pytest.mark.evidence(9)
def test_an_approval_is_worthless_once_its_owner_was_removed_before_it_was_spent(
    tmp_path: Path, live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, _ = ask_for_delete(napcat, model)
    model.add(Reply(text="没有删"))

    _restart_without_other_owner(tmp_path, live, model, napcat)

    void = napcat.wait_for_reply(lambda m: "已作废" in m.text, after=question)
    napcat.wait_for_reply(is_final, after=question)
    assert ticket in void.text
    assert live.count(DELETIONS) == 0


@pytest.mark.evidence(9)
def test_an_owners_order_is_not_carried_out_once_who_approved_it_was_removed(
    tmp_path: Path, live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(Reply(calls=(create(),)), Reply(text="建好了"))
    asked = napcat.say(OWNER, "建一个", mention=True)
    napcat.wait_for_reply(is_final, after=asked)
    order = napcat.say(OWNER, ".sbx delete main")
    question = napcat.wait_for_reply(lambda m: bool(APPROVE.search(m.text)), after=order)

    _restart_without_other_owner(tmp_path, live, model, napcat)

    napcat.wait_for_reply(lambda m: "已作废" in m.text, after=question)
    assert live.count(DELETIONS) == 0
