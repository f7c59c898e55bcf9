"""`perlica check-config`: reads the configuration, starts nothing."""

import json
from pathlib import Path

import click

from perlica.app.cli.options import (
    config_option,
    file_argument,
    json_option,
    language_option,
    say_invalid,
)
from perlica.app.config import Config, ConfigInvalid, load_config
from perlica.app.secrets import secret_files
from perlica.domain.errors import Misconfigured
from perlica.domain.texts import Language, Text, escape_visible, say_list
from perlica.domain.texts.faults import say_fault
from perlica.gateway.core.policy_file import check_actions, read_policy
from perlica.gateway.known_actions import CATALOG

_SECRETS = Text(
    zh="没有读密钥文件（{keys}）：它们在不在、权限对不对，由 perlica doctor 检查",
    en="secret files were not read ({keys}): perlica doctor checks that they are there and private",
)
_POLICY = Text(
    zh="policy.file：{fault}（{text}）。{remedy}", en="policy.file: {fault} ({text}). {remedy}"
)
_VALID = Text(zh="{file}：有效，摘要 {digest}", en="{file}: valid, digest {digest}")
_STATE = {
    True: Text(zh="{name}：已启用（{reason}）", en="{name}: on ({reason})"),
    False: Text(zh="{name}：未启用（{reason}）。{remedy}", en="{name}: off ({reason}). {remedy}"),
}


@click.command("check-config", short_help="Read the configuration and explain mistakes.")
@file_argument
@config_option
@language_option
@json_option
def command(
    file: Path | None, config_path: Path, *, language: Language | None, as_json: bool
) -> None:
    """Read the configuration and explain every mistake at once.

    Says the key, its line, what is wrong and what to write; which capabilities are off and why.
    Secrets are not read and nothing is contacted: that is what `perlica doctor` does.

    Exit codes: 0 when it can be used, 2 when it cannot.

    Raises: SystemExit with 0, or 2 for an unusable configuration.
    """
    path = file or config_path
    try:
        config = load_config(path, language=language)
    except ConfigInvalid as invalid:
        if as_json:
            click.echo(_invalid_as_json(invalid, language or invalid.language))
        else:
            say_invalid(invalid, language)
        raise SystemExit(2) from None
    said_in = language or config.service.language
    wrong = _fault_of_policy(config)
    if wrong is not None:
        click.echo(_policy_as_json(wrong, said_in) if as_json else _say_policy(wrong, said_in))
        raise SystemExit(2)
    click.echo(_valid_as_json(config, said_in) if as_json else _say_valid(path, config, said_in))


def _fault_of_policy(config: Config) -> Misconfigured | None:
    """What is wrong with the policy file that is named; one that is not here is not judged."""
    file = config.policy.file
    if file is None or not file.exists():
        return None
    try:
        check_actions(read_policy(file), CATALOG)
    except Misconfigured as wrong:
        return wrong
    return None


def _say_policy(wrong: Misconfigured, language: Language) -> str:
    return _POLICY.say(
        language,
        fault=say_fault(wrong.code, language),
        text=escape_visible(wrong.text),
        remedy=escape_visible(wrong.remedy),
    )


def _policy_as_json(wrong: Misconfigured, language: Language) -> str:
    problem = {
        "key": "policy.file",
        "line": None,
        "code": wrong.code,
        "text": f"{say_fault(wrong.code, language)} ({wrong.text})",
        "remedy": wrong.remedy,
    }
    return json.dumps({"valid": False, "problems": [problem]}, ensure_ascii=False, indent=2)


def _say_valid(path: Path, config: Config, language: Language) -> str:
    lines = [_VALID.say(language, file=str(path), digest=config.short_digest)]
    lines += [
        _STATE[capability.on].say(
            language,
            name=capability.label.say(language),
            reason=capability.reason.say(language),
            remedy=capability.remedy.say(language),
        )
        for capability in config.capabilities()
    ]
    keys = say_list((key for key, _path in secret_files(config)), language)
    return "\n".join([*lines, _SECRETS.say(language, keys=keys)])


def _valid_as_json(config: Config, language: Language) -> str:
    capabilities = {
        capability.name: {"on": capability.on, "reason": capability.reason.say(language)}
        for capability in config.capabilities()
    }
    return json.dumps(
        {"valid": True, "digest": config.digest, "capabilities": capabilities, "problems": []},
        ensure_ascii=False,
        indent=2,
    )


def _invalid_as_json(invalid: ConfigInvalid, language: Language) -> str:
    problems = [
        {
            "key": problem.key,
            "line": problem.line,
            "code": problem.code,
            "text": problem.wrong.say(language),
            "remedy": problem.remedy.say(language),
        }
        for problem in invalid.problems
    ]
    return json.dumps({"valid": False, "problems": problems}, ensure_ascii=False, indent=2)
