"""The native runtime says in the contract's words what the model's client returned."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from perlica.clients.model.contract import Finish as ModelFinish
from perlica.clients.model.contract import ModelCall, ModelTurn, ProbeFinding
from perlica.conversation import Conversation, ToolSpec, UserMessage
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled
from perlica.domain.ids import TaskId
from perlica.runtimes.contract import Finish, OpenTask, RawCall
from perlica.runtimes.native.runtime import NativeRuntime, read_turn
from tests.session.words import RUN, TOOLS, sealed

ASKED = (UserMessage(content=sealed("hi")),)
TASK = OpenTask(id=TaskId("T-1"))


def model_turn(finish: ModelFinish = ModelFinish.stop) -> ModelTurn:
    return ModelTurn(
        text="看看",
        calls=(
            ModelCall(provider_id="a", name=RUN.name, arguments_json="{"),
            ModelCall(provider_id="", name="?", arguments_json="", is_oversized=True),
        ),
        finish=finish,
        input_tokens=11,
        output_tokens=5,
        reasoning="先看",
        opaque=b"[1]",
        usage_is_estimate=True,
    )


@dataclass
class Client:
    """A client that has its turn already."""

    asked: list[tuple[Conversation, Sequence[ToolSpec]]] = field(default_factory=list)

    def complete(
        self, conversation: Conversation, tools: Sequence[ToolSpec], cancel: CancelToken
    ) -> ModelTurn:
        self.asked.append((conversation, tools))
        return model_turn()

    def probe(self, cancel: CancelToken) -> tuple[ProbeFinding, ...]:
        return ()

    def close(self) -> None:
        raise AssertionError("the client's connections serve the next task too")


def test_one_turn_is_one_request_with_the_whole_conversation() -> None:
    client = Client()
    session = NativeRuntime(client).open(TASK, CancelToken())

    turn = session.turn(ASKED, TOOLS, CancelToken())
    session.close()

    assert client.asked == [(ASKED, TOOLS)]
    assert turn == read_turn(model_turn())


def test_nothing_of_a_models_turn_is_lost_or_mended_on_the_way() -> None:
    turn = read_turn(model_turn())

    assert turn.calls == (
        RawCall(wire_id="a", tool=RUN.name, arguments_json="{"),
        RawCall(wire_id="", tool="?", arguments_json="", is_oversized=True),
    )
    assert (turn.text, turn.reasoning, turn.opaque) == ("看看", "先看", b"[1]")
    assert (turn.input_tokens, turn.output_tokens, turn.usage_is_estimate) == (11, 5, True)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (ModelFinish.stop, Finish.complete),
        (ModelFinish.calls, Finish.complete),
        (ModelFinish.length, Finish.cut_off),
        (ModelFinish.filtered, Finish.filtered),
    ],
)
def test_half_a_turn_stays_half_a_turn(said: ModelFinish, meant: Finish) -> None:
    assert read_turn(model_turn(said)).finish is meant


def test_no_session_is_opened_for_work_that_was_cancelled() -> None:
    cancel = CancelToken()
    cancel.set()

    with pytest.raises(Cancelled):
        NativeRuntime(Client()).open(TASK, cancel)
