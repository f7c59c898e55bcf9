"""From a file to a `Config`, or to everything that is wrong with the file.

Each section is judged by itself, then the relations between them; nothing stops at the first fault.
"""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ValidationError

from perlica.app.config.faults import FAULTS
from perlica.app.config.meaning import section_of
from perlica.app.config.positions import locate_keys
from perlica.app.config.problems import ConfigInvalid, Problem
from perlica.app.config.relations import Draft, check_relations
from perlica.app.config.root import Config
from perlica.app.config.source import guess_language, parse_toml, read_source
from perlica.app.config.translation import (
    FileFacts,
    fault_at,
    missing_key,
    translate,
    unknown_key,
)
from perlica.domain.texts import Language

_CAPABILITIES = frozenset({"sandbox"})
"""Sections whose absence, or lack of a value, turns a capability off instead of stopping."""

_SECTIONS: Mapping[str, type[BaseModel]] = {
    name: section
    for name, field in Config.model_fields.items()
    if (section := section_of(field.annotation)) is not None
}


def load_config(path: Path, *, language: Language | None = None) -> Config:
    """Read and judge the file at `path`; `language` overrides that of the error texts.

    Raises: ConfigInvalid with all problems at once.
    """
    text = read_source(path, language)
    return parse_config(text, file=str(path), language=language)


def parse_config(text: str, *, file: str = "-", language: Language | None = None) -> Config:
    """Judge a TOML text.

    Raises: ConfigInvalid with all problems at once.
    """
    data = parse_toml(text, file=file, language=language)
    judged = _Judgement(data, FileFacts(positions=locate_keys(text), root=Config))
    if judged.problems:
        said_in = language or guess_language(text)
        ordered = sorted(judged.problems, key=lambda p: (p.line is None, p.line or 0))
        raise ConfigInvalid(ordered, language=said_in, file=file)
    return Config.model_validate({**judged.sections, "lacks": judged.lacks})


class _Judgement:
    """The sections that are right, what a capability lacks, and every problem."""

    def __init__(self, data: Mapping[str, object], facts: FileFacts) -> None:
        """Judge everything."""
        self.sections: dict[str, BaseModel] = {}
        self.problems: list[Problem] = []
        self.lacks: dict[str, tuple[str, ...]] = {}
        self._facts = facts
        self.problems += [unknown_key((key,), facts) for key in data if key not in _SECTIONS]
        for name, section in _SECTIONS.items():
            self._judge_section(name, section, data)
        draft = Draft.of(self.sections)
        self.problems += [fault_at(key, FAULTS[c], facts) for key, c in check_relations(draft)]

    def _judge_section(
        self, name: str, section: type[BaseModel], data: Mapping[str, object]
    ) -> None:
        if name not in data and name in _CAPABILITIES:
            return
        try:
            self.sections[name] = section.model_validate(data.get(name, {}))
        except ValidationError as error:
            if name not in data:
                self.problems += self._missing_keys(name, section)
                return
            found = list(translate(error, name, self._facts))
            lacking = tuple(problem.key for problem in found if problem.code == "missing")
            if name in _CAPABILITIES:
                self.lacks[name] = lacking
                found = [problem for problem in found if problem.code != "missing"]
            self.problems += found

    def _missing_keys(self, name: str, section: type[BaseModel]) -> list[Problem]:
        return [
            missing_key((name, key), self._facts)
            for key, field in section.model_fields.items()
            if field.is_required()
        ]
