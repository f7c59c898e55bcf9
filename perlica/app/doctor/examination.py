"""Runs every check and puts the findings together; a check that breaks is a finding itself."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perlica.app.capabilities.checking import CHECKS
from perlica.app.config import Config, ConfigInvalid, Problem, load_config
from perlica.app.config.problems import filled
from perlica.app.doctor import database, files, host, outside
from perlica.app.doctor.findings import Finding, Level, error, ok
from perlica.app.parts import compare_nodes
from perlica.domain.texts import Language, Text

JSON_SCHEMA_VERSION = 1

_Check = Callable[[], Iterable[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings in order, and the language they are said in."""

    findings: tuple[Finding, ...]
    language: Language

    @property
    def exit_code(self) -> int:
        """0: nothing to do; 1: warnings; 2: errors."""
        levels = {finding.level for finding in self.findings}
        if Level.error in levels:
            return 2
        return 1 if Level.warning in levels else 0

    def as_json(self) -> str:
        """The stable form: new codes may come, keys and levels stay."""
        return json.dumps(
            {
                "schema": JSON_SCHEMA_VERSION,
                "status": ("ok", "warnings", "errors")[self.exit_code],
                "findings": [finding.as_json(self.language) for finding in self.findings],
            },
            ensure_ascii=False,
            indent=2,
        )


def examine(path: Path, *, language: Language | None = None, online: bool = False) -> Report:
    """Examine the service that the configuration at `path` describes; changes nothing.

    `online` lets it log in at NapCat and ask the model one question.
    """
    program = list(host.check_program())
    try:
        config = load_config(path, language=language)
    except ConfigInvalid as invalid:
        problems = [_finding_of(problem, invalid.file) for problem in invalid.problems]
        return Report(findings=(*program, *problems), language=language or invalid.language)
    config = compare_nodes(config, may_be_silent=True)
    findings = [*program, ok("config_ok", "config", _CONFIG_OK, digest=config.short_digest)]
    for name, check in _checks(config, online=online).items():
        findings += _run(name, check)
    return Report(findings=tuple(findings), language=language or config.service.language)


def _checks(config: Config, *, online: bool) -> Mapping[str, _Check]:
    return {
        "clock": partial(host.check_clock, config),
        "members": partial(host.check_members, config),
        "secrets": partial(files.check_secrets, config),
        "policy": partial(files.check_policy, config),
        "protection": partial(files.check_protection, config),
        "context": partial(files.check_context, config),
        "log": partial(files.check_log, config),
        "state": partial(files.check_state_directory, config),
        "database": partial(database.check_stored, config),
        "napcat": partial(outside.check_napcat, config, online=online),
        "model": partial(outside.check_model, config, online=online),
        **{
            name: partial(check, config)
            for checks in CHECKS.values()
            for name, check in checks.items()
        },
        "capabilities": partial(host.check_capabilities, config),
    }


def _run(name: str, check: _Check) -> Iterator[Finding]:
    try:
        yield from check()
    except Exception as failure:
        kind = type(failure).__name__
        yield error("check_failed", name, _CHECK_FAILED, _REPORT_IT, kind=kind)


def _finding_of(problem: Problem, file: str) -> Finding:
    """A problem at its line, or of the whole file, which is named."""
    place = Text(zh="{file}：", en="{file}: ")
    if problem.line:
        place = Text(zh="第 {line} 行：", en="line {line}: ")
    zh, en = (
        place.say(language, line=problem.line or 0, file=file) + problem.wrong.say(language)
        for language in (Language.zh, Language.en)
    )
    return Finding(
        level=Level.error,
        code=problem.code,
        subject=problem.key or "config",
        text=filled(Text(zh="{zh}", en="{en}"), zh=zh, en=en),
        remedy=problem.remedy,
    )


_CONFIG_OK = Text(zh="配置有效，摘要 {digest}", en="the configuration is valid, digest {digest}")
_CHECK_FAILED = Text(zh="这项检查自己出了错（{kind}）", en="the check itself broke ({kind})")
_REPORT_IT = Text(
    zh="这是程序的问题，请连同这个代码反馈", en="this is a fault of the program; please report it"
)
