"""What a person needs who works on a project: a mirror, the demo with a way out, the chat page."""

import http.server
import json
import re
import ssl
import subprocess
import threading
import time
import zipfile
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import requests

from perlica.app.demo.layout import write_node_config
from perlica.app.demo.processes import Process, python_module, run_once
from perlica.app.demo.stage import Stage
from perlica.demo.napcat.chat_page import PROOF_HEADER, ChatPage
from tests.sandboxd.authority import Authority
from tests.sandboxes.project_image import MIRROR, build_project_image

ANSWER_WITHIN_S = 90.0
INTRODUCTION = "Python、pip、git；pip 和 git 走允许的镜像 mirror.test"
_ANSWERED = re.compile(r"【Perlica 回答|任务 T-|沙箱 main")
_PROJECT = {
    "requirements.txt": "spelling==1.0\n",
    "wordcount/__init__.py": "",
    "wordcount/count.py": (
        "from collections import Counter\n\nfrom spelling import normalise\n\n\n"
        "def count(text):\n    return Counter(normalise(word) for word in text.split())\n"
    ),
    "wordcount/cli.py": (
        "import sys\n\nfrom wordcount.count import count\n\n\n"
        "def main():\n    for word, times in count(sys.stdin.read()).most_common(3):\n"
        "        print(times, word)\n"
    ),
    "tests/__init__.py": "",
    "tests/test_count.py": (
        "import unittest\n\nfrom wordcount.count import count\n\n\n"
        "class Counting(unittest.TestCase):\n"
        "    def test_the_same_word_counts_twice(self):\n"
        '        self.assertEqual(count("a a b")["a"], 2)\n\n'
        "    def test_case_does_not_matter(self):\n"
        '        self.assertEqual(count("Tea tea")["tea"], 2)\n'
    ),
}


class _Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        return


class Mirror:
    """A git repository and a package index on loopback, over TLS."""

    def __init__(self, home: Path) -> None:
        self.authority = Authority(home / "authority")
        files = home / "files"
        _make_repository(files, home / "origin")
        _make_index(files / "simple" / "spelling")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self.authority.issue(MIRROR))
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), partial(_Files, directory=str(files))
        )
        self._server.socket = context.wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False
        )
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _make_repository(files: Path, origin: Path) -> None:
    for name, text in _PROJECT.items():
        (origin / name).parent.mkdir(parents=True, exist_ok=True)
        (origin / name).write_text(text, encoding="utf-8")
    files.mkdir()
    identity = ("-c", "user.name=Jie", "-c", "user.email=jie@example.org")
    bare = files / "wordcount.git"
    for words in (
        ("init", "--quiet", "--initial-branch=main", str(origin)),
        ("-C", str(origin), "add", "."),
        ("-C", str(origin), *identity, "commit", "--quiet", "-m", "Count words"),
        ("clone", "--quiet", "--bare", str(origin), str(bare)),
        ("-C", str(bare), "update-server-info"),
    ):
        subprocess.run(["git", *words], check=True, timeout=30)


def _make_index(directory: Path) -> None:
    """A simple index (PEP 503) with one wheel."""
    directory.mkdir(parents=True)
    wheel = "spelling-1.0-py3-none-any.whl"
    with zipfile.ZipFile(directory / wheel, "w") as archive:
        archive.writestr("spelling.py", "def normalise(word):\n    return word.casefold()\n")
        text = "Metadata-Version: 2.1\nName: spelling\nVersion: 1.0\n"
        archive.writestr("spelling-1.0.dist-info/METADATA", text)
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr("spelling-1.0.dist-info/WHEEL", tags)
        archive.writestr("spelling-1.0.dist-info/RECORD", "")
    (directory / "index.html").write_text(f'<a href="{wheel}">{wheel}</a>', encoding="utf-8")


