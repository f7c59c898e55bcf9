"""Errors of the daemon, named by what the caller may do.

Every room raises them; the HTTP door turns one into an ErrorAnswer, the command line into a line.
A text carries ids and facts of the node, never content of a sandbox.
"""

from sandboxd.wire import ErrorAnswer, ErrorCode


class Fault(Exception):
    """Base: `remedy` says what helps, `kernel` holds the words of the kernel or of a program.

    `is_recorded`: it is the answer of an operation whose id is used up.
    """

    code: ErrorCode = "refused"

    def __init__(self, message: str, *, remedy: str = "", kernel: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.is_recorded = False
        self.remedy = remedy
        self.kernel = kernel

    def answer(self) -> ErrorAnswer:
        """The same as it travels."""
        return ErrorAnswer(
            error=self.code,
            message=self.message,
            remedy=self.remedy,
            kernel=self.kernel,
            recorded=self.is_recorded,
        )


class Refused(Fault):
    """Never in this form."""

    code: ErrorCode = "refused"


class Busy(Fault):
    """Nothing happened; the same request may come again."""

    code: ErrorCode = "busy"


class NotFound(Fault):
    """The sandbox, image or operation is not here."""

    code: ErrorCode = "not_found"


class Retryable(Fault):
    """Nothing happened, or it was undone."""

    code: ErrorCode = "retryable"


class OutcomeUnknown(Fault):
    """Something may have happened: look it up, never repeat."""

    code: ErrorCode = "unknown_outcome"


class Misconfigured(Fault):
    """The node cannot do this until somebody changes it."""

    code: ErrorCode = "misconfigured"


_CLASSES: dict[ErrorCode, type[Fault]] = {
    kind.code: kind for kind in (Refused, Busy, NotFound, Retryable, OutcomeUnknown, Misconfigured)
}


def fault_of(answer: ErrorAnswer) -> Fault:
    """The fault that a recorded answer stands for."""
    kind = _CLASSES[answer.error]
    fault = kind(answer.message, remedy=answer.remedy, kernel=answer.kernel)
    fault.is_recorded = answer.recorded
    return fault
