"""The console over a database as large as it gets, inside a service whose task is running.

How long a page takes, and what fifty open pages cost the task: the console runs in the service's
process, the viewers and the model in others. The floor of a page is a file from memory by the same
server; a step beside open pages is held against a step without them, taken in turns.
"""

import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import requests

from benchmarks._console_rows import fill
from perlica.app.layout import database_path
from perlica.demo.model import Call, NothingHappened, Reply, ScriptedModel
from perlica.demo.napcat import Message, NapCatStandIn, NothingCame
from perlica.stores.database import Database
from perlica.stores.viewers import ViewerStore, digest_token

PAGE_TARGET_MS: Final = 150
STEP_TARGET_RATIO: Final = 1.1
ROUNDS: Final = 8
STEPS: Final = 25
LOOKS_AT_EACH_PAGE: Final = 8
VIEWER_TOKENS: Final = 5
OWNER: Final = 30_001
_ANSWER: Final = "【Perlica 回答"
_TRIES: Final = 10
_START_WITHIN_S: Final = 30.0
_DAY_MS: Final = 86_400_000
_PAGES: Final = (
    "/",
    "/active",
    "/tasks",
    "/tasks?state=failed",
    "/tasks/T-005000",
    "/calls/c_00020000",
    "/operations/op-00020000",
    "/tickets",
    "/sandboxes",
    "/image",
    "/outbox",
    "/outbox?state=failed",
    "/recovery",
    "/audit",
    "/audit?kind=intake.gap",
    "/audit?level=high",
    "/audit?about=T-005000",
    "/audit?text=%22number%22%3A77777",
    "/audit?kind=kind.3&text=nowhere",
    "/usage",
    "/usage?days=30",
)


def rows() -> list[dict[str, object]]:
    """95 of 100 pages take no longer than this; a step beside fifty viewers over one alone."""
    temporary = tempfile.TemporaryDirectory(prefix="perlica-bench-")
    with temporary as directory, _Stage(Path(directory)) as stage:
        alone, beside = _measure_steps(stage)
        pages, floor = _measure_pages(stage)
    ratio = statistics.median(beside) / statistics.median(alone)
    p95, floor_p95 = _p95(pages), _p95(floor)
    return [
        {
            "name": "console_page_p95_ms",
            "value": round(p95, 1),
            "unit": "ms",
            "peer_or_floor": round(floor_p95, 1),
            "ratio": round(p95 / floor_p95, 1),
            "target": PAGE_TARGET_MS,
            "met": p95 < PAGE_TARGET_MS,
        },
        {
            "name": "console_step_beside_viewers_ms",
            "value": round(statistics.median(beside), 2),
            "unit": "ms",
            "peer_or_floor": round(statistics.median(alone), 2),
            "ratio": round(ratio, 3),
            "target": f"{STEP_TARGET_RATIO} of a step alone",
            "met": ratio <= STEP_TARGET_RATIO,
        },
    ]


