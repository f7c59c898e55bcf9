"""How the model's service stands, from the tables: its last answer, and what went wrong since.

Asked by `.status`, the console and the metrics: a restart forgets nothing of it.
"""

from dataclasses import dataclass
from typing import Final

from perlica.domain.task import EndReason
from perlica.domain.texts.models import TROUBLES
from perlica.stores.database import Database

_LOOKED_AT: Final = 50
_ENDED: Final = f"""
SELECT end_reason, ended_at_ms FROM tasks INDEXED BY tasks_by_age
WHERE ended_at_ms IS NOT NULL ORDER BY created_at_ms DESC LIMIT {_LOOKED_AT}
"""  # noqa: S608 - a constant
_ANSWERED: Final = """
SELECT created_at_ms FROM session_events INDEXED BY session_events_by_age
WHERE kind = 'assistant' ORDER BY created_at_ms DESC LIMIT 1
"""
SERVICE_TROUBLES: Final = tuple(reason for reason, one in TROUBLES.items() if one.is_service)
"""Reasons that every task would meet, in a fixed order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStanding:
    """`trouble` is None while nothing is known to be wrong; then `failed_at_ms` is None too."""

    answered_at_ms: int | None = None
    trouble: EndReason | None = None
    failed_at_ms: int | None = None


def read_model_standing(db: Database) -> ModelStanding:
    """The newest trouble of the service, if the model has not answered since."""
    row = db.query_one(_ANSWERED)
    answered = None if row is None else int(row["created_at_ms"])
    for ended in db.query(_ENDED):
        at_ms = int(ended["ended_at_ms"])
        if ended["end_reason"] in SERVICE_TROUBLES and at_ms >= (answered or 0):
            reason = EndReason(ended["end_reason"])
            return ModelStanding(answered_at_ms=answered, trouble=reason, failed_at_ms=at_ms)
    return ModelStanding(answered_at_ms=answered)
