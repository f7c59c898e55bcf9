"""`perlica config`: every setting in force, and where each value comes from."""

import json
from pathlib import Path

import click
from click.core import ParameterSource

from perlica.app.cli.options import (
    CONFIG_VARIABLE,
    config_option,
    file_argument,
    json_option,
    language_option,
    say_invalid,
)
from perlica.app.config import ConfigInvalid
from perlica.app.config.effective import Plain, Setting, as_toml, read_settings
from perlica.domain.texts import Language, Text, say_list
from perlica.protection import Channel, protect

_FILE = Text(zh="# 文件 {file}（{source}）", en="# file {file} ({source})")
_SOURCES = {
    ParameterSource.ENVIRONMENT: Text(
        zh=f"由环境变量 {CONFIG_VARIABLE} 指定", en=f"named by the environment's {CONFIG_VARIABLE}"
    ),
    ParameterSource.DEFAULT: Text(zh="默认位置", en="the default place"),
}
_NAMED = Text(zh="由命令行指定", en="named on the command line")
_LINE = Text(zh="第 {line} 行", en="line {line}")
_IN_FILE = Text(zh="文件", en="file")
_DEFAULT = Text(zh="默认", en="default")
_OFF = Text(zh="# 沙箱没有启用，缺少 {names}", en="# sandboxes are off for want of {names}")
_COLUMN = 52


@click.command("config", short_help="Show every setting in force and where it comes from.")
@file_argument
@config_option
@language_option
@json_option
@click.pass_context
def command(
    context: click.Context,
    file: Path | None,
    config_path: Path,
    *,
    language: Language | None,
    as_json: bool,
) -> None:
    """Show every setting in force and where it comes from: a line of the file, or the default.

    The only variable of the environment that counts is PERLICA_CONFIG, which names the file.
    Secrets' files are named, never read.

    Exit codes: 0 when the configuration can be used, 2 when it cannot.

    Raises: SystemExit with the exit code.
    """
    path = file or config_path
    try:
        config, settings = read_settings(path, language=language)
    except ConfigInvalid as invalid:
        say_invalid(invalid, language)
        raise SystemExit(2) from None
    said_in = language or config.service.language
    given = None if file else context.get_parameter_source("config_path")
    if as_json:
        click.echo(_as_json(path, given, settings))
        return
    source = _SOURCES.get(given, _NAMED) if given else _NAMED
    click.echo(_FILE.say(said_in, file=str(path), source=source.say(said_in)))
    for setting in settings:
        click.echo(_line(setting, said_in))
    if config.sandbox is None:
        lacks = say_list(config.lacks.get("sandbox") or ("sandbox",), said_in)
        click.echo(_OFF.say(said_in, names=lacks))


def _line(setting: Setting, language: Language) -> str:
    where = _DEFAULT if not setting.is_given else _LINE if setting.line else _IN_FILE
    said = where.say(language, line=setting.line or 0)
    shown = _shown(f"{setting.key} = {as_toml(setting.value)}")
    return f"{shown:<{_COLUMN}}  # {said}"


def _as_json(path: Path, source: ParameterSource | None, settings: tuple[Setting, ...]) -> str:
    names = {ParameterSource.ENVIRONMENT: "environment", ParameterSource.DEFAULT: "default"}
    found = {
        "file": str(path),
        "file_named_by": names.get(source, "argument") if source else "argument",
        "settings": [
            {
                "key": setting.key,
                "value": _shown_value(setting),
                "source": "file" if setting.is_given else "default",
                "line": setting.line,
            }
            for setting in settings
        ],
    }
    return json.dumps(found, ensure_ascii=False, indent=2)


def _shown_value(setting: Setting) -> Plain:
    written = as_toml(setting.value)
    shown = _shown(written)
    return setting.value if shown == written else shown


def _shown(text: str) -> str:
    """The text without anything that looks like a credential, whatever somebody wrote there."""
    protected = protect(text, Channel.LOG)
    return protected.content if protected.is_usable else protected.status.value
