"""What the history family is configured with."""

from dataclasses import dataclass
from datetime import tzinfo

from perlica.gateway.core.approval_text import CHINA_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySettings:
    """The most that a read gives: messages, code points, days back; `zone` is that of its times."""

    messages: int
    code_points: int
    days: int
    zone: tzinfo = CHINA_TIME
