"""What the gate says: one line for each claim, and how a check becomes lines.

A check returns its evidence as text, raises Broken when the claim does not hold and NotRun when it
cannot be put to the test here. Anything else that goes wrong counts as a claim that does not hold.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Outcome = Literal["pass", "fail", "not run"]
_MARKS: dict[Outcome, str] = {"pass": "pass   ", "fail": "FAIL   ", "not run": "not run"}
_MAX_DETAIL = 2000
_Bench = TypeVar("_Bench")


class Broken(Exception):
    """The claim does not hold; the text says what was seen."""


class NotRun(Exception):
    """The claim cannot be tried on this node; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One claim and what became of it. `detail` is the evidence, or the reason."""

    key: str
    claim: str
    outcome: Outcome
    detail: str
    took_ms: int = 0
    may_be_missing: bool = False

    @property
    def is_good(self) -> bool:
        """Whether a report with this line can pass: only what needs a cluster may be `not run`."""
        return self.outcome == "pass" or (self.outcome == "not run" and self.may_be_missing)

    def for_terminal(self) -> str:
        """One line of text."""
        detail = " ".join(self.detail.split())
        return f"{_MARKS[self.outcome]}  {self.key}: {self.claim}" + (
            f"  [{detail}]" if detail else ""
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Generic[_Bench]):
    """A claim and the way to try it on a bench. Many claims may come out of one way."""

    key: str
    claim: str
    run: Callable[[_Bench], str | tuple[Line, ...]]
    may_be_missing: bool = False


def try_check(check: Check[_Bench], bench: _Bench) -> Iterator[Line]:
    """Runs one check; never raises what the check raised."""
    began = time.monotonic()
    outcome: Outcome = "pass"
    try:
        found = check.run(bench)
    except NotRun as reason:
        outcome, found = "not run", str(reason)
    except Broken as reason:
        outcome, found = "fail", str(reason)
    except Exception as error:  # noqa: BLE001 (whatever it is, the claim was not shown to hold)
        outcome, found = "fail", f"{type(error).__name__}: {error}"
    if isinstance(found, tuple):
        yield from found
        return
    yield Line(
        key=check.key,
        claim=check.claim,
        outcome=outcome,
        detail=found[:_MAX_DETAIL],
        took_ms=round((time.monotonic() - began) * 1000),
        may_be_missing=check.may_be_missing,
    )


def require(condition: object, seen: str) -> None:
    """Raises Broken with `seen` unless the condition holds."""
    if not condition:
        raise Broken(seen)
