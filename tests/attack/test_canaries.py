"""Canaries at every door of a whole service: none may turn up in anything that it keeps or says.

The service runs in a process of its own, with everything real but QQ, the model and the sandbox.
What is searched are raw bytes: the database with its WAL, shared memory and full-text tables, the
backup, the log, what the model and the group were sent, console pages and metrics.
"""

import base64
import json
import re
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from perlica.app import parts, run
from perlica.app.config import Config, load_config
from perlica.app.layout import database_path
from perlica.demo.model import Call, HttpError, Reply, ScriptedModel
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.demo.napcat import segments as s
from perlica.sandboxes.image import adopt_image
from perlica.sandboxes.memory import MemoryBackend
from perlica.sandboxes.nodes import Nodes
from perlica.stores.backup import back_up
from perlica.stores.database import Database
from perlica.stores.migrations import check_target
from tests.behaviour.asking import create
from tests.behaviour.asking import run as sandbox_run
from tests.behaviour.live import MEMBER, NODE, OWNER, config_text, is_final, wait_until
from tests.console.seeder import TOKEN, add_viewer
from tests.protection.failing import exhausted_deadline, failing_rule
from tests.protection.made import KEYED, TOKENS, Dice, mnemonic, pem
from tests.recovery.process import ServiceProcess, service_process

POISON = "poisoned"
WITHIN_S = 60.0
_LIMITS = """
[task]
max_equal_calls = 50
max_tool_calls = 200
max_tokens = 100000000
"""
_LINK = re.compile(r'href="(/[^"#]*)"')
_MOST_PAGES = 150
_SHORTEST_ENCODED = 12


@dataclass(slots=True)
class Doors:
    """What is said at each door, and the values that must not come out anywhere."""

    make: Callable[[str], list[tuple[str, str]]]
    planted: dict[str, str] = field(default_factory=dict)

    def texts(self, door: str, *, without: str = "") -> list[str]:
        """New texts for a door, one of each kind that can stand there; values are remembered."""
        made = [pair for pair in self.make(door) if not set(without) & set(pair[0])]
        for number, (_, value) in enumerate(made):
            for piece in (line for line in value.splitlines() if len(line) >= _SHORTEST_ENCODED):
                self.planted[piece] = f"{door}, line {number}"
            if "\n" not in value:
                self.planted[value] = f"{door}, line {number}"
        return [text for text, _ in made]

    def text(self, door: str) -> str:
        """All of them as one text."""
        return "\n".join(self.texts(door))


def _credentials(door: str) -> list[tuple[str, str]]:
    """One credential of each kind, as a person writes it, with the value that is secret."""
    dice = Dice(f"canary {door}")
    made = [(token, token) for token in (make(dice) for make in TOKENS.values())]
    for name, make in KEYED.values():
        if not (value := make(dice)).isdigit():
            made.append((f"{name}={value}", value))
    password, account, cookie = (dice.mixed(14) for _ in range(3))
    return [
        *made,
        (f"数据库密码是 {password}", password),
        (f"postgres://app:{account}@db.internal:5432/app", account),
        (f"Cookie: session_id={cookie * 2}", cookie * 2),
    ]


def _blocks(door: str) -> list[tuple[str, str]]:
    """Credentials of more than a line."""
    dice = Dice(f"block {door}")
    key, phrase = pem(dice), mnemonic(dice)
    body = "\n".join(key.splitlines()[1:-1])
    return [(key, body), (f"助记词：{phrase}", phrase)]


def _remarks(door: str) -> list[tuple[str, str]]:
    """Something harmless in which a rule fails."""
    value = f"remark{Dice(door).mixed(20)}"
    return [(f"{POISON} {value}", value)]


@contextmanager
def _running(
    tmp_path: Path,
    napcat: NapCatStandIn,
    model: ScriptedModel,
    *,
    mode: str = "",
    introduction: str = "an image",
) -> Iterator[tuple[ServiceProcess, dict[str, str]]]:
    addresses = {name: f"127.0.0.1:{_free_port()}" for name in ("health", "console")}
    extra = _LIMITS + "".join(f'[{name}]\nlisten = "{at}"\n' for name, at in addresses.items())
    text = config_text(tmp_path, napcat, model.base_url, extra)
    text = text.replace('"an image for tests"', json.dumps(introduction))
    with service_process(tmp_path, text) as service:
        service.module = __name__
        service.start(mode)
        napcat.wait_for_connection(WITHIN_S)
        wait_until(lambda: _answers(addresses["health"]), WITHIN_S, "never ready")
        yield service, addresses


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(address: str) -> bool:
    try:
        return requests.get(f"http://{address}/readyz", timeout=5).status_code == 200
    except requests.ConnectionError:
        return False


