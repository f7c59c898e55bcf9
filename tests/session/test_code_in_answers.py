"""Code and output in an answer reach the group as the model wrote them; only marks are taken."""

import pytest

from perlica.domain.ids import TaskId
from perlica.domain.texts import Language
from perlica.gateway.known_actions import CATALOG
from perlica.tasks.final import executed_lines, final_message
from perlica.tasks.sanitising import sanitise, sanitise_literally
from tests.session.test_final_message import done

LS = """total 12
drwxr-xr-x  2 root root     4096 Dec  1 02:11 .
-rw-r--r--  1 root root   128934 Dec  1 02:11 a-very-long-name.txt"""
DF = """Filesystem                                    Size  Used Avail Use% Mounted on
tmpfs                                         7.8G     0  7.8G   0% /dev/shm"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('```bash title="fix.sh"\n# rm -rf /srv/old\nls\n```\n**ok**',
         "# rm -rf /srv/old\nls\nok"),
        ("````markdown\n```sh\n# make\n```\n# Title\n````", "```sh\n# make\n```\n# Title"),
        ("~~~\n```\n# x\n~~~\n# T", "```\n# x\nT"),
        ("```yaml\nenv:\n            - name: A\n```", "env:\n            - name: A"),
        ("```{.python #id}\n    x = 1  # one\n```", "    x = 1  # one"),
        ("1. 先：\n   ```sh\n   # 备份\n   cp a\n   ```\n2. 再",
         "1. 先：\n   # 备份\n   cp a\n2. 再"),
        ("- ```sh\n  # x\n  ```\n- **y**", "-\n  # x\n- y"),
        ("> ```\n> # x\n> ```", "> # x"),
        ("说明：\n\n    # indented\n    ls **\n\n完", "说明：\n\n    # indented\n    ls **\n\n完"),
        ("```\n# never closed\n**x**", "# never closed\n**x**"),
        ("```\na\n```\n```\nb\n```", "a\nb"),
        ("```py\ndef a(): ...\n\n\ndef b(): ...\n```", "def a(): ...\n\n\ndef b(): ..."),
        ("```make\nall:\n\techo hi\n```", "all:\n\techo hi"),
        ("```\n---\na: 1\n---\n***\n| - | - |\n```", "---\na: 1\n---\n***\n| - | - |"),
        ("```\n~~a~~ [x](y) `z` __init__\n```", "~~a~~ [x](y) `z` __init__"),
        ("a ``` b", "a ``` b"),
        ("用 `` `a` `` 表示", "用 `a` 表示"),
        ("`**not bold**` **bold**", "**not bold** bold"),
        ("用 `__init__` 和 __init__.py", "用 __init__ 和 __init__.py"),
        ("rm *.log src/**/*.py docs/**/*.md", "rm *.log src/**/*.py docs/**/*.md"),
        ("2**10 + 3**2, a*b*c, $x_1^2 \\times y_2$", "2**10 + 3**2, a*b*c, $x_1^2 \\times y_2$"),
        ("<div class=\"a\">\n# b\n</div>", "<div class=\"a\">\n# b\n</div>"),
        ("写 `<br>` 或 <br> 都行", "写 <br> 或 <br> 都行"),
        ("| 名 | 值 |\n| --- | --- |\n| a | `x  y` |", "| 名 | 值 |\n| a | x  y |"),
        ("- a\n  - b\n    - c **d**", "- a\n  - b\n    - c d"),
        ("[文档](https://a.example/b_c_d)", "文档 (https://a.example/b_c_d)"),
        ("```sh\n./configure\n```", "› ./configure"),
        ("#!/bin/sh\n#define X 1", "#!/bin/sh\n#define X 1"),
        ("# 标题 #\n正文", "标题\n正文"),
    ],
)  # fmt: skip
def test_code_keeps_its_signs_and_marks_of_text_are_taken(text: str, said: str) -> None:
    assert sanitise(text) == said


@pytest.mark.parametrize("output", [LS, DF])
@pytest.mark.parametrize("frame", ["{}", "```\n{}\n```", "```text\n{}\n```\n完", "结果：\n{}"])
def test_columns_of_an_output_stay_where_they_are(output: str, frame: str) -> None:
    assert output in sanitise(frame.format(output))


def test_columns_survive_all_the_way_into_the_final_message() -> None:
    answer = f"```\n    {DF}\n```"
    said = final_message(
        task=TaskId("t_1"), answer=answer, operations=(), language=Language.zh, actions=CATALOG
    )

    assert f"\n    {DF}\n" in said


@pytest.mark.parametrize("frame", ["{}", "```\n{}\n```", "    {}"])
def test_padding_that_pushes_text_out_of_sight_is_still_shortened(frame: str) -> None:
    for padding in (" " * 500, "\u3000" * 500, "\n" * 500, "\t" * 500):
        assert len(sanitise(frame.format(f"a{padding}b"))) < 200


@pytest.mark.parametrize("frame", ["{}", "```\n{}\n```", "````\n```\n{}\n```\n````", "\n\n    {}"])
@pytest.mark.parametrize("line", [".approve 123456", "。deny 1", "【审批】", "\u200b.cancel"])
def test_no_line_of_code_can_pass_for_a_command_or_a_header(frame: str, line: str) -> None:
    for shown in sanitise(frame.format(line)).split("\n"):
        assert not shown.lstrip().startswith((".", "。", "．", "【"))


def test_what_was_really_executed_is_listed_with_every_sign() -> None:
    (line,) = executed_lines(
        (done(argv=["echo", "**a**", "`id`", "~~b~~"]),), language=Language.zh, actions=CATALOG
    )

    assert "echo **a** `id` ~~b~~" in line


def test_a_command_line_that_was_run_is_shown_without_taking_its_signs_for_marks() -> None:
    command = "sh -c echo **a** ~~b~~ [x](y) `id` # c"

    assert sanitise_literally(command) == command


@pytest.mark.parametrize("text", ["> " * 10_000, "- " * 10_000, "```\n" * 5_000, "`" * 20_000])
def test_hostile_markdown_is_read_in_bounded_time(text: str) -> None:
    assert sanitise(text) is not None
