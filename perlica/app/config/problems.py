"""What is wrong with the configuration, said for people: key, line, what it is, what to write.

Made by `translation` from pydantic's errors, by `relations` and by `source`. No problem holds a
value of the file except numbers that are out of range: anything else could be a pasted credential.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perlica.domain.errors import Misconfigured
from perlica.domain.texts import Language, Text

_PLACE = Text(zh="{key}（第 {line} 行）", en="{key} (line {line})")
_WHOLE_FILE = Text(zh="配置文件", en="the configuration file")
_SENTENCE = Text(zh="{place}：{wrong}。{remedy}。", en="{place}: {wrong}. {remedy}.")
_COUNT = Text(
    zh="配置有 {count} 处问题：{file}", en="the configuration has {count} problem(s): {file}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing to change. `key` is a dotted path, empty where the whole file is meant."""

    key: str
    code: str
    wrong: Text
    remedy: Text
    line: int | None = None

    def say(self, language: Language) -> str:
        """The problem on one line."""
        return _SENTENCE.say(
            language,
            place=self._place(language),
            wrong=self.wrong.say(language),
            remedy=self.remedy.say(language),
        )

    def _place(self, language: Language) -> str:
        if not self.key:
            return _WHOLE_FILE.say(language)
        if self.line is None:
            return self.key
        return _PLACE.say(language, key=self.key, line=self.line)


class ConfigInvalid(Misconfigured):
    """The configuration cannot be used; `problems` lists everything that is wrong with it."""

    def __init__(self, problems: Sequence[Problem], *, language: Language, file: str) -> None:
        """Keep all problems, and the language that the file itself asked for."""
        self.problems = tuple(problems)
        self.language = language
        self.file = file
        super().__init__("config_invalid", self.say(language))

    def say(self, language: Language) -> str:
        """All problems, one on each line, below a line that counts them."""
        head = _COUNT.say(language, count=len(self.problems), file=self.file)
        return "\n".join([head, *(f"- {problem.say(language)}" for problem in self.problems)])


def filled(text: Text, **fields: str | int) -> Text:
    """The text with its fields filled in, in both languages, still to be said."""
    return Text(
        zh=_braced(text.say(Language.zh, **fields)), en=_braced(text.say(Language.en, **fields))
    )


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
