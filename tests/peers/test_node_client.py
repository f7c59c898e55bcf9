"""node-napcat-ts, a client that others use with the real NapCat, understands our stand-in."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat.faults import TimeOut
from perlica.demo.napcat.segments import file, image, text

pytestmark = pytest.mark.timeout(180)
MING, JIE = 30001, 30003
SCRIPT = Path(__file__).with_name("node_client.mjs")


class NodeClient:
    """The process of the client; `heard` is every line that it printed so far."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.heard: list[dict[str, Any]] = []

    def wait(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first line not waited for yet that fits; the process's end fails the test."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.heard.append(json.loads(line))
            if fits(self.heard[-1]):
                return self.heard[-1]
        raise AssertionError(f"the client ended; it said {self.heard}")

    def wait_kind(self, kind: str) -> dict[str, Any]:
        return self.wait(lambda line: line["kind"] == kind)

    def call(self, action: str, **params: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps({'call': action, 'params': params})}\n")
        self._process.stdin.flush()
        return self.wait(lambda line: line["kind"] in {"answer", "failure"})


@contextmanager
def run_client(modules: Path, napcat: NapCatStandIn, token: str) -> Iterator[NodeClient]:
    address = napcat.url.removesuffix("/")
    command = ["node", str(SCRIPT), str(modules), address, token]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            yield NodeClient(process)
        finally:
            process.kill()


@pytest.fixture
def client(node_client: Path, napcat: NapCatStandIn) -> Iterator[NodeClient]:
    with run_client(node_client, napcat, napcat.token) as running:
        running.wait_kind("meta_event.lifecycle")
        yield running


def test_it_logs_in_and_hears_heartbeats(client: NodeClient, napcat: NapCatStandIn) -> None:
    login = client.call("get_login_info")

    assert login["data"] == {"user_id": napcat.self_id, "nickname": "Perlica"}
    assert client.wait_kind("meta_event.heartbeat")["context"]["status"]["online"] is True
    assert client.call("get_status")["data"]["online"] is True


def test_it_reads_messages_and_notices(client: NodeClient, napcat: NapCatStandIn) -> None:
    said = napcat.say(MING, [text("看图"), image("a.png")], mention=True)
    message = client.wait_kind("message.group")["context"]
    napcat.say(JIE, [file("report.pdf", "/uuid")])
    upload = client.wait_kind("notice.group_upload")["context"]
    napcat.recall(said)
    recall = client.wait_kind("notice.group_recall")["context"]
    napcat.change_card(JIE, "值班")
    card = client.wait_kind("notice.group_card")["context"]
    napcat.mute_bot()
    mute = client.wait_kind("notice.group_ban")["context"]
    napcat.remove_bot()
    removal = client.wait_kind("notice.group_decrease")["context"]

    assert [segment["type"] for segment in message["message"]] == ["at", "text", "image"]
    assert message["message_id"] == recall["message_id"] == said.message_id
    assert upload["file"]["name"] == "report.pdf"
    assert card["card_new"] == "值班"
    assert (mute["sub_type"], removal["sub_type"]) == ("ban", "kick_me")


def test_its_sends_come_back_as_messages_of_our_own(
    client: NodeClient, napcat: NapCatStandIn
) -> None:
    message = [{"type": "text", "data": {"text": "你好"}}]

    sent = client.call("send_group_msg", group_id=napcat.group_id, message=message)
    own = (
        next(line for line in client.heard if line["kind"] == "message_sent.group")
        if any(line["kind"] == "message_sent.group" for line in client.heard)
        else client.wait_kind("message_sent.group")
    )

    assert own["context"]["message_id"] == sent["data"]["message_id"]
    assert own["context"]["target_id"] == napcat.group_id


def test_history_is_read_forward_and_backward(client: NodeClient, napcat: NapCatStandIn) -> None:
    said = [napcat.say(MING, f"第 {number} 句") for number in range(5)]

    newest = client.call("get_group_msg_history", group_id=napcat.group_id, count=2)
    older = client.call(
        "get_group_msg_history",
        group_id=napcat.group_id,
        count=2,
        message_seq=said[2].message_id,
        reverseOrder=True,
    )

    assert _ids(newest) == [said[3].message_id, said[4].message_id]
    assert _ids(older) == [said[1].message_id, said[2].message_id]


def test_failures_come_with_their_codes(client: NodeClient, napcat: NapCatStandIn) -> None:
    napcat.faults.next_calls(TimeOut())
    message = [{"type": "text", "data": {"text": "你好"}}]

    unknown = client.call("get_msg", message_id=1)
    timeout = client.call("send_group_msg", group_id=napcat.group_id, message=message)

    assert (unknown["kind"], unknown["retcode"]) == ("failure", 1200)
    assert (timeout["kind"], timeout["retcode"]) == ("failure", 1200)
    assert timeout["message"].startswith("Timeout")


def test_a_wrong_token_is_told_after_the_handshake(
    node_client: Path, napcat: NapCatStandIn
) -> None:
    with run_client(node_client, napcat, "wrong") as client:
        error = client.wait_kind("socket.error")

    assert error["context"]["info"]["errno"] == 1403


def _ids(answer: dict[str, Any]) -> list[int]:
    return [message["message_id"] for message in answer["data"]["messages"]]
