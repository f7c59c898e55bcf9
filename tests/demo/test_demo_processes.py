"""The stand-ins as processes: one line when ready, addresses that work, an orderly end."""

import json
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from perlica.demo.napcat.account import demo_account
from tests.demo.peer import Json

WITHIN_S = 20


@contextmanager
def running(*arguments: str) -> Iterator[Json]:
    """The ready line of a process that is ended, and must end well, after the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "perlica.demo", *arguments], stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
            process.send_signal(signal.SIGTERM)
            assert process.wait(WITHIN_S) == 0
        finally:
            process.kill()


def page_state(ready: Json) -> Json:
    return requests.get(f"{ready['page']}api/state", timeout=WITHIN_S).json()


def say(ready: Json, text: str) -> None:
    index = requests.get(ready["page"], timeout=WITHIN_S).text
    proof = index.partition('name="page-proof" content="')[2].partition('"')[0]
    fields = {
        "group_id": ready["group_id"],
        "user_id": 30001,
        "parts": [{"kind": "text", "text": text}],
    }
    headers = {"Origin": ready["page"].rstrip("/"), "X-Demo-Page": proof}
    answer = requests.post(
        f"{ready['page']}api/say", json=fields, headers=headers, timeout=WITHIN_S
    )
    assert answer.status_code == 200


def test_the_groups_past_survives_a_restart(tmp_path: Path) -> None:
    arguments = (
        "napcat",
        f"--token-file={tmp_path / 'token'}",
        f"--state-file={tmp_path / 'history.jsonl'}",
    )
    with running(*arguments) as first:
        say(first, "重启之前")
    with running(*arguments) as second:
        [group, _other] = page_state(second)["groups"]

    assert [part["text"] for part in group["messages"][0]["parts"]] == ["重启之前"]
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert first["self_id"] == demo_account().user_id


def test_the_rehearsal_model_asks_for_the_key_of_its_file(tmp_path: Path) -> None:
    key_file = tmp_path / "key"
    key_file.write_text("a-key\n")

    with running("model", f"--key-file={key_file}") as ready:
        refused = requests.get(f"{ready['base_url']}/models", timeout=WITHIN_S)
        listed = requests.get(
            f"{ready['base_url']}/models",
            headers={"Authorization": "Bearer a-key"},
            timeout=WITHIN_S,
        )

    assert refused.status_code == 401
    assert listed.json()["data"][0]["id"] == ready["model"]


def test_a_taken_port_is_said_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "perlica.demo", "model"),
                *(f"--port={port}", f"--key-file={tmp_path / 'key'}"),
            ],
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "Address already in use" in ended.stderr
    assert ended.stderr.count("\n") == 1
