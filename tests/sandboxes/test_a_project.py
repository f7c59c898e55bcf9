"""A person builds and tests a small project in a sandbox, through the chat page.

The run is the transcript: PERLICA_TRANSCRIPT names a file to write it to, and the one in docs/ is
such a file.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.app.demo.layout import DemoPaths
from perlica.demo.napcat.chat_page import ChatPage
from tests.sandboxd.conftest import needs_node
from tests.sandboxes.project import Mirror, Person, ProjectStage

__all__ = ["needs_node"]

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

MING = 30001
TRANSCRIPT = Path(__file__).parents[2] / "docs" / "operations" / "a-project-in-a-sandbox.md"
IN_WORDCOUNT = "cd /root/wordcount && "
FIXED = r"""import re
from collections import Counter

from spelling import normalise


def count(text):
    return Counter(normalise(word) for word in re.findall(r"\w+", text))
"""


@pytest.fixture
def stage(needs_node: None, tmp_path: Path) -> Iterator[ProjectStage]:
    mirror = Mirror(tmp_path)
    made = ProjectStage(paths=DemoPaths(root=tmp_path / "demo"), with_sandboxes=True, mirror=mirror)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        mirror.stop()


def write_transcript(person: Person, restarted_after: int) -> str:
    """The conversation as a document; ids and times are those of the run."""
    lines = [_HEAD]
    for number, (said, heard) in enumerate(person.said):
        if number == restarted_after:
            lines.append("*Ming leaves. Service and node daemon are stopped, and started again.*\n")
        lines.append(f"**小明** {said}\n")
        lines.append(f"```text\n{heard.strip()}\n```\n")
    return "\n".join(lines)


_HEAD = """# A project in a sandbox

沙箱里的一个项目：一个人用聊天页在沙箱里做完一个小项目的完整记录。它由一次测试运行写成，服务和节点守护进程都是真的，
只有 QQ 和模型是替身；镜像里有 Python、pip 和 git，节点只放行一个镜像站。

Made by a run of `tests/sandboxes/test_a_project.py`, which is a test as well: the demo's chat page
and rehearsal model, the real service and a real node daemon. To write it anew:
`PERLICA_TRANSCRIPT=FILE python -m pytest tests/sandboxes/test_a_project.py`.

The image holds Python, pip and git. The node lets its sandboxes out to one mirror (`[egress]` in
sandboxd's configuration), and the service makes sandboxes with `network = "egress"` (`[sandbox]`).
"""


def test_a_person_builds_and_tests_a_project_leaves_and_goes_on(stage: ProjectStage) -> None:
    with ChatPage(stage.napcat) as page:
        person = Person(page, MING)
        person.open()
        person.ask("创建沙箱 main，用途：数词的小项目")
        cloned = person.ask(
            "运行 `git clone -q https://mirror.test/wordcount.git /root/wordcount"
            f" && {IN_WORDCOUNT}git log --oneline && ls`"
        )
        missing = person.ask(f"运行 `{IN_WORDCOUNT}python3 -m unittest 2>&1 | grep Error:`")
        installed = person.ask(
            f"运行 `{IN_WORDCOUNT}python3 -m pip install -r requirements.txt 2>&1 | tail -n 1`"
        )
        tested = person.ask(f"运行 `{IN_WORDCOUNT}python3 -m unittest -v 2>&1`")
        refused = person.ask("运行 `git ls-remote https://elsewhere.test/wordcount.git 2>&1`")
        left_after = len(person.said)
        stage.restart()
        kept = person.ask(f"运行 `{IN_WORDCOUNT}git status --short && python3 -m unittest 2>&1`")
        person.ask(f"写入 `/root/wordcount/wordcount/count.py`：\n```\n{FIXED}```")
        changed = person.ask(
            f"运行 `{IN_WORDCOUNT}git diff --stat && python3 -m unittest 2>&1 | tail -n 1"
            " && git commit -qam 'Count words without marks' && git log --oneline`"
        )
        built = person.ask(
            f"运行 `{IN_WORDCOUNT}python3 -m zipapp . -m wordcount.cli:main -o /root/wc.pyz"
            " && echo 'Tea, tea! And more tea.' | python3 /root/wc.pyz`"
        )
        shown = person.command(".sbx show main")
    written = write_transcript(person, left_after)
    if place := os.environ.get("PERLICA_TRANSCRIPT"):
        Path(place).write_text(written, encoding="utf-8")

    assert re.search(r"[0-9a-f]{7} Count words", cloned)
    assert "No module named 'spelling'" in missing
    assert "Successfully installed spelling-1.0" in installed
    assert "Ran 2 tests" in tested
    assert "403" in refused
    assert "Ran 2 tests" in kept
    assert "OK" in changed
    assert "Count words without marks" in changed
    assert "3 tea" in built
    assert "main" in shown
    committed = TRANSCRIPT.read_text("utf-8")
    assert [said for said, _ in person.said if f"**小明** {said}\n" not in committed] == []
    assert committed.count("```text") == len(person.said)
