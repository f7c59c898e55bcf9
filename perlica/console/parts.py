"""The parts of the service as the overview lists them: connection, model, node, capabilities.

Wiring says how each is at the moment of asking; a console beside the service knows less.
"""

from dataclasses import dataclass
from enum import StrEnum

from perlica.domain.texts import Text


class Health(StrEnum):
    """`off` is switched off on purpose, `unknown` cannot be told from here."""

    ok = "ok"
    warning = "warning"
    fault = "fault"
    off = "off"
    unknown = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStatus:
    """One part: what it is called, how it is, one sentence about it, and what to do about that.

    `is_model` says that the tables know how it stands: its last answer, its last trouble.
    """

    name: Text
    health: Health
    text: Text
    remedy: Text | None = None
    is_model: bool = False
