"""Who we are, whom we serve and what we think with: the sections without which nothing starts."""

from typing import Annotated, Literal

from pydantic import Field, Strict

from perlica.app.config.meaning import Meaning
from perlica.app.config.sections.base import Section
from perlica.app.config.values import (
    AbsolutePath,
    HttpAddress,
    QqNumber,
    Seconds,
    TimeZoneName,
    Whole,
    Word,
)
from perlica.domain.texts import Language


class ServiceSection(Section):
    """[service]: where the service lives and how it speaks."""

    state_dir: Annotated[
        AbsolutePath,
        Meaning(
            zh="数据库等持久数据所在目录",
            en="directory of the database and all lasting data",
            example='"/var/lib/perlica"',
        ),
    ]
    language: Annotated[
        Language,
        Meaning(
            zh="群里和报错所用的语言",
            en="language of the group's texts and of error texts",
            example='"zh"',
        ),
    ] = Language.zh
    time_zone: Annotated[
        TimeZoneName,
        Meaning(
            zh="显示时间所用的时区（IANA 名称）",
            en="time zone of shown times (IANA name)",
            example='"Asia/Shanghai"',
        ),
    ] = "Asia/Shanghai"
    demo: Annotated[
        bool,
        Strict(),
        Meaning(
            zh="演示模式：允许没有闸门报告的沙箱，NapCat 必须在本机",
            en="demo mode: sandboxes without a gate report, NapCat on this machine only",
            example="false",
        ),
    ] = False
    stop_within_s: Annotated[
        Seconds,
        Field(ge=1, le=60),
        Meaning(zh="停止时最多等待的秒数", en="seconds that a stop may take at most", example="10"),
    ] = 10.0


_Numbers = Annotated[tuple[QqNumber, ...], Field(max_length=64)]


class MembersSection(Section):
    """[members]: QQ numbers are the only identity that grants anything."""

    owners: Annotated[
        _Numbers,
        Field(min_length=1),
        Meaning(
            zh="Owner 的 QQ 号：能审批，也算成员",
            en="QQ numbers of Owners: they approve, and are members too",
            example="[30001]",
        ),
    ]
    members: Annotated[
        _Numbers,
        Meaning(
            zh="其他成员的 QQ 号：能发起任务",
            en="QQ numbers of the other members: they may ask for tasks",
            example="[30002]",
        ),
    ] = ()


class ModelSection(Section):
    """[model]: the language model's service."""

    api: Annotated[
        Literal["openai", "anthropic"],
        Meaning(zh="接口种类", en="kind of interface", example='"openai"'),
    ] = "openai"
    base_url: Annotated[
        HttpAddress,
        Meaning(
            zh="接口地址，到 /v1 为止，不含密钥",
            en="address of the interface up to /v1, without any key",
            example='"https://api.deepseek.com/v1"',
        ),
    ]
    name: Annotated[Word, Meaning(zh="模型名称", en="name of the model", example='"deepseek-chat"')]
    key_file: Annotated[
        AbsolutePath | None,
        Meaning(
            zh="存放 API 密钥的文件，权限 0600；本机或内网模型可省略",
            en="file that holds the API key, mode 0600; not needed for a model inside",
            example='"/etc/perlica/secrets/model-key"',
        ),
    ] = None
    dialect: Annotated[
        Literal["auto", "deepseek", "kimi", "none"],
        Meaning(
            zh="接口的方言，auto 按地址判断",
            en="dialect of the interface; auto goes by the address",
            example='"auto"',
        ),
    ] = "auto"
    max_tokens_field: Annotated[
        Literal["auto", "max_tokens", "max_completion_tokens"],
        Meaning(
            zh="限制输出长度的字段名，auto 按地址判断",
            en="name of the field that limits the output; auto goes by the address",
            example='"auto"',
        ),
    ] = "auto"
    max_output_tokens: Annotated[
        Whole,
        Field(ge=64, le=131_072),
        Meaning(zh="单次输出上限，token", en="tokens of one answer", example="4096"),
    ] = 4096
    context_tokens: Annotated[
        Whole,
        Field(ge=4096, le=4_194_304),
        Meaning(zh="模型的上下文长度，token", en="tokens that the model can read", example="65536"),
    ] = 65_536
    connect_within_s: Annotated[
        Seconds,
        Field(ge=0.1, le=60),
        Meaning(zh="建立连接的时限，秒", en="seconds to connect in", example="10"),
    ] = 10.0
    first_token_within_s: Annotated[
        Seconds,
        Field(ge=0.1, le=600),
        Meaning(zh="等到第一个字的时限，秒", en="seconds until the first token", example="60"),
    ] = 60.0
    call_within_s: Annotated[
        Seconds,
        Field(ge=0.1, le=3600),
        Meaning(zh="一次调用的时限，秒", en="seconds for one try", example="300"),
    ] = 300.0
    total_within_s: Annotated[
        Seconds,
        Field(ge=0.1, le=7200),
        Meaning(
            zh="一次调用连同重试的时限，秒",
            en="seconds for a call with all its tries",
            example="600",
        ),
    ] = 600.0
    max_tries: Annotated[
        Whole,
        Field(ge=1, le=10),
        Meaning(zh="一次调用最多尝试几次", en="tries of one call", example="4"),
    ] = 4
