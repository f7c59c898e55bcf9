"""One finding of the doctor: what was looked at, how it is, what to do."""

from dataclasses import asdict, dataclass
from typing import Literal

Level = Literal["ok", "warning", "failure"]
_MARKS: dict[Level, str] = {"ok": "ok  ", "warning": "WARN", "failure": "FAIL"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    subject: str
    level: Level
    message: str
    remedy: str = ""

    def line(self) -> str:
        """For a terminal."""
        remedy = f"  -> {self.remedy}" if self.remedy else ""
        return f"{_MARKS[self.level]}  {self.subject}: {self.message}{remedy}"

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        return asdict(self)


def judge(subject: str, *, is_fine: bool, message: str, remedy: str) -> Finding:
    """Fine, or a failure with the remedy."""
    if is_fine:
        return Finding(subject=subject, level="ok", message=message)
    return Finding(subject=subject, level="failure", message=message, remedy=remedy)


def warn(subject: str, *, is_fine: bool, message: str, remedy: str) -> Finding:
    """Fine, or a warning with the remedy."""
    if is_fine:
        return Finding(subject=subject, level="ok", message=message)
    return Finding(subject=subject, level="warning", message=message, remedy=remedy)
