"""The session room's parts together, over real HTTP and real rows, with the model stand-ins."""

import json
from pathlib import Path

from perlica.clients.model.opening import open_client
from perlica.clients.model.settings import Dialect, ModelSettings
from perlica.conversation import ToolSpec
from perlica.demo.model import Call, RehearsalModel, Reply, ScriptedModel
from perlica.demo.model.server import ModelServer
from perlica.domain.cancel import CancelToken
from perlica.domain.task import EndReason
from perlica.runtimes.contract import AgentTurn
from perlica.runtimes.native.runtime import NativeRuntime
from perlica.runtimes.sessions import RuntimeSessions
from perlica.session.prompt import InitialContext, build_system, render_window
from perlica.session.transcript import new_system, new_window
from perlica.session.window import pick_window
from perlica.stores.database import Database
from tests.session.test_transcript import Session
from tests.session.words import CREDENTIAL, RUN, stored
from tests.stores.rows import begin_task

EXEC = ToolSpec(
    name=RUN.name,
    description=RUN.description,
    parameters={
        "type": "object",
        "properties": {
            "sandbox": {"type": "string"},
            "argv": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["sandbox", "argv"],
    },
)


def open_session(db: Database, request: str) -> Session:
    session = Session(db, begin_task(db).id)
    window = pick_window(stored(request), [stored(f"我的口令 {CREDENTIAL}", age_ms=1_000)], None)
    system = build_system(InitialContext(version="1"))
    session.append(new_system(system, version="1"))
    session.append(new_window(render_window(window)))
    return session


def think(session: Session, model: ModelServer, dialect: Dialect = Dialect.auto) -> AgentTurn:
    client = open_client(
        ModelSettings(base_url=model.base_url, model=model.models[0], dialect=dialect)
    )
    try:
        sessions = RuntimeSessions(NativeRuntime(client))
        return sessions.turn(session.task, session.conversation(), (EXEC,), CancelToken())
    finally:
        client.close()


def test_a_request_becomes_a_call_and_its_result_an_answer(path: Path) -> None:
    with RehearsalModel() as model, Database.open(path) as db:
        session = open_session(db, "运行 `uname -r`")

        asked = think(session, model)
        (call,) = asked.calls
        (call_id,) = session.take(asked)
        session.answer(call_id, "6.1.0-perlica")
        answered = think(session, model)

    assert "uname -r" in " ".join(json.loads(call.arguments_json)["argv"])
    assert call.fault is None
    assert answered.end is EndReason.answered
    assert "6.1.0-perlica" in answered.text
    assert not answered.usage_is_estimate


def test_a_server_that_demands_its_thinking_back_gets_it_after_a_restart(path: Path) -> None:
    script = [Reply(calls=(Call(tool=RUN.name),), reasoning="先看看"), Reply(text="好了")]
    with ScriptedModel(script, demands_reasoning=True) as model:
        with Database.open(path) as db:
            session = open_session(db, "运行")
            (call_id,) = session.take(think(session, model))
            session.answer(call_id, "ok")
            task = session.task

        with Database.open(path) as db:
            answered = think(Session(db, task), model)

    assert answered.text == "好了"


def test_deepseek_gets_thinking_back_even_where_there_was_none(path: Path) -> None:
    script = [Reply(calls=(Call(tool=RUN.name),)), Reply(text="好了")]
    with ScriptedModel(script, demands_reasoning=True) as model, Database.open(path) as db:
        session = open_session(db, "运行")
        (call_id,) = session.take(think(session, model, Dialect.deepseek))
        session.answer(call_id, "ok")

        assert think(session, model, Dialect.deepseek).end is EndReason.answered
