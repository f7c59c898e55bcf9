"""Thinking that a server leaves inside the text: taken away before anybody sees the answer.

Pure; used by `perlica.clients.model.drafts` for both APIs. What is thinking is decided by the table
of `perlica.clients.model.marks`: a block at the start of the text or of a line outside code; what
stands before a mark that closes and was opened in the prompt; and all that follows a mark that
never closes, for then no answer came.
"""

from typing import Final

from perlica.clients.model.marks import FRAME_MARKS, THINK_MARKS, ThinkMark

_FENCES: Final = ("```", "~~~")
_MOST: Final = 64
"""Blocks or signs that are taken away; where there are more, no answer is looked for."""
_STARTS: Final = tuple(frame.mark for frame in FRAME_MARKS if frame.at_start)
_ENDS: Final = tuple(frame.mark for frame in FRAME_MARKS if not frame.at_start)


def strip_thinking(text: str) -> str:
    """The answer in `text`, unchanged where the text holds no such mark."""
    text = _drop_frame(_drop_leading(text))
    text = _drop_frame(_drop_opened_in_prompt(text))
    return _drop_frame(_drop_blocks(text))


def _drop_leading(text: str) -> str:
    """Without the blocks that the text begins with."""
    for _ in range(_MOST):
        bare = text.lstrip()
        found = next((mark for mark in THINK_MARKS if bare.startswith(mark.opening)), None)
        if found is None:
            return text
        end = bare.find(found.closing, len(found.opening))
        if end < 0:
            return ""
        text = bare[end + len(found.closing) :].lstrip()
    return ""


def _drop_opened_in_prompt(text: str) -> str:
    """Without what stands before a closing mark whose opening was part of the prompt."""
    ends = [
        at + len(mark.closing)
        for mark in THINK_MARKS
        if mark.closing != "<|end|>" and (at := _find_unopened(text, mark)) >= 0
    ]
    return text[max(ends) :].lstrip() if ends else text


def _find_unopened(text: str, mark: ThinkMark) -> int:
    """Where `mark` closes before it opened, at the end of a line and outside code; else -1."""
    at = text.find(mark.closing)
    if at < 0 or 0 <= text.find(mark.opening) < at or _is_code(text[:at]):
        return -1
    after = text[at + len(mark.closing) :]
    ends_line = not after.partition("\n")[0].strip()
    begins_line = not text[:at].rpartition("\n")[2].strip()
    return at if ends_line or begins_line else -1


def _drop_blocks(text: str) -> str:
    """Without blocks that begin a line further down, outside code."""
    at = 0
    for _ in range(_MOST):
        found = _next_opening(text, at)
        if found is None:
            return text
        at, mark = found
        if _is_code(text[:at]):
            at += len(mark.opening)
            continue
        end = text.find(mark.closing, at)
        rest = text[end + len(mark.closing) :] if end >= 0 else ""
        text = f"{text[:at].rstrip()}\n{rest}" if rest else text[:at].rstrip()
    return text[:at]


def _next_opening(text: str, start: int) -> tuple[int, ThinkMark] | None:
    """The next opening mark after a line's end."""
    places = [
        (at + 1, mark) for mark in THINK_MARKS if (at := text.find("\n" + mark.opening, start)) >= 0
    ]
    return min(places, key=lambda place: place[0], default=None)


def _is_code(before: str) -> bool:
    """Whether what follows `before` stands in a fence or a code span that is still open."""
    lines = before.split("\n")
    fences = sum(line.lstrip().startswith(_FENCES) for line in lines)
    return fences % 2 == 1 or lines[-1].count("`") % 2 == 1


def _drop_frame(text: str) -> str:
    """Without signs of the chat template at either end."""
    for _ in range(_MOST):
        if (bare := text.lstrip()).startswith(_STARTS):
            text = next(bare.removeprefix(mark) for mark in _STARTS if bare.startswith(mark))
        elif (bare := text.rstrip()).endswith(_ENDS):
            text = next(bare.removesuffix(mark) for mark in _ENDS if bare.endswith(mark))
        else:
            break
    return text
