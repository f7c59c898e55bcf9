"""`python -m tools.setup [--for run|test]`: everything a checkout needs, and only what is missing.

The Makefile's `setup`, `demo` and `test` begin with it. Writes build/setup.json: how long each
step took when it was last really done, and what cannot work on this machine.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.setup import environment, system
from tools.setup.terminal import LOG, StepFailed, say

RECORD = Path("build/setup.json")
_LOCKS = {"run": ("build", "run", "demo"), "test": ("build", "run", "demo", "dev")}


class Course:
    """The steps of one run: does those that are due, times them, and gathers what cannot work."""

    def __init__(self) -> None:
        last = _last_record()
        self.seconds: dict[str, float] = last.get("steps", {})
        self.not_offered: list[str] = last.get("not_offered", [])
        self.did_work = False
        self.limits: list[str] = []

    def take(self, title: str, *, done: bool, work: Callable[[], None]) -> None:
        """Do one step unless it is already done."""
        if done:
            return
        say(f"  ... {title}")
        begin = time.monotonic()
        work()
        self.seconds[title] = round(time.monotonic() - begin, 1)
        self.did_work = True
        say(f"   ok {title} ({self.seconds[title]} s)")

    def write_record(self, again_s: float) -> None:
        """Write build/setup.json; a run that found everything in place keeps the older figures."""
        record = {
            "seconds": round(sum(self.seconds.values()), 1),
            "steps": self.seconds,
            "again_seconds": None if self.did_work else round(again_s, 2),
            "limits": self.limits,
            "not_offered": self.not_offered,
        }
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Run set-up; the exit code is 0, or 1 when a step failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.setup", description=__doc__)
    parser.add_argument("--for", dest="purpose", choices=sorted(_LOCKS), default="test")
    purpose = parser.parse_args().purpose
    begin = time.monotonic()
    course = Course()
    try:
        _run_steps(course, purpose)
    except StepFailed as failure:
        say(f"  FAILED: {failure}\n  The whole output is in {LOG}.")
        return 1
    elapsed_s = time.monotonic() - begin
    course.write_record(elapsed_s)
    say(f"Set-up is complete ({elapsed_s:.1f} s).")
    return 0


def _run_steps(course: Course, purpose: str) -> None:
    _complete_system(course, system.find_missing(with_tests=purpose == "test"))
    course.take(
        "virtual environment",
        done=environment.interpreter_is_current(),
        work=environment.make_environment,
    )
    locks = _locks_for(purpose)
    course.take(
        "Python packages",
        done=environment.packages_are_current(locks),
        work=lambda: environment.install_packages(locks),
    )
    course.take(
        "Perlica and the native part",
        done=environment.project_is_current(),
        work=environment.install_project,
    )
    if os.geteuid() != 0:
        _limit(course, "sandboxes need root (they mount file systems): start with sudo")


def _complete_system(course: Course, missing: tuple[system.SystemPart, ...]) -> None:
    """Install what is missing; what this system does not offer is asked for only once."""
    due = tuple(part for part in missing if part.package not in course.not_offered)
    if due and system.may_install():
        course.take("system packages", done=False, work=lambda: system.install(due))
        missing = tuple(part for part in missing if not system.is_installed(part))
        course.not_offered = [part.package for part in missing]
    for part in missing:
        _limit(course, f"{part.package}: {part.without} ({system.explain_absence()})")


def _limit(course: Course, text: str) -> None:
    course.limits.append(text)
    say(f"  !!! {text}")


def _locks_for(purpose: str) -> tuple[str, ...]:
    """What a checkout once got for its tests it keeps: `make demo` must not undo `make test`."""
    if environment.packages_are_current(_LOCKS["test"]):
        return _LOCKS["test"]
    return _LOCKS[purpose]


def _last_record() -> dict[str, Any]:
    try:
        return dict(json.loads(RECORD.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


if __name__ == "__main__":
    sys.exit(main())
