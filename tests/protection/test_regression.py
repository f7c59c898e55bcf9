"""The committed regression corpus: redacted samples, made anew and compared."""

import json
from pathlib import Path
from typing import Any

import pytest

from perlica.protection import Channel, protect
from tests.protection.regression.generate import FOLDER, rows

FILES = sorted(FOLDER.glob("*.jsonl"))


def committed(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_the_committed_samples_are_what_protection_makes_today() -> None:
    assert {file.stem: committed(file) for file in FILES} == rows()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_sample_was_redacted(file: Path) -> None:
    assert all(row["status"] == "redacted" for row in committed(file))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_nothing_is_found_in_a_redacted_sample(file: Path) -> None:
    for row in committed(file):
        again = protect(row["redacted"], Channel.MESSAGE)
        assert (again.content, again.finding_count) == (row["redacted"], 0), row["name"]
