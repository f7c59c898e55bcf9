"""The budgets of a task: hitting one ends it with that reason.

Asked before calls are worked off and before each model turn; the wall time is the coordinator's.
"""

from dataclasses import dataclass

from perlica.domain.task import EndReason
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """All finite, from the configuration. Equal calls count in a row, over all turns."""

    model_calls: int
    tool_calls: int
    tokens: int
    equal_calls_in_a_row: int


def find_overdrawn(budgets: Budgets, task: Task) -> EndReason | None:
    """The budget that calls on record exceed: none of them may run any more."""
    return EndReason.tool_calls if task.tool_calls > budgets.tool_calls else None


def find_spent(budgets: Budgets, task: Task, sessions: SessionStore) -> EndReason | None:
    """The budget that is used up before the next model turn, if one is."""
    if task.model_calls >= budgets.model_calls:
        return EndReason.model_calls
    if task.input_tokens + task.output_tokens >= budgets.tokens:
        return EndReason.tokens
    calls = sessions.list_calls(task.id)
    last = calls[-budgets.equal_calls_in_a_row :]
    kinds = {(call.tool, call.arguments.content) for call in last}
    if len(last) == budgets.equal_calls_in_a_row and len(kinds) == 1:
        return EndReason.repeated_calls
    return None
