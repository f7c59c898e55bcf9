"""Pages for tired people: one time spent, words instead of keys, names beside numbers."""

import re
from datetime import UTC
from pathlib import Path

import pytest

from perlica.app.config import parse_config
from perlica.app.console import console_settings
from perlica.console.pages.timeline import is_long
from perlica.console.wording import NAME_CODE_POINTS, Wording
from perlica.domain.clock import now_ms
from perlica.domain.sandbox import SandboxState
from perlica.domain.texts import Language
from perlica.gateway.known_actions import CATALOG
from perlica.stores.database import Database
from perlica.stores.views.people import read_names
from perlica.stores.views.tasks import search_tasks
from tests.app.configs import MINIMAL, SANDBOX
from tests.console.conftest import StartConsole
from tests.console.people import Person
from tests.console.seeder import Seeder
from tests.console.seeding import Seeded

PLACEHOLDER = "⟦凭据:github_token:1⟧"
DAY_MS = 86_400_000
CONSOLE = '\n[console]\nlisten = "127.0.0.1:8450"\n'
_KEY = re.compile(r"\b(?:exit_code|effect\.[a-z_]+|cpu_millis|stdout_bytes|target\.[a-z_]+)\b")


def wording(language: Language = Language.zh) -> Wording:
    return Wording(language=language, zone=UTC, now_ms=now_ms(), actions=CATALOG)


def test_a_task_has_one_time_spent_and_the_other_time_says_what_it_counts(
    looking: Person, seeded: Seeded
) -> None:
    text = looking.read(f"/tasks/{seeded.finished}")

    assert text.count("处理用时（不含等待审批）") == 1
    assert text.count("从提出到结束") <= 1
    assert not re.search(r"(?<!处理)用时 \d", text)


@pytest.mark.parametrize("language", Language)
def test_plans_and_outcomes_are_told_in_words(
    language: Language, looking: Person, seeded: Seeded
) -> None:
    looking.get(f"/?lang={language.value}")
    texts = [
        looking.read(page)
        for page in (f"/operations/{seeded.operation}", f"/tickets/{seeded.ticket}", "/sandboxes")
    ]
    looking.get("/?lang=zh")

    assert [_KEY.findall(text) for text in texts] == [[], [], []]


def test_a_placeholder_in_a_name_is_shown_as_it_is_and_whole() -> None:
    short = wording().name(f"curl -H {PLACEHOLDER} x\u202e")
    cut = wording().name(f"{'a' * (NAME_CODE_POINTS - 4)} {PLACEHOLDER}")

    assert short == f"curl -H {PLACEHOLDER} x\\u{{202e}}"
    assert "⟦" not in cut
    assert cut.endswith("…")
    assert len(cut) <= NAME_CODE_POINTS


def test_a_bracket_that_only_imitates_a_placeholder_is_escaped() -> None:
    assert "\\u{27e6}" in wording().name("⟦凭据⟧")


def test_a_long_result_is_folded_and_a_short_one_is_not(start: StartConsole, path: Path) -> None:
    with Database.open(path) as db:
        seeder = Seeder(db)
        task = seeder.begin("看日志")
        call = seeder.call("sandbox_exec", {"argv": ["cat", "log"]})
        seeder.turn(task, "assistant", {"text": "看一下"}, (call,))
        seeder.give(task, call, "\n".join(f"line {n}" for n in range(400)), "sandbox:dev")
    with Person(start()) as person:
        person.log_in()
        page = person.get(f"/tasks/{task}").content.decode()

    fold = re.search(r'<details id="result-[^"]+"><summary>([^<]+)</summary>\s*<pre', page)
    assert fold is not None
    assert re.fullmatch(r"结果，\d+ 行", fold[1])
    assert not is_long("exit code 0\nok")


def test_a_word_of_a_request_finds_its_tasks(looking: Person, seeded: Seeded) -> None:
    text = looking.read("/find?id=修好失败的用例")

    assert seeded.finished in text
    assert "与“修好失败的用例”有关的任务" in text


def test_a_person_is_found_by_name_and_by_number(looking: Person, seeded: Seeded) -> None:
    with Database.open(seeded.path, read_only=True) as db:
        (task,) = search_tasks(db, "修好失败的用例", limit=1)

    for wanted in (task.requester_name, str(task.requester_id)):
        assert seeded.finished in looking.read(f"/find?id={wanted}")


def test_what_no_task_holds_is_not_found(looking: Person) -> None:
    assert "没有编号或名称是" in looking.read("/find?id=zzz-nowhere")


def test_people_stand_with_name_and_number(looking: Person, seeded: Seeded) -> None:
    with Database.open(seeded.path, read_only=True) as db:
        names = read_names(db, [30_001, 30_002])

    text = looking.read(f"/tickets/{seeded.ticket}")

    assert names
    for number, name in names.items():
        assert f"{name} ({number})" in text


def test_the_countdown_follows_an_idle_time_that_was_shortened(
    start: StartConsole, path: Path
) -> None:
    with Database.open(path) as db:
        seeder = Seeder(db)
        sandbox = seeder.reserve("dev", "试试")
        seeder.settle(sandbox, SandboxState.ready)
    with Person(start(idle_ms=DAY_MS)) as person:
        person.log_in()

        text = person.read("/sandboxes")

    assert re.search(r"自动删除: 还剩 23 小时 59 分", text), text


def test_the_console_counts_down_by_what_the_configuration_shortens() -> None:
    shortened = SANDBOX.replace("[sandbox.image]", "idle_days = 1\n[sandbox.image]")
    settings = console_settings(parse_config(f"{MINIMAL}{shortened}{CONSOLE}"), None)

    assert settings is not None
    assert settings.idle_ms == DAY_MS


def test_without_a_shortened_idle_time_a_week_is_counted() -> None:
    settings = console_settings(parse_config(f"{MINIMAL}{SANDBOX}{CONSOLE}"), None)

    assert settings is not None
    assert settings.idle_ms == 7 * DAY_MS


def test_a_long_argument_is_folded_behind_its_beginning(start: StartConsole, path: Path) -> None:
    script = "\n".join(f"echo {n}" for n in range(300))
    with Database.open(path) as db:
        seeder = Seeder(db)
        task = seeder.begin("写脚本")
        call = seeder.call("sandbox_write", {"path": "/root/run.sh", "content": script})
        seeder.turn(task, "assistant", {"text": "写"}, (call,))
    with Person(start()) as person:
        person.log_in()
        page = person.get(f"/tasks/{task}").content.decode()

    assert "<details><summary>echo 0…</summary>echo 0\n" in page
    assert "/root/run.sh</dd>" in page