def _speak_in_the_group(doors: Doors, napcat: NapCatStandIn) -> None:
    """Everything that only has to be heard: text, cards, names, files, forwards."""
    for number, text in enumerate(doors.texts("card in the group")):
        napcat.change_card(MEMBER, text[:60] if POISON not in text else text)
        napcat.say(MEMBER, f"嗯 {number}")
    napcat.say(MEMBER, doors.text("message"))
    napcat.say(MEMBER, [s.markdown(doors.text("markdown"))])
    fields = {"app": "com.tencent.structmsg", "prompt": doors.text("prompt of a card")}
    napcat.say(MEMBER, [s.card({**fields, "meta": {"news": {"desc": doors.text("card")}}})])
    for text in doors.texts("file name", without="/\n"):
        napcat.say(MEMBER, [s.file(f"{text}.txt", "/file")])
        napcat.say(MEMBER, [s.image(f"{text}.png")])
        napcat.say(MEMBER, [s.record(f"{text}.amr"), s.video(f"{text}.mp4")])
    inside = {"type": "node", "data": {"content": [s.text(doors.text("inside a forward"))]}}
    forward: s.Segment = {"type": "forward", "data": {"id": "1", "content": [inside]}}
    napcat.say(MEMBER, [forward])


def _command(doors: Doors, napcat: NapCatStandIn) -> None:
    """Free text behind dot commands, and lines that only look like one."""
    for line in (".image intro {}", ".sbx describe main {}", ".aprove K7Q2M 123456 {}"):
        for text in doors.texts(line):
            napcat.say(OWNER, line.format(text))
    operation = "op-" + "0" * 24
    for text in doors.texts("reason of a resolution"):
        napcat.say(OWNER, f".recovery resolve {operation} {text}")
    _settle(napcat)


def _settle(napcat: NapCatStandIn) -> None:
    """Wait until everything that was said is stored: the group is read in its order."""
    last = napcat.say(OWNER, ".whoami")
    napcat.wait_for_reply(lambda m: _quotes(m, last), WITHIN_S, after=last)


def _quotes(message: Message, quoted: Message) -> bool:
    ids = [part["data"].get("id") for part in message.segments if part["type"] == "reply"]
    return str(quoted.message_id) in map(str, ids)


def _work(doors: Doors, napcat: NapCatStandIn, model: ScriptedModel) -> None:
    """A task whose question, quote, tool arguments, tool output, files and answer hold them."""
    calls = [create()]
    for text in doors.texts("purpose"):
        arguments = {"action": "describe", "name": "main", "purpose": text}
        calls.append(Call(tool="sandbox_manage", arguments=arguments))
    written = doors.text("file content")
    work = (
        sandbox_run("echo", doors.text("output of a command")),
        Call(tool="sandbox_exec", arguments={
            "sandbox": "main", "argv": ["true"], "stdin": doors.text("standard input"),
        }),
        Call(tool="sandbox_write", arguments={
            "sandbox": "main", "path": "/notes", "content": written,
        }),
        Call(tool="sandbox_read", arguments={"sandbox": "main", "path": "/notes"}),
        Call(tool="group_search_history", arguments={"query": doors.texts("query")[0][:150]}),
        Call(tool="sandbox_exec", arguments='{"sandbox":"main",' + doors.text("no JSON")),
    )  # fmt: skip
    model.add(Reply(text=doors.text("aside of the model"), calls=tuple(calls)))
    model.add(Reply(text="", calls=work))
    model.add(Reply(text=doors.text("answer of the model")))
    model.add(Reply(text=doors.text("review of the model")))
    quoted = napcat.say(MEMBER, doors.text("quoted message"))

    asked = napcat.say(OWNER, doors.text("question"), mention=True, reply_to=quoted)

    napcat.wait_for_reply(is_final, WITHIN_S, after=asked)


def _fail(doors: Doors, napcat: NapCatStandIn, model: ScriptedModel) -> None:
    """A task that ends with an error whose text comes from outside."""
    model.add(HttpError(status=400, message=doors.text("error of the model")))
    asked = napcat.say(OWNER, "再来一次", mention=True)
    napcat.wait_for_reply(is_final, WITHIN_S, after=asked)


def _artefacts(
    service: ServiceProcess, addresses: dict[str, str], napcat: NapCatStandIn, model: ScriptedModel
) -> dict[str, bytes]:
    """Everything that is kept or was said, while the service still runs."""
    with Database.open(database_path(service.state_dir)) as database:
        add_viewer(database)
        back_up(database, service.state_dir / "backups")
    found = {
        "model requests": json.dumps(
            [[e.headers, e.request] for e in model.exchanges], ensure_ascii=False
        ).encode(),
        "calls of NapCat": repr([call.params for call in napcat.calls]).encode(),
        "replies": repr([(m.text, m.segments) for m in napcat.sent]).encode(),
        "metrics": requests.get(f"http://{addresses['health']}/metrics", timeout=30).content,
        **_pages(f"http://{addresses['console']}"),
    }
    return found | _files(service)


def _files(service: ServiceProcess) -> dict[str, bytes]:
    kept = [path for path in service.state_dir.rglob("*") if path.is_file()]
    return {path.name: path.read_bytes() for path in [*kept, service.log]}


