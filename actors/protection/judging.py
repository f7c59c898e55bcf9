"""Whether a message of a member may still begin anything: not when it is old.

Asked by `actors.protection.intake` once the message is stored.
"""

from typing import Final

from perlica.domain.clock import now_ms
from perlica.domain.message import IncomingGroupMessage

_LIVE_WITHIN_MS: Final = 3_600_000
"""How late a message that comes live may be: clocks differ by minutes, not by hours."""


def is_fresh(message: IncomingGroupMessage, within_ms: int) -> bool:
    """Whether it was sent lately: within `within_ms` for one that was read back. QQ's clock may
    differ from ours, so what comes live has more time, but is old as well when it is hours late.
    """
    if not message.from_history:
        within_ms = max(within_ms, _LIVE_WITHIN_MS)
    return now_ms() - message.sent_at_ms <= within_ms