class _Stage(ExitStack):
    """The service with its console over the large database, QQ and a model that asks for steps."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self.url = f"http://{self.address}"
        self.tokens = tuple(secrets.token_urlsafe(32) for _ in range(VIEWER_TOKENS))
        self.napcat = self.enter_context(NapCatStandIn())
        self.model = self.enter_context(ScriptedModel(afterwards=Reply(text="好")))
        self._requests = 0
        config = _write_config(directory, self.napcat, self.model, port)
        database = database_path(directory / "state")
        fill(database, group_id=self.napcat.group_id, self_id=self.napcat.self_id)
        _add_viewers(database, self.tokens)
        self.log = directory / "log"
        self.enter_context(_program(self.log, "perlica.app.cli", "run", "--config", str(config)))
        try:
            self.napcat.wait_for_connection(within_s=_START_WITHIN_S)
        except NothingCame as nothing:
            said = self.log.read_text().splitlines()[-1:]
            raise RuntimeError(f"the service did not come up: {said}") from nothing

    def run_task(self) -> Iterator[float]:
        """One task of `STEPS` turns with a call each; milliseconds between two turns."""
        first = self._requests
        for step in range(STEPS):
            arguments = {"minutes": 60 + first + step, "limit": 20}
            self.model.add(Reply(calls=(Call(tool="group_recent_context", arguments=arguments),)))
        asked = self._ask(first + 1)
        began_s = None
        for number in range(first + 1, first + STEPS + 2):
            self.model.wait_for_request(number)
            now_s = time.perf_counter()
            if began_s is not None:
                yield (now_s - began_s) * 1000
            began_s = now_s
        self._requests = first + STEPS + 1
        self.napcat.wait_for_reply(lambda message: _ANSWER in message.text, after=asked)

    def _ask(self, request: int) -> Message:
        """Ask until the model is asked: the last task may be ending still."""
        for _ in range(_TRIES):
            asked = self.napcat.say(OWNER, "看看最近的消息", mention=True)
            with suppress(NothingHappened):
                self.model.wait_for_request(request, within_s=1.0)
                return asked
        raise RuntimeError("the service takes no task")


def _measure_steps(stage: _Stage) -> tuple[list[float], list[float]]:
    """Steps alone and steps beside fifty open pages, in turns."""
    alone: list[float] = []
    beside: list[float] = []
    list(stage.run_task())
    words = ("benchmarks._console_viewers", stage.address, "/active", *stage.tokens)
    with _program(stage.log, *words) as viewers:
        if viewers.stdout is None or viewers.stdin is None:
            raise RuntimeError("no way to speak to the viewers")
        if viewers.stdout.readline().strip() != "ready":
            raise RuntimeError("the viewers could not log in")
        for number in range(2 * ROUNDS):
            viewers.stdin.write("on\n" if number % 2 else "off\n")
            viewers.stdin.flush()
            (beside if number % 2 else alone).extend(stage.run_task())
        looks = viewers.communicate(timeout=_START_WITHIN_S)[0].split()
    if viewers.returncode != 0 or int(looks[0]) < ROUNDS:
        raise RuntimeError("the viewers did not look")
    return alone, beside


def _measure_pages(stage: _Stage) -> tuple[list[float], list[float]]:
    """Every page several times, never from a snapshot, and as often a file, beside a task."""
    is_over = threading.Event()

    def keep_running() -> None:
        while not is_over.is_set():
            list(stage.run_task())

    runner = threading.Thread(target=keep_running)
    runner.start()
    try:
        with requests.Session() as session:
            session.trust_env = False
            session.post(f"{stage.url}/login", data={"token": stage.tokens[0]}, timeout=30)
            pages, floor = [], []
            for number in range(LOOKS_AT_EACH_PAGE):
                for page in _PAGES:
                    address = f"{page}{'&' if '?' in page else '?'}look={number}"
                    pages.append(_time_ms(session, stage.url + address))
                    floor.append(_time_ms(session, f"{stage.url}/static/console.css"))
    finally:
        is_over.set()
        runner.join()
    return pages, floor


def _time_ms(session: requests.Session, url: str) -> float:
    began_s = time.perf_counter()
    answer = session.get(url, allow_redirects=False, timeout=30)
    took_ms = (time.perf_counter() - began_s) * 1000
    if answer.status_code != requests.codes.ok:
        raise RuntimeError(f"{url}: {answer.status_code}")
    return took_ms


def _p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


@contextmanager
def _program(log: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A program of ours, ended at the end of the block; `log` gets its complaints."""
    with log.open("a") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate()


def _add_viewers(database: Path, tokens: tuple[str, ...]) -> None:
    with Database.open(database) as db, db.transaction():
        for number, token in enumerate(tokens):
            digest = digest_token(token)
            ViewerStore(db).add(f"viewer {number}", token_digest=digest, lifetime_ms=_DAY_MS)


def _write_config(directory: Path, napcat: NapCatStandIn, model: ScriptedModel, port: int) -> Path:
    token = directory / "token"
    token.write_text(napcat.token)
    token.chmod(0o600)
    path = directory / "perlica.toml"
    path.write_text(f"""
[service]
state_dir = "{directory / "state"}"
[napcat]
url = "{napcat.url}"
token_file = "{token}"
group_id = {napcat.group_id}
self_id = {napcat.self_id}
[members]
owners = [{OWNER}]
[model]
base_url = "{model.base_url}"
name = "scripted"
[task]
max_model_calls = 1000
max_tool_calls = 5000
max_tokens = 100000000
[outbox]
pace_s = 0.01
per_minute = 600
[console]
listen = "127.0.0.1:{port}"
""")
    path.chmod(0o600)
    return path
