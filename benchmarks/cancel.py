"""How soon `.status` answers and `.cancel` takes effect while something hangs.

A service in a process of its own, with a model that never answers, or a command that sleeps in a
sandbox; the floor of each is an idle service's answer to `.status`.
"""

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from perlica.app.demo.layout import DemoPaths
from perlica.app.demo.stage import Stage, why_no_sandboxes
from perlica.app.layout import database_path
from perlica.demo.model import Call, Reply, ScriptedModel, Silent
from perlica.stores.database import Database

TARGET_MS = 2_000
ROUNDS = 5
FLOOD_MESSAGES = 8_000
_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.005
_OWNER = 30001
_RUNNING = """SELECT count(*) AS found FROM operations
WHERE action = 'sandbox.exec' AND state = 'started'"""
_CREATE = Call(tool="sandbox_manage", arguments={"action": "create", "name": "bench"})
_SLEEP = Call(tool="sandbox_exec", arguments={"sandbox": "bench", "argv": ["sleep", "600"]})


def rows() -> list[dict[str, object]]:
    """The answers to `.status`, the end of a model's request, the end of a command."""
    with _stage(with_sandboxes=False) as (stage, model):
        idle_ms = statistics.median(_status_ms(stage) for _ in range(ROUNDS))
        busy_ms, cancel_ms = zip(*_hanging_models(stage, model), strict=True)
        flood_ms = max(_in_a_flood(stage))
    return [
        _row("status_in_a_flood_worst_ms", flood_ms, idle_ms),
        _row("status_while_hanging_ms", statistics.median(busy_ms), idle_ms),
        _row("cancel_hanging_model_ms", statistics.median(cancel_ms), idle_ms),
        _command_row(idle_ms),
    ]


def _row(name: str, value_ms: float, floor_ms: float) -> dict[str, object]:
    return {
        "name": name,
        "value": round(value_ms, 1),
        "unit": "ms",
        "peer_or_floor": round(floor_ms, 1),
        "ratio": round(value_ms / floor_ms, 1),
        "target": TARGET_MS,
        "met": value_ms < TARGET_MS,
    }


def _command_row(idle_ms: float) -> dict[str, object]:
    name = "cancel_running_command_ms"
    obstacle = why_no_sandboxes()
    if obstacle is not None:
        return {"name": name, "unit": "ms", "why": obstacle}
    try:
        with _stage(with_sandboxes=True) as (stage, model):
            return _row(name, statistics.median(_running_commands(stage, model)), idle_ms)
    except TimeoutError as error:
        return {"name": name, "unit": "ms", "why": str(error)}


def _status_ms(stage: Stage) -> float:
    began = time.perf_counter()
    asked = stage.napcat.say(_OWNER, ".status")
    stage.napcat.wait_for_reply(within_s=_WITHIN_S, after=asked)
    return _since_ms(began)


def _hanging_models(stage: Stage, model: ScriptedModel) -> Iterator[tuple[float, float]]:
    """For each round: the answer to `.status`, and the end of the model's request."""
    for number in range(1, ROUNDS + 1):
        model.add(Silent())
        stage.napcat.say(_OWNER, "想一想", mention=True)
        model.wait_for_request(number, _WITHIN_S)
        status_ms = _status_ms(stage)
        began = time.perf_counter()
        said = stage.napcat.say(_OWNER, ".cancel")
        model.wait_for_disconnect(_WITHIN_S, number=number)
        yield status_ms, _since_ms(began)
        stage.napcat.wait_for_reply(_is_end, _WITHIN_S, after=said)


def _in_a_flood(stage: Stage) -> Iterator[float]:
    """Each answer to `.status` while the group writes as fast as its server can."""
    flood = threading.Thread(target=_write, args=(stage,), name="bench-flood")
    flood.start()
    while flood.is_alive():
        yield _status_ms(stage)
    flood.join()
    yield _status_ms(stage)


def _write(stage: Stage) -> None:
    for number in range(FLOOD_MESSAGES):
        stage.napcat.say(_OWNER, f"第 {number} 条：部署完成，节点 node-{number} 的日志见群文件")


def _running_commands(stage: Stage, model: ScriptedModel) -> Iterator[float]:
    """For each round: from `.cancel` to the row that says that the command has ended."""
    for number in range(ROUNDS):
        model.add(Reply(calls=(_SLEEP,) if number else (_CREATE, _SLEEP)))
        stage.napcat.say(_OWNER, "跑", mention=True)
        with Database.open(database_path(stage.paths.state), read_only=True) as database:
            _wait_until(lambda: _runs(database))
            began = time.perf_counter()
            said = stage.napcat.say(_OWNER, ".cancel")
            _wait_until(lambda: not _runs(database))
            yield _since_ms(began)
        stage.napcat.wait_for_reply(_is_end, _WITHIN_S, after=said)


def _runs(database: Database) -> bool:
    row = database.query_one(_RUNNING)
    return row is not None and bool(row["found"])


def _is_end(message: object) -> bool:
    return "任务 T-" in str(getattr(message, "text", ""))


def _since_ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"a command did not begin, or not end, within {_WITHIN_S:.0f} s")
        time.sleep(_LOOK_EVERY_S)


@contextmanager
def _stage(*, with_sandboxes: bool) -> Iterator[tuple[Stage, ScriptedModel]]:
    """A running service with a scripted model."""
    with (
        tempfile.TemporaryDirectory(prefix="perlica-bench-") as directory,
        ScriptedModel() as model,
    ):
        stage = Stage(
            paths=DemoPaths(root=Path(directory)),
            with_sandboxes=with_sandboxes,
            model_url=model.base_url,
            model_name="scripted-1",
        )
        try:
            stage.start()
            yield stage, model
        finally:
            stage.stop()
