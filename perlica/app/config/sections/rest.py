"""What the operator adds: a text for the model, another policy, the log."""

from typing import Annotated, Literal

from pydantic import Field

from perlica.app.config.meaning import Meaning
from perlica.app.config.sections.base import MIB, Section
from perlica.app.config.values import AbsolutePath, Paragraphs, Seconds, Whole, Word


class ContextSection(Section):
    """[context]: what the operator tells the model at the start of every task."""

    version: Annotated[
        Word,
        Meaning(
            zh="这段文字的版本，改动时一起改",
            en="version of the text; change both together",
            example='"1"',
        ),
    ] = "1"
    text: Annotated[
        Paragraphs,
        Meaning(
            zh="给模型的说明；不能放密钥，也不能改变规则",
            en="what the model is told; no credentials, and it cannot change rules",
            example='"构建用 dev 沙箱。"',
        ),
    ] = ""


class PolicySection(Section):
    """[policy]: another policy file than the packaged one."""

    file: Annotated[
        AbsolutePath | None,
        Meaning(
            zh="策略文件；省略就用随附的",
            en="the policy file; the packaged one without it",
            example='"/etc/perlica/policy.toml"',
        ),
    ] = None


class ProtectionSection(Section):
    """[protection]: rules of the operator's own beside the built-in ones."""

    rules_file: Annotated[
        AbsolutePath | None,
        Meaning(
            zh="自己的保护规则文件；省略就只用内置规则",
            en="file with protection rules of your own; only the built-in ones without it",
            example='"/etc/perlica/protection.toml"',
        ),
    ] = None


class LogSection(Section):
    """[log]: JSON lines to stderr, and to a file if one is named."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meaning(zh="日志级别", en="level of the log", example='"info"'),
    ] = "info"
    file: Annotated[
        AbsolutePath | None,
        Meaning(
            zh="日志文件；省略就只写 stderr",
            en="log file; without it only stderr",
            example='"/var/log/perlica/perlica.log"',
        ),
    ] = None
    max_bytes: Annotated[
        Whole,
        Field(ge=65_536, le=1024 * MIB),
        Meaning(
            zh="日志文件多大就换新", en="bytes after which a new file begins", example="10485760"
        ),
    ] = 10 * MIB
    keep_files: Annotated[
        Whole,
        Field(ge=1, le=100),
        Meaning(zh="保留几个旧日志文件", en="old log files that are kept", example="5"),
    ] = 5
    repeat_within_s: Annotated[
        Seconds,
        Field(ge=0, le=3600),
        Meaning(
            zh="同样的行在多少秒内合并计数，0 为不合并",
            en="seconds in which equal lines are only counted, 0 for never",
            example="30",
        ),
    ] = 30.0
