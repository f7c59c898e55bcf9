"""A failed attempt that may be repeated, and the rule of repeating (docs/facts/models.md).

Only `perlica.clients.model.exchange` repeats, inside one `complete()`: nothing of a turn has been
seen by anybody before it is whole, so no tool of it can have been dispatched.
"""

import secrets
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar

from perlica.clients.model.settings import ModelSettings
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import monotonic_s, now_ms
from perlica.domain.errors import Cancelled, Retryable

_T = TypeVar("_T")
_RANDOM = secrets.SystemRandom()


class AttemptFailure(Exception):
    """This attempt failed and nothing happened by it.

    `wait_s` is the least wait that the server asked for; `is_stale` says that a kept connection
    turned out to be dead, which needs no wait.
    """

    def __init__(
        self, code: str, text: str, *, wait_s: float = 0.0, is_stale: bool = False
    ) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.wait_s = wait_s
        self.is_stale = is_stale


def run_attempts(
    attempt: Callable[[int, float], _T], settings: ModelSettings, cancel: CancelToken
) -> _T:
    """The first result of `attempt(number, give_up_at_s)`, which is repeated on a `AttemptFailure`.

    Raises:
        Retryable: the last allowed attempt failed, or the next could not begin before the total
        deadline.
        Cancelled: the token was set before an attempt or in a wait.
    """
    give_up_at_s = monotonic_s() + settings.total_s
    number = 1
    while True:
        cancel.check()
        try:
            return attempt(number, give_up_at_s)
        except AttemptFailure as failure:
            wait_s = choose_wait_s(number, failure, settings)
            if number >= settings.max_attempts or monotonic_s() + wait_s >= give_up_at_s:
                text = f"{failure.text} (attempt {number} of {settings.max_attempts})"
                raise Retryable(failure.code, text) from failure
            if cancel.wait(wait_s):
                raise Cancelled("cancelled", "the task was cancelled") from failure
        number += 1


def choose_wait_s(number: int, failure: AttemptFailure, settings: ModelSettings) -> float:
    """Seconds before the attempt after `number`: full jitter, no less than the server asked for."""
    if failure.is_stale and number == 1:
        return 0.0
    most_s = min(settings.backoff_cap_s, settings.backoff_base_s * 2 ** (number - 1))
    return max(failure.wait_s, _RANDOM.uniform(0.0, most_s))


def read_retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that a server asks for, in seconds, None where it asks for none (RFC 9110)."""
    exact_ms = _read_number(headers.get("retry-after-ms"))
    if exact_ms is not None:
        return exact_ms / 1000
    raw = headers.get("retry-after")
    seconds = _read_number(raw)
    if seconds is not None or raw is None:
        return seconds
    try:
        at_ms = parsedate_to_datetime(raw).timestamp() * 1000
    except (ValueError, OverflowError):
        return None
    return max(0.0, (at_ms - now_ms()) / 1000)


def _read_number(raw: str | None) -> float | None:
    try:
        number = float(raw) if raw is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None
