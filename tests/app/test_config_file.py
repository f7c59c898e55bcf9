"""The file itself: whose it is, whether it is TOML, and on which line a key stands."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from perlica.app.config import ConfigInvalid, load_config, parse_config
from perlica.app.config.positions import line_of, locate_keys
from perlica.domain.texts import Language
from tests.app.configs import MINIMAL


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = \n", 1), ("[a]\nb = 1\nb = 2\n", 3), ('[a]\nb = "open\n', 2), ("a = [1,", None)],
)
def test_what_is_not_toml_is_told_with_its_line(text: str, line: int | None) -> None:
    with pytest.raises(ConfigInvalid) as invalid:
        parse_config(text)

    (problem,) = invalid.value.problems
    assert problem.code == "not_toml"
    assert problem.line == line
    assert problem.say(Language.zh)


def test_a_file_that_others_can_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "perlica.toml"
    path.write_text(MINIMAL)
    path.chmod(0o666)
    with pytest.raises(ConfigInvalid) as invalid:
        load_config(path)
    path.chmod(0o644)

    assert invalid.value.problems[0].code == "file_open_to_others"
    assert load_config(path) == parse_config(MINIMAL)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda path: None, "file_missing"),
        (Path.mkdir, "file_not_a_file"),
        (_fifo, "file_not_a_file"),
        (lambda path: path.write_bytes(b"#" * 300_000), "file_too_large"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "file_not_utf8"),
        (lambda path: path.write_bytes(b"\xef\xbb\xbf" + MINIMAL.encode()), "file_not_utf8"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_as_what_it_is(
    tmp_path: Path, make: Callable[[Path], object], code: str
) -> None:
    path = tmp_path / "perlica.toml"
    make(path)
    with pytest.raises(ConfigInvalid) as invalid:
        load_config(path, language=Language.en)

    assert [problem.code for problem in invalid.value.problems] == [code]
    assert invalid.value.language is Language.en


def test_a_mounted_configuration_map_is_read_through_its_links(tmp_path: Path) -> None:
    data = tmp_path / "..2026_11_30"
    data.mkdir()
    (data / "perlica.toml").write_text(MINIMAL)
    (tmp_path / "..data").symlink_to(data.name)
    (tmp_path / "perlica.toml").symlink_to("..data/perlica.toml")

    assert load_config(tmp_path / "perlica.toml") == parse_config(MINIMAL)


_NAMES = st.text("abcXYZ019_-. \"'#[]中", min_size=1, max_size=6)
_VALUES = st.recursive(
    st.integers(-9, 9) | st.booleans() | st.text("ab\"'#[]{}\n\\= 中", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(_NAMES, _VALUES, max_size=4), st.booleans())
def test_the_line_of_a_key_holds_that_key(data: dict[str, Any], multiline: bool) -> None:
    text = tomli_w.dumps(data, multiline_strings=multiline)
    positions = locate_keys(text)
    lines = text.split("\n")

    for name in data:
        line = line_of(positions, (name,))
        if line is not None and name.replace("_", "").isascii() and name.isalnum():
            assert name in lines[line - 1]
    assert len([path for path in positions if len(path) == 1]) == len(data)


def test_lines_are_found_around_strings_and_lists_of_several_lines() -> None:
    text = 'a = """\nx = 1\n"""\nb = [\n 1, # ]\n "]",\n]\n[c.d]\n'
    text += "\"e f\" = ''''\n''''\ng.h = {i = 1}\n"
    tomllib.loads(text)

    found = {".".join(path): line for path, line in locate_keys(text).items()}
    assert found == {"a": 1, "b": 4, "c": 8, "c.d": 8, "c.d.e f": 9, "c.d.g": 11, "c.d.g.h": 11}
