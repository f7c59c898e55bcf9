"""`make check` finds what the rules of the tree forbid, and nothing in a clean file."""

from pathlib import Path

import pytest

from tools.check import shapes, texts, tree


def _write(folder: Path, name: str, text: str) -> list[Path]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return [path]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("see https://pypi" + ".org/simple", "package registry"),
        ("open('/work" + "/main/x')", "one machine"),
        ("# TO" + "DO: later", "unfinished"),
        ("raise NotImplemented" + "Error", "unfinished"),
        ("<<<<" + "<<< ours", "merge"),
        ("words \t", "spaces at the end"),
        ("words\r", "carriage return"),
    ],
)
def test_a_forbidden_text_is_found_with_its_line(tmp_path: Path, line: str, reason: str) -> None:
    paths = _write(tmp_path, "page.md", f"a clean line\n{line}\n")

    (fault,) = texts.find_faults(paths)

    assert fault.startswith(f"{paths[0]}:2:")
    assert reason in fault


def test_a_file_that_is_no_text_is_found(tmp_path: Path) -> None:
    path = tmp_path / "blob.dat"
    path.write_bytes(b"\xff\xfe\x00")

    assert "neither UTF-8 text" in next(texts.find_faults([path]))


def test_a_missing_last_newline_is_found(tmp_path: Path) -> None:
    assert "no newline" in next(texts.find_faults(_write(tmp_path, "page.md", "words")))


def test_clean_chinese_and_english_text_passes(tmp_path: Path) -> None:
    paths = _write(tmp_path, "page.md", "在沙箱的 /home/user 里\n====\nplain words\n")

    assert list(texts.find_faults(paths)) == []


def test_a_long_file_is_found(tmp_path: Path) -> None:
    paths = _write(tmp_path, "long.py", "x = 1\n" * (shapes.MAX_FILE_LINES + 1))

    assert "401 lines" in next(shapes.find_faults(paths))


def test_a_long_function_is_found(tmp_path: Path) -> None:
    body = "    x = 1\n" * shapes.MAX_FUNCTION_LINES
    paths = _write(tmp_path, "long.py", f"def work():\n{body}")

    assert "work has 51 lines" in next(shapes.find_faults(paths))


def test_an_empty_name_is_found(tmp_path: Path) -> None:
    paths = _write(tmp_path, "perlica/utils/text.py", "x = 1\n")

    assert "'utils' says nothing" in next(shapes.find_faults(paths))


def test_a_tree_without_git_lists_the_same_files(monkeypatch: pytest.MonkeyPatch) -> None:
    by_git = set(tree.list_files())

    monkeypatch.setattr("shutil.which", lambda _: None)

    assert set(tree.list_files()) == by_git
