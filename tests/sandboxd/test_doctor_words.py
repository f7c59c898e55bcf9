"""The node's doctor speaks Chinese in every sentence that it can say."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import sandboxd.doctor
import sandboxd.doctor_outside
from sandboxd.cli import main
from sandboxd.doctor_words import in_chinese

_SPOKEN = ("remedy", "message")
_SAMPLE = "7"
_CHINESE = re.compile("[\u4e00-\u9fff]")
_COMMANDS = re.compile(r"(modprobe|sysctl|apt install|sandboxd) .*")
_NO_WORDS = re.compile(r"[^a-z]*")


def _sentences(module: Path) -> Iterator[str]:
    """Every text that the module gives to a finding, a sample in place of what is filled in."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.keyword) and node.arg in _SPOKEN:
            yield from _texts(node.value)


def _texts(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else _SAMPLE for p in parts)
        case ast.IfExp(body=one, orelse=other):
            yield from _texts(one)
            yield from _texts(other)
        case ast.BoolOp(values=values):
            for each in values:
                yield from _texts(each)


SENTENCES = sorted(
    {
        text
        for module in (sandboxd.doctor, sandboxd.doctor_outside)
        for text in _sentences(Path(str(module.__file__)))
    }
)


def test_the_sentences_of_the_doctor_were_found() -> None:
    assert "start it: sandboxd serve" in SENTENCES
    assert len(SENTENCES) > 40


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_of_the_doctor_has_a_chinese_form(sentence: str) -> None:
    said = in_chinese(sentence)

    known = _CHINESE.search(said) or _COMMANDS.fullmatch(said) or _NO_WORDS.fullmatch(sentence)
    assert known or sentence == "/dev/loop-control"


def test_the_doctor_speaks_the_language_that_is_asked_for(tmp_path: Path) -> None:
    words = ("--state-dir", str(tmp_path / "s"), "--run-dir", str(tmp_path / "r"), "doctor")

    chinese = CliRunner().invoke(main, [*words, "--lang", "zh"]).output
    english = CliRunner().invoke(main, [*words, "--lang", "en", "--online"]).output

    assert "镜像：一个也没有：创建不了沙箱" in chinese
    assert "images: none: no sandbox can be made" in english
    assert len(chinese.splitlines()) == len(english.splitlines())
