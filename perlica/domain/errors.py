"""Errors named by what the caller may do next; clients translate their library's errors.

An error's text carries ids and reasons, never content of messages, files or credentials.
"""


class PerlicaError(Exception):
    """Base of Perlica's own errors: `code` is stable, the text is for people."""

    def __init__(self, code: str, text: str, *, remedy: str = "") -> None:
        """Keep the stable code, the text for people and, where there is one, the remedy."""
        super().__init__(text)
        self.code = code
        self.text = text
        self.remedy = remedy

    def __str__(self) -> str:
        """Code and text on one line."""
        return f"{self.code}: {self.text}"


class Refused(PerlicaError):
    """The request will not be done; say so to whoever asked."""


class Blocked(Refused):
    """Policy forbids it, whoever approves."""


class Retryable(PerlicaError):
    """Nothing happened; the same request may be made again."""


class StoreUnavailable(Retryable):
    """The database cannot take the write now; the whole step may be taken up again later."""


class OutcomeUnknown(PerlicaError):
    """It may have happened: look it up by its operation id, never repeat it."""


class Misconfigured(PerlicaError):
    """The capability stays off until an operator changes something."""


class Cancelled(PerlicaError):
    """The work was stopped on request; the effect, if any, is in the operation's row."""


class StaleState(PerlicaError):
    """A compare-and-set missed: somebody else moved the row first; all is rolled back."""
