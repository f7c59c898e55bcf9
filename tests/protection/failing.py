"""Hooks for tests: a scan that fails or runs out of time, without touching anything private.

For test code alone; nothing of the service imports it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from perlica.protection import rules
from perlica.protection.budget import ScanIncomplete
from perlica.protection.sheet import Sheet


class RuleFailed(Exception):
    """What the failing rule raises."""


@contextmanager
def failing_rule(when: str = "") -> Iterator[None]:
    """While open, a rule raises on every text that holds `when`; on every text when it is empty."""
    wanted = when.encode()

    def fail(sheet: Sheet) -> None:
        if wanted in sheet.data:
            raise RuleFailed

    with rules.added(fail):
        yield


@contextmanager
def exhausted_deadline(when: str = "") -> Iterator[None]:
    """While open, the time of a scan is up as soon as its text holds `when`."""
    wanted = when.encode()

    def exhaust(sheet: Sheet) -> None:
        if wanted in sheet.data:
            sheet.budget.deadline_s = float("-inf")
            sheet.budget.check()
            raise ScanIncomplete("deadline")

    with rules.added(exhaust):
        yield
