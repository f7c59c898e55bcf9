"""The shared corpus: generator and scorer, and the spans that protection redacts in a sample."""

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from perlica.protection import Channel, placeholder, protect

_PROJECT = Path(__file__).parents[2]


def shared_folder() -> Path:
    return Path(os.environ.get("PERLICA_SHARED", _PROJECT.parent / "shared"))


def load(name: str) -> ModuleType:
    """Import a module of the corpus; skip where the corpus is not there, fail in CI."""
    folder = shared_folder() / "corpus"
    if not (folder / "corpusgen").is_dir():
        reason = f"the shared corpus is not at {folder.name}/ beside the project (PERLICA_SHARED)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        return importlib.import_module(name)
    finally:
        sys.dont_write_bytecode = written


def redacted_spans(text: str) -> list[list[int]]:
    """Return what vanished from `text`, in code points: all between two stretches that stayed."""
    content = protect(text, Channel.MESSAGE).content
    pieces = placeholder.ANY.split(content)
    if len(pieces) == 1:
        return []
    spans, at = [], len(pieces[0])
    for number, piece in enumerate(pieces[1:], 1):
        is_last = number == len(pieces) - 1
        end = len(text) - len(piece) if is_last else text.find(piece, at + 1) if piece else at + 1
        spans.append([at, end])
        at = end + len(piece)
    return spans


def findings(samples: list[dict[str, Any]]) -> dict[str, list[list[int]]]:
    return {sample["id"]: redacted_spans(sample["text"]) for sample in samples}
