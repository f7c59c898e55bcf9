"""The connection to NapCat and what is sent over it (facts of NapCat: A1 to A16, O1 to O8)."""

from typing import Annotated

from pydantic import Field

from perlica.app.config.meaning import Meaning
from perlica.app.config.sections.base import MIB, Section
from perlica.app.config.values import (
    AbsolutePath,
    ListenAddress,
    QqNumber,
    Seconds,
    Whole,
    WsAddress,
)


class NapcatSection(Section):
    """[napcat]: the connection to NapCat, the target group and our own account."""

    url: Annotated[
        WsAddress | None,
        Meaning(
            zh="NapCat 正向 WebSocket 地址；与 listen 二选一",
            en="NapCat's WebSocket address; either this or listen",
            example='"ws://127.0.0.1:3001"',
        ),
    ] = None
    listen: Annotated[
        ListenAddress | None,
        Meaning(
            zh="反向 WebSocket 的监听地址；与 url 二选一",
            en="address where NapCat connects to us; either this or url",
            example='"127.0.0.1:6700"',
        ),
    ] = None
    token_file: Annotated[
        AbsolutePath,
        Meaning(
            zh="存放 NapCat token 的文件，权限 0600",
            en="file that holds NapCat's token, mode 0600",
            example='"/etc/perlica/secrets/napcat-token"',
        ),
    ]
    group_id: Annotated[
        QqNumber,
        Meaning(
            zh="目标群号，只服务这一个群，不加引号",
            en="number of the one group served, without quotes",
            example="600100200",
        ),
    ]
    self_id: Annotated[
        QqNumber,
        Meaning(
            zh="机器人自己的 QQ 号，不加引号",
            en="our own account's QQ number, without quotes",
            example="10000",
        ),
    ]
    connect_within_s: Annotated[
        Seconds,
        Field(ge=0.1, le=60),
        Meaning(zh="建立连接的时限，秒", en="seconds to connect in", example="5"),
    ] = 5.0
    call_within_s: Annotated[
        Seconds,
        Field(ge=0.1, le=120),
        Meaning(zh="一次查询调用的时限，秒", en="seconds for one read call", example="20"),
    ] = 20.0
    ping_every_s: Annotated[
        Seconds,
        Field(ge=0.1, le=120),
        Meaning(zh="探活间隔，秒", en="seconds between pings", example="20"),
    ] = 20.0
    silence_within_s: Annotated[
        Seconds,
        Field(ge=0.3, le=600),
        Meaning(
            zh="多久没有任何数据就重连，秒",
            en="seconds without any frame after which we reconnect",
            example="60",
        ),
    ] = 60.0
    reconnect_at_most_s: Annotated[
        Seconds,
        Field(ge=0.1, le=600),
        Meaning(zh="重连间隔的上限，秒", en="longest wait before a reconnect", example="30"),
    ] = 30.0
    max_frame_bytes: Annotated[
        Whole,
        Field(ge=65_536, le=50 * MIB),
        Meaning(zh="单帧上限，字节", en="largest frame in bytes", example="8388608"),
    ] = 8 * MIB
    inbound_frames: Annotated[
        Whole,
        Field(ge=64, le=100_000),
        Meaning(zh="待处理帧的队列长度", en="frames that may wait for intake", example="32768"),
    ] = 32_768
    catch_up_messages: Annotated[
        Whole,
        Field(ge=1, le=200),
        Meaning(
            zh="重连后补取多少条历史消息",
            en="history messages fetched after a reconnect",
            example="50",
        ),
    ] = 50
    mention_age_s: Annotated[
        Seconds,
        Field(ge=1, le=3600),
        Meaning(
            zh="补取到的 @ 消息多旧以内仍然受理，秒",
            en="age in seconds up to which a caught-up mention still makes a task",
            example="120",
        ),
    ] = 120.0


class OutboxSection(Section):
    """[outbox]: how messages are sent."""

    pace_s: Annotated[
        Seconds,
        Field(ge=0.01, le=60),
        Meaning(zh="两条消息的最小间隔，秒", en="seconds between two messages", example="1.5"),
    ] = 1.5
    per_minute: Annotated[
        Whole,
        Field(ge=1, le=600),
        Meaning(zh="每分钟最多几条", en="messages in a minute", example="20"),
    ] = 20
    busy_every_s: Annotated[
        Seconds,
        Field(ge=0, le=600),
        Meaning(
            zh="对同一成员的忙碌提示间隔，秒",
            en="seconds between two busy answers to the same member",
            example="10",
        ),
    ] = 10.0
    max_attempts: Annotated[
        Whole,
        Field(ge=1, le=20),
        Meaning(zh="确定没发出时最多试几次", en="attempts while surely not sent", example="5"),
    ] = 5
    napcat_within_s: Annotated[
        Seconds,
        Field(ge=0.1, le=60),
        Meaning(
            zh="交给 NapCat 的发送时限，秒",
            en="seconds that NapCat is given to send",
            example="15",
        ),
    ] = 15.0
    answer_within_s: Annotated[
        Seconds,
        Field(ge=0.2, le=120),
        Meaning(
            zh="等待发送结果的时限，秒，要比上一项长",
            en="seconds to wait for the answer, more than the former",
            example="20",
        ),
    ] = 20.0
    self_message_within_s: Annotated[
        Seconds,
        Field(ge=0.05, le=120),
        Meaning(
            zh="结果不明时等待自己消息出现的秒数",
            en="seconds to wait for our own message when a send is unknown",
            example="15",
        ),
    ] = 15.0
    muted_for_s: Annotated[
        Seconds,
        Field(ge=0.1, le=86_400),
        Meaning(
            zh="被禁言后多久再试，秒", en="seconds before another try when muted", example="600"
        ),
    ] = 600.0
    history_messages: Annotated[
        Whole,
        Field(ge=1, le=100),
        Meaning(
            zh="核对发送结果时查看几条历史",
            en="history messages looked at to settle an unknown send",
            example="20",
        ),
    ] = 20
    receipt_emoji_id: Annotated[
        Whole,
        Field(ge=0, le=999_999),
        Meaning(
            zh="受理任务时贴在原消息上的表情编号（76 是赞）；0 为不贴",
            en="emoticon put on a message whose task was taken (76: thumbs up); 0 for none",
            example="76",
        ),
    ] = 76
