"""The operators' pages say the same in Chinese and in English: commands, keys, names, files.

Who adds a paragraph to one version and not to the other learns here what is missing where.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT, read_tree_file

FOLDER = ROOT / "docs" / "operations"
TRANSCRIPT = "a-project-in-a-sandbox.md"
"""A run of a test writes it; it has one version with an introduction in both languages."""
CHINESE = ".zh-CN.md"
PAIRS = (
    ("README.md", "README.zh-CN.md"),
    *(
        (f"docs/operations/{path.name}", f"docs/operations/{path.stem}{CHINESE}")
        for path in sorted(FOLDER.glob("*.md"))
        if not path.name.endswith(CHINESE) and path.name != TRANSCRIPT
    ),
)
_BLOCK = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMENT = re.compile(r"(^|\s+)#\s.*$")
_NAMED = re.compile(r"\bPerlica[A-Z]\w+|\bperlica_\w+|\b(?:SIGUSR1|SIGTERM)\b")
_HAN = re.compile(r"[\u3400-\u9fff\uff00-\uffef]")
_PROSE_BLOCKS = {"introduction"}


def _is_about_language(text: str) -> bool:
    """What has to differ: sample words in the reader's language, `--lang`, the page's own twin."""
    return bool(_HAN.search(text)) or "--lang" in text


def _tokens(document: str) -> Iterator[str]:
    """Everything in a page that is typed, written into a file or looked up by its name."""
    text = read_tree_file(document)
    for block in _BLOCK.findall(text):
        for line in block.splitlines():
            kept = _COMMENT.sub("", line).strip()
            if kept and kept.split(" ")[0] not in _PROSE_BLOCKS:
                yield re.sub(r" --lang (en|zh)", "", kept)
    prose = _BLOCK.sub("", text)
    for _, code in _CODE.findall(prose):
        if not _is_about_language(code):
            yield " ".join(code.split())
    yield from _NAMED.findall(_CODE.sub("", prose))
    for link in _LINK.findall(prose):
        if "README" not in link:
            yield f"link to {link.replace('.zh-CN', '').partition('#')[0]}"


def _lacking(one: Counter[str], other: Counter[str]) -> list[str]:
    return sorted(token for token in one if token not in other)


def test_every_page_for_operators_exists_in_both_languages() -> None:
    assert len(PAIRS) > 4
    assert [chinese for _, chinese in PAIRS if not (ROOT / chinese).is_file()] == []


@pytest.mark.parametrize(("english", "chinese"), PAIRS[1:])
def test_both_versions_name_the_same_commands_keys_metrics_and_files(
    english: str, chinese: str
) -> None:
    in_english, in_chinese = Counter(_tokens(english)), Counter(_tokens(chinese))

    missing = [f"{chinese} lacks: {token}" for token in _lacking(in_english, in_chinese)]
    missing += [f"{english} lacks: {token}" for token in _lacking(in_chinese, in_english)]
    assert not missing, "\n".join(["the two versions differ", *missing])


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_both_versions_have_the_same_code_blocks(english: str, chinese: str) -> None:
    one, other = (
        [re.sub(r" --lang (en|zh)", "", line) for line in _code_lines(document)]
        for document in (english, chinese)
    )

    missing = [f"{chinese} lacks: {line}" for line in one if line not in other]
    missing += [f"{english} lacks: {line}" for line in other if line not in one]
    assert not missing, "\n".join(["the two versions differ", *missing])


def _code_lines(document: str) -> list[str]:
    lines = [
        line for block in _BLOCK.findall(read_tree_file(document)) for line in block.splitlines()
    ]
    kept = (_COMMENT.sub("", line).strip() for line in lines)
    return [line for line in kept if line and line.split(" ")[0] not in _PROSE_BLOCKS]


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_both_versions_have_the_same_shape(english: str, chinese: str) -> None:
    shapes = [_shape(document) for document in (english, chinese)]

    assert shapes[0] == shapes[1], f"headings, list items and table rows of {english} and {chinese}"


def _shape(document: str) -> dict[str, int]:
    text = _BLOCK.sub("", read_tree_file(document))
    marks = {"headings": r"^#+ ", "points": r"^ *(?:-|\d+\.) ", "table rows": r"^\|"}
    return {
        name: len(re.findall(pattern, text, flags=re.MULTILINE)) for name, pattern in marks.items()
    }


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_each_version_leads_to_the_other(english: str, chinese: str) -> None:
    assert f"]({Path(chinese).name})" in read_tree_file(english)
    assert f"]({Path(english).name})" in read_tree_file(chinese)


@pytest.mark.parametrize(("english", "chinese"), PAIRS)
def test_the_chinese_version_is_chinese(english: str, chinese: str) -> None:
    del english
    prose = _CODE.sub("", _BLOCK.sub("", read_tree_file(chinese)))
    paragraphs = [part for part in prose.split("\n\n") if len(part) > 80]

    assert paragraphs
    assert [part for part in paragraphs if not _HAN.search(part)] == []
