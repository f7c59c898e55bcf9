"""Label values: only words from lists of ours, and few of them.

A label value that somebody outside could choose would carry his text into the monitoring, and each
new one would cost memory for ever.
"""

import re
from typing import Final

OTHER: Final = "other"
_WORD: Final = re.compile(r"[a-z][a-z0-9_.-]{0,39}", re.ASCII)


class Words:
    """Lets words of our own making through, at most so many different ones; the rest is `other`."""

    def __init__(self, most: int) -> None:
        """Start empty."""
        self._most = most
        self._seen: set[str] = set()

    def admit(self, word: object) -> str:
        """The word, or `other` when it does not look like one of ours or there are too many."""
        if not isinstance(word, str) or not _WORD.fullmatch(word):
            return OTHER
        if word not in self._seen:
            if len(self._seen) >= self._most:
                return OTHER
            self._seen.add(word)
        return word