def _pages(url: str) -> dict[str, bytes]:
    """Every page of the console that a viewer comes to by links."""
    with requests.Session() as session:
        session.trust_env = False
        session.post(f"{url}/login", data={"token": TOKEN, "next": "/"}, timeout=30)
        pages: dict[str, bytes] = {}
        waiting, seen = ["/"], {"/"}
        while waiting and len(pages) < _MOST_PAGES:
            path = waiting.pop(0)
            with session.get(url + path, timeout=30, stream=True, allow_redirects=False) as answer:
                kind = answer.headers.get("Content-Type", "")
                if "event-stream" in kind or answer.status_code != requests.codes.ok:
                    continue  # a stream does not end; what it tells stands on the pages
                pages[path] = answer.content
            links = _LINK.findall(pages[path].decode()) if "html" in kind else []
            found = {link.replace("&amp;", "&") for link in links}
            waiting += sorted(found - {*waiting, *pages, *seen})
            seen |= found
    return {f"page {path}": content for path, content in pages.items()}


def _forms(value: str) -> Iterator[bytes]:
    """The value as it is, and as it looks in base64, hexadecimal, an address, JSON and HTML."""
    raw = value.encode()
    yield raw
    yield json.dumps(value)[1:-1].encode()
    yield quote(value, safe="").encode()
    yield value.replace("&", "&amp;").replace("<", "&lt;").encode()
    if len(raw) >= _SHORTEST_ENCODED:
        yield raw.hex().encode()
        for shift in range(3):
            whole = base64.b64encode(b"\0" * shift + raw)
            yield whole[4 if shift else 0 : -4]


def _leaks(planted: dict[str, str], artefacts: dict[str, bytes]) -> list[str]:
    """Which door's value stands in which artefact; never the value."""
    everything = b"\xff".join(artefacts.values())
    return sorted(
        f"{door} -> {name}"
        for value, door in planted.items()
        if any(form in everything for form in _forms(value))
        for name, content in artefacts.items()
        if any(form in content for form in _forms(value))
    )


@pytest.mark.evidence(6)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("make", [_credentials, _blocks], ids=["lines", "blocks"])
def test_no_canary_of_any_kind_survives_in_anything_that_the_service_keeps_or_says(
    tmp_path: Path,
    napcat: NapCatStandIn,
    model: ScriptedModel,
    make: Callable[[str], list[tuple[str, str]]],
) -> None:
    doors = Doors(make)
    introduction = doors.texts("introduction of the image", without="\n")[-1]

    with _running(tmp_path, napcat, model, introduction=introduction) as (service, addresses):
        _speak_in_the_group(doors, napcat)
        _work(doors, napcat, model)
        _command(doors, napcat)
        _fail(doors, napcat, model)
        artefacts = _artefacts(service, addresses, napcat, model)
        assert service.terminate() == 0
    artefacts |= {f"{name}, afterwards": content for name, content in _files(service).items()}

    leaks = _leaks(doors.planted, artefacts)
    assert leaks == [], "\n".join(leaks)
    assert "凭据".encode() in artefacts["perlica.db, afterwards"]
    assert sum(name.startswith("page ") for name in artefacts) > 10


@pytest.mark.evidence(6)
@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", ["failing", "exhausted"])
def test_a_scan_that_fails_or_runs_out_of_time_at_a_door_leaves_no_text_anywhere(
    tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel, mode: str
) -> None:
    doors = Doors(_remarks)

    with _running(tmp_path, napcat, model, mode=mode) as (service, addresses):
        _speak_in_the_group(doors, napcat)
        _command(doors, napcat)
        asked = napcat.say(OWNER, doors.text("question"), mention=True)
        napcat.wait_for_reply(lambda m: _quotes(m, asked), WITHIN_S, after=asked)
        _settle(napcat)
        artefacts = _artefacts(service, addresses, napcat, model)
        assert service.terminate() == 0
    artefacts |= {f"{name}, afterwards": content for name, content in _files(service).items()}

    assert _leaks(doors.planted, artefacts) == []
    assert b"scan_incomplete" in artefacts["perlica.db, afterwards"]


def _nodes(config: Config, path: Path) -> Nodes:
    """The database made ready, with sandboxes that live in the process."""
    assert config.sandbox is not None
    with Database.open(path) as database:
        check_target(database, config.napcat.group_id, config.napcat.self_id)
        adopt_image(database, parts.image_of(config.sandbox))
    return Nodes({NODE: MemoryBackend()})


def serve(config: Path, mode: str) -> int:
    """Run the service; in the modes `failing` and `exhausted` scans of poisoned text do not end."""
    with ExitStack() as stack:

        def prepare(config: Config, path: Path) -> Nodes:
            if mode:
                hook = failing_rule if mode == "failing" else exhausted_deadline
                stack.enter_context(hook(POISON))
            return _nodes(config, path)

        run._prepare_database = prepare
        return run.run_service(load_config(config))


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1]), sys.argv[2]))