@dataclass(slots=True, kw_only=True)
class ProjectStage(Stage):
    """The demo with another image and a way out to the mirror."""

    mirror: Mirror

    def start_perlica(self) -> None:
        """As the demo does; new sandboxes get the network that the node allows."""
        text = self.paths.config.read_text("utf-8")
        if 'network = "egress"' not in text:
            text = text.replace("\n[sandbox]\n", '\n[sandbox]\nnetwork = "egress"\n')
            text = re.sub(r"(?m)^reference = .*", 'reference = "perlica-demo/python"', text)
            text = re.sub(r"(?m)^introduction = .*", f'introduction = "{INTRODUCTION}"', text)
            self.paths.config.write_text(text, encoding="utf-8")
        Stage.start_perlica(self)

    def restart(self) -> None:
        """Service and node daemon end in order, and begin again."""
        assert self.sandboxd is not None
        self.perlica.stop()
        self.sandboxd.stop()
        self.start_sandboxd_again()
        self.start_perlica()

    def _start_sandboxd(self) -> str:
        write_node_config(self.paths)
        with self.paths.sandboxd_config.open("a", encoding="utf-8") as file:
            file.write(
                '[egress]\ntest_only_addresses = ["127.0.0.1"]\n'
                f'[[egress.allow]]\nname = "{MIRROR}"\nports = [{self.mirror.port}]\n'
            )
        places = [
            *("--config", str(self.paths.sandboxd_config)),
            *("--state-dir", str(self.paths.sandboxd_state)),
            *("--run-dir", str(self.paths.sandboxd_run)),
        ]
        layout = self.paths.image_layout
        build_project_image(layout, self.mirror.authority.file, self.mirror.port)
        run_once(python_module("sandboxd", *places, "image", "import", str(layout)))
        index = json.loads((layout / "index.json").read_text("utf-8"))
        # Only this daemon knows the mirror's name: it has a hosts file of its own.
        hosts = self.paths.root / "hosts"
        hosts.write_text(f"127.0.0.1 localhost {MIRROR}\n", encoding="utf-8")
        serve = python_module("sandboxd", *places, "serve")
        script = 'mount --bind "$0" /etc/hosts && exec "$@"'
        self.sandboxd = Process(
            "sandboxd",
            ["unshare", "--mount", "sh", "-c", script, str(hosts), *serve],
            self.paths.sandboxd_log,
        )
        self.start_sandboxd_again()
        return str(index["manifests"][0]["digest"])


@dataclass(slots=True)
class Person:
    """A member at the chat page: speaks, waits for the answer, remembers both."""

    page: ChatPage
    user_id: int
    said: list[tuple[str, str]] = field(default_factory=list)
    _session: requests.Session = field(default_factory=requests.Session)
    _proof: str = ""

    def open(self) -> None:
        """Load the page."""
        self._session.trust_env = False
        text = self._session.get(self.page.url, timeout=10).text
        found = re.search(r'content="([\w-]{40,})"', text)
        assert found is not None, text
        self._proof = found.group(1)

    def ask(self, text: str) -> str:
        """Say it with a mention of Perlica; the answer."""
        return self._speak(text, mention=True)

    def command(self, text: str) -> str:
        """A dot command; the answer."""
        return self._speak(text, mention=False)

    def _speak(self, text: str, *, mention: bool) -> str:
        state = self._state()
        group = state["groups"][0]
        called = [{"kind": "mention", "user_id": state["self_id"]}] if mention else []
        body = {
            "group_id": group["group_id"],
            "user_id": self.user_id,
            "parts": [*called, {"kind": "text", "text": f" {text}" if mention else text}],
        }
        origin = self.page.url.rstrip("/")
        answer = self._session.post(
            f"{origin}/api/say",
            json=body,
            headers={PROOF_HEADER: self._proof, "Origin": origin},
            timeout=10,
        )
        assert answer.status_code == 200, answer.text
        heard = self._wait_for_answer(answer.json()["id"], state["self_id"])
        self.said.append((f"@Perlica {text}" if mention else text, heard))
        return heard

    def _wait_for_answer(self, after: str, self_id: int) -> str:
        deadline = time.monotonic() + ANSWER_WITHIN_S
        while True:
            messages = self._state()["groups"][0]["messages"]
            begin = next(n for n, message in enumerate(messages) if message["id"] == after)
            for message in messages[begin + 1 :]:
                text = "".join(part.get("text", "") for part in message["parts"])
                if message["user_id"] == self_id and _ANSWERED.search(text):
                    return text
            assert time.monotonic() < deadline, f"no answer: {messages[begin:]}"
            time.sleep(0.05)

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = self._session.get(f"{self.page.url}api/state", timeout=10).json()
        return state
