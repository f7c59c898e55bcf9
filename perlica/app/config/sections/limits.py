"""What a task thinks with and may use, and the periods that the specification fixes."""

from typing import Annotated

from pydantic import Field, Strict

from perlica.app.config.meaning import Meaning
from perlica.app.config.sections.base import MIB, Section
from perlica.app.config.values import Seconds, Whole
from perlica.runtimes.names import RuntimeName


class TaskSection(Section):
    """[task]: who thinks, and budgets of a task; hitting one ends the task with that reason."""

    runtime: Annotated[
        RuntimeName,
        Meaning(
            zh="由谁思考；native 直接调用 [model] 的模型",
            en="who thinks; native asks the model of [model] itself",
            example='"native"',
        ),
    ] = RuntimeName.native
    wall_time_s: Annotated[
        Seconds,
        Field(ge=1, le=86_400),
        Meaning(
            zh="任务时长上限（不含等待审批），秒",
            en="seconds that a task may take, waiting for approval not counted",
            example="1800",
        ),
    ] = 1800.0
    max_model_calls: Annotated[
        Whole,
        Field(ge=1, le=1000),
        Meaning(zh="模型调用次数上限", en="model calls of a task", example="40"),
    ] = 40
    max_tool_calls: Annotated[
        Whole,
        Field(ge=1, le=5000),
        Meaning(zh="工具调用次数上限", en="tool calls of a task", example="80"),
    ] = 80
    max_tokens: Annotated[
        Whole,
        Field(ge=1000, le=100_000_000),
        Meaning(zh="输入加输出的 token 上限", en="tokens in and out of a task", example="400000"),
    ] = 400_000
    max_equal_calls: Annotated[
        Whole,
        Field(ge=1, le=50),
        Meaning(zh="连续相同的调用最多几次", en="equal calls in a row before it ends", example="3"),
    ] = 3
    window_minutes: Annotated[
        Whole,
        Field(ge=1, le=15),
        Meaning(
            zh="任务窗口往前多少分钟，只能收紧",
            en="minutes of talk in the window; can only be tightened",
            example="15",
        ),
    ] = 15
    window_messages: Annotated[
        Whole,
        Field(ge=1, le=30),
        Meaning(
            zh="任务窗口最多几条消息，只能收紧",
            en="messages in the window; can only be tightened",
            example="30",
        ),
    ] = 30
    window_code_points: Annotated[
        Whole,
        Field(ge=100, le=24_000),
        Meaning(
            zh="任务窗口最多几个字符，只能收紧",
            en="characters in the window; can only be tightened",
            example="24000",
        ),
    ] = 24_000
    progress_after_s: Annotated[
        Seconds,
        Field(ge=1, le=3600),
        Meaning(zh="多少秒后开始报进度", en="seconds before the first progress line", example="20"),
    ] = 20.0
    progress_every_s: Annotated[
        Seconds,
        Field(ge=1, le=3600),
        Meaning(zh="进度之间的间隔，秒", en="seconds between progress lines", example="60"),
    ] = 60.0
    max_progress_lines: Annotated[
        Whole,
        Field(ge=0, le=20),
        Meaning(
            zh="一个任务最多几条进度，0 为不报",
            en="progress lines of a task, 0 for none",
            example="5",
        ),
    ] = 5
    show_usage: Annotated[
        bool,
        Strict(),
        Meaning(
            zh="任务的最后一条消息是否写明用量",
            en="whether the last message of a task says what it used",
            example="false",
        ),
    ] = False


class ApprovalSection(Section):
    """[approval]: ten minutes by the specification, which can only be shortened."""

    lifetime_s: Annotated[
        Seconds,
        Field(ge=10, le=600),
        Meaning(
            zh="审批有效秒数，只能缩短",
            en="seconds that an approval is valid; can only be shortened",
            example="600",
        ),
    ] = 600.0


class RetentionSection(Section):
    """[retention]: how long messages and backups are kept, and disk care.

    Everything else has the fixed age of the specification (保留期固定为) and no key.
    """

    messages_days: Annotated[
        Whole,
        Field(ge=1, le=90),
        Meaning(zh="群消息保留天数", en="days that messages are kept", example="90"),
    ] = 90
    backup_days: Annotated[
        Whole,
        Field(ge=1, le=90),
        Meaning(zh="备份保留天数", en="days that backups are kept", example="14"),
    ] = 14
    min_free_bytes: Annotated[
        Whole,
        Field(ge=16 * MIB, le=2**50),
        Meaning(
            zh="状态目录所在磁盘至少要剩的字节数",
            en="bytes that the state directory's disk must have left",
            example="536870912",
        ),
    ] = 512 * MIB
