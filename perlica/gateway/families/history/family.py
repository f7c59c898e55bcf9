"""The history family: two bounded reads, always on."""

from typing import Final

from perlica.gateway.core.family import ToolFamily
from perlica.gateway.families.history.actions import ACTIONS
from perlica.gateway.families.history.settings import HistorySettings
from perlica.gateway.families.history.tools import GroupRecentContext, GroupSearchHistory

NAME: Final = "history"


def history_family(settings: HistorySettings) -> ToolFamily:
    """The family with these limits."""
    return ToolFamily(
        name=NAME,
        tools=(GroupRecentContext(settings), GroupSearchHistory(settings)),
        actions=ACTIONS,
    )
