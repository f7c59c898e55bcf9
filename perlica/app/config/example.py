"""An example of the configuration, written from the declarations themselves.

`perlica example-config` prints it and config.example.toml is a copy of it (a test holds that), so
that neither can forget a setting or show another default.
"""

import json
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from perlica.app.config.meaning import is_narrow, meaning_of, say_expected, section_of
from perlica.app.config.root import Config
from perlica.domain.texts import Language

_HEAD = """\
# Perlica 的配置：一个文件，没有任何密钥。Perlica's configuration: one file, and no secret in it.
# 没有注释的行按实际填写；以 # 开头、后面没有空格的行是默认值，要改时去掉 #。
# Lines without # are for you to fill in; lines with # and no space show defaults, to be changed.
# 标有【必填】的没有默认值：启用那一节就要写；写明省略（或没有）时会怎样的是例子。
# [required] has no default: write it once you use that section; with "without it" it is an example.
# 值是 0 的号码必须改成真的，否则不会启动。A 0 has to become your number: nothing starts before.
# 检查 / check: perlica check-config FILE    诊断 / diagnose: perlica doctor FILE
"""
_SECTIONS: Mapping[str, tuple[str, str]] = {
    "service": ("服务本身", "the service itself"),
    "napcat": ("QQ 连接与目标群", "the connection to QQ and the target group"),
    "members": ("谁能用；只认 QQ 号", "who may use it; QQ numbers alone count"),
    "model": ("语言模型", "the language model"),
    "task": ("任务的预算；到了就结束", "budgets of a task; hitting one ends it"),
    "approval": ("审批", "approvals"),
    "sandbox": (
        "沙箱；整节缺少或缺值时关闭这项能力",
        "sandboxes; off while the section or a value of it is missing",
    ),
    "outbox": ("发消息", "sending"),
    "retention": ("保留期与磁盘", "how long things are kept, and the disk"),
    "context": ("给模型的说明", "what the model is told"),
    "policy": ("策略文件", "the policy file"),
    "protection": ("内容保护", "content protection"),
    "console": ("只读网页控制台", "the read-only web console"),
    "health": ("健康检查与指标", "health checks and metrics"),
    "log": ("日志", "the log"),
}
_COMMENTED = frozenset({"sandbox"})


def write_example() -> str:
    """The example as TOML text."""
    lines = [_HEAD.rstrip()]
    for name, (zh, en) in _SECTIONS.items():
        section = section_of(Config.model_fields[name].annotation)
        if section is not None:
            mark = "#" if name in _COMMENTED else ""
            lines += ["", f"# {zh} / {en}", *_write_section(name, section, mark)]
    return "\n".join(lines) + "\n"


def _write_section(
    path: str, section: type[BaseModel], mark: str, *, is_list: bool = False
) -> Iterator[str]:
    yield f"{mark}[[{path}]]" if is_list else f"{mark}[{path}]"
    inner: list[tuple[str, type[BaseModel], bool]] = []
    for key, field in section.model_fields.items():
        nested = section_of(field.annotation)
        if nested is not None:
            inner.append((key, nested, get_origin(field.annotation) is tuple))
        else:
            yield from _write_setting(key, field, mark)
    for key, nested, is_table_list in inner:
        yield ""
        yield from _write_section(f"{path}.{key}", nested, mark, is_list=is_table_list)


def _write_setting(key: str, field: FieldInfo, mark: str) -> Iterator[str]:
    meaning = meaning_of(field)
    expected = f"（{say_expected(field, Language.zh).strip()}）" if is_narrow(field) else ""
    needed = bool(mark) and field.is_required()
    zh, en = ("【必填】", "[required] ") if needed else ("", "")
    yield f"# {zh}{meaning.zh}{expected} / {en}{meaning.en}"
    if key in _YOURS:
        yield f"{mark}{key} = {_YOURS[key]}"
    elif key in _SHOWN_BY_EXAMPLE or field.is_required():
        yield f"{mark}{key} = {meaning.example}"
    else:
        yield f"#{key} = {meaning.example if field.default is None else _toml(field.default)}"


_SHOWN_BY_EXAMPLE = frozenset({"url", "key_file"})
"""Optional by themselves, yet nearly every configuration has them."""


_YOURS: Mapping[str, str] = {"group_id": "0", "self_id": "0", "owners": "[0]"}
"""Numbers that decide who is served and obeyed: 0 is refused until a real one stands there."""


def _toml(value: object) -> str:
    """A default as TOML: text, number, true or false, list."""
    if isinstance(value, Enum):
        return json.dumps(value.value)
    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(list(value) if isinstance(value, tuple) else value)
