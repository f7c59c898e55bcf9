"""What a check gives: a level, a stable code, a sentence and what to do."""

from dataclasses import dataclass
from enum import StrEnum

from perlica.app.config.problems import filled
from perlica.domain.texts import Language, Text


class Level(StrEnum):
    """`note` is worth knowing and needs nobody; `warning` gives exit code 1, `error` 2."""

    ok = "ok"
    note = "note"
    warning = "warning"
    error = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the doctor. `subject` is what was looked at, such as `napcat` or a key."""

    level: Level
    code: str
    subject: str
    text: Text
    remedy: Text | None = None

    def as_json(self, language: Language) -> dict[str, str]:
        """The stable form of `--json`; `remedy` is empty where nothing is to do."""
        return {
            "level": self.level.value,
            "code": self.code,
            "subject": self.subject,
            "text": self.text.say(language),
            "remedy": self.remedy.say(language) if self.remedy else "",
        }


def ok(code: str, subject: str, text: Text, **fields: str | int) -> Finding:
    """Something is as it should be."""
    return Finding(level=Level.ok, code=code, subject=subject, text=filled(text, **fields))


def note(
    code: str, subject: str, text: Text, remedy: Text | None = None, **fields: str | int
) -> Finding:
    """Something worth knowing."""
    return _made(Level.note, code, subject, text=text, remedy=remedy, fields=fields)


def warning(code: str, subject: str, text: Text, remedy: Text, **fields: str | int) -> Finding:
    """Something that somebody should change."""
    return _made(Level.warning, code, subject, text=text, remedy=remedy, fields=fields)


def error(code: str, subject: str, text: Text, remedy: Text, **fields: str | int) -> Finding:
    """Something without which the service, or a part of it, cannot work."""
    return _made(Level.error, code, subject, text=text, remedy=remedy, fields=fields)


def foreign(text: str) -> Text:
    """A sentence of another part, which has only one language."""
    return filled(Text(zh="{said}", en="{said}"), said=text)


def _made(
    level: Level,
    code: str,
    subject: str,
    *,
    text: Text,
    remedy: Text | None,
    fields: dict[str, str | int],
) -> Finding:
    return Finding(
        level=level,
        code=code,
        subject=subject,
        text=filled(text, **fields),
        remedy=filled(remedy, **fields) if remedy else None,
    )
