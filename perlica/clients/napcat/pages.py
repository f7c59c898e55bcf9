"""How many messages a page of the group's history may hold, so that its answer fits into one frame.

The link keeps it from one connection to the next: an answer that is too large ends its connection.
"""

from dataclasses import replace
from typing import Final

from perlica.clients.napcat.catch_up import CatchUp

_SHRINK_BY: Final = 4
_SMALLEST: Final = 1
"""Of a page that is asked from no message; see `catch_up` for the others."""


class HistoryPages:
    """Belongs to the checker's thread of the connection of the moment."""

    def __init__(self, most_messages: int) -> None:
        """Begin with the largest page."""
        self._most_messages = most_messages
        self._all_there_is: CatchUp | None = None
        self.messages = most_messages

    def shrink(self, found: CatchUp) -> None:
        """An answer was too large; `found` is what came before it.

        With the smallest page it is a single message that does not fit: nobody can read past it.
        """
        if self.messages <= _SMALLEST:
            self._all_there_is = replace(found, is_complete=True)
        self.messages = max(_SMALLEST, self.messages // _SHRINK_BY)

    def take_all_there_is(self) -> CatchUp | None:
        """Once: what can be read at all, when the history cannot be read any further."""
        found, self._all_there_is = self._all_there_is, None
        return found

    def reset(self) -> None:
        """A catch-up came to its end: the next one begins with the largest page."""
        self.messages = self._most_messages
