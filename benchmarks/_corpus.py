"""The shared corpus for the benchmarks of content protection: generator, scorer, and our own
spans.
"""

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

from perlica.protection import Channel, placeholder, protect

WHY_NOT: Final = "the shared corpus is not beside the project (set PERLICA_SHARED)"


def load(name: str) -> ModuleType | None:
    """Return a module of the corpus, None where the corpus is not there."""
    beside = Path(__file__).parents[1].parent / "shared"
    folder = Path(os.environ.get("PERLICA_SHARED", beside)) / "corpus"
    if not (folder / "corpusgen").is_dir():
        return None
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    sys.dont_write_bytecode = True
    return importlib.import_module(name)


def redacted_spans(text: str) -> list[list[int]]:
    """Return what vanished from `text`, in code points: all between two stretches that stayed."""
    pieces = placeholder.ANY.split(protect(text, Channel.MESSAGE).content)
    spans, at = [], len(pieces[0])
    for number, piece in enumerate(pieces[1:], 1):
        is_last = number == len(pieces) - 1
        end = len(text) - len(piece) if is_last else text.find(piece, at + 1) if piece else at + 1
        spans.append([at, end])
        at = end + len(piece)
    return spans
