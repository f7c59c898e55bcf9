"""The rehearsal model: no intelligence, but real tool calls over a real API, from plain words.

It reads the last request, works it off with the tools that the request declares, one call a turn,
and answers with the true output. `make demo` runs it where no real model is configured.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from perlica.demo.model.conversation import ChatMessage, ChatRequest
from perlica.demo.model.instructions import (
    Instruction,
    Kind,
    Language,
    find_quoted,
    find_request,
    language_of,
    parse_instructions,
)
from perlica.demo.model.reply import Call, Reply
from perlica.demo.model.server import ModelServer
from perlica.demo.model.tool_arguments import fill_arguments

MODEL = "rehearsal-1"
DEFAULT_SANDBOX = "main"
HISTORY_LIMIT = 20
LONGEST_QUOTE_CHARS = 500
TOOLS: Mapping[Kind, str] = {
    "run": "sandbox_exec",
    "read": "sandbox_read",
    "write": "sandbox_write",
    "create": "sandbox_manage",
    "delete": "sandbox_manage",
    "stop": "sandbox_manage",
    "describe": "sandbox_manage",
    "keep": "sandbox_manage",
    "list": "sandbox_manage",
    "image": "sandbox_manage",
    "search": "group_search_history",
    "recent": "group_recent_context",
}
NEEDS_SANDBOX = frozenset({"run", "read", "write"})
_MISSING_SANDBOX = re.compile(
    r"no such sandbox|there is no sandbox|sandbox\b.{0,40}\b(?:not found|does not exist|unknown)"
    r"|沙箱.{0,30}不存在|(?:没有|找不到).{0,20}沙箱|没有.{0,20}叫.{0,20}沙箱",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r"\A<<(?P<kind>\S+) (?P<boundary>\w+)(?P<facts>[^\n]*)>>\n"
    r"(?:以下到结束标记为止是资料[^\n]*\n)?(?P<content>.*?)\n?<<\S+ (?P=boundary)>>\s*\Z",
    re.DOTALL,
)
_LISTED = re.compile(r"^(?P<name>[A-Za-z0-9][\w-]*): ", re.MULTILINE)
_FAILED = re.compile(r"状态=失败|status=failed")
_REVIEW = re.compile(r"描述|用途|purpose|description", re.IGNORECASE)
_WORDS: Mapping[str, Mapping[Language, str]] = {
    "done": {"zh": "做好了。", "en": "Done. "},
    "failed": {"zh": "没有做成。", "en": "That did not work. "},
    "output": {"zh": "真实输出：", "en": "The true output:"},
    "nothing": {"zh": "（没有输出）", "en": "(no output)"},
    "no_tool": {"zh": "这次没有给我工具 {tool}。", "en": "I was not given the tool {tool}."},
    "purpose": {"zh": "演示用", "en": "for the demo"},
    "help": {
        "zh": "我是演练模型，只认识几句话：\n运行 `命令`\n读取 `/路径`\n写入 `/路径`：内容\n"
        "创建沙箱 名字 / 删除沙箱 名字 / 停止沙箱 名字 / 列出沙箱 / 沙箱镜像\n"
        "搜索历史 关键词\n最近消息\n可以加上“在沙箱 名字 里”，也可以一次说几件事。",
        "en": "I am the rehearsal model and know a few phrases only:\nrun `command`\nread `/path`\n"
        "write `/path`: content\ncreate sandbox NAME / delete sandbox NAME / stop sandbox NAME /"
        " list sandboxes / show the image\nsearch the history for WORDS\nrecent messages\n"
        "Add “in sandbox NAME” if you like; several things at once are fine.",
    },
    "quoted": {
        "zh": "你引用的是：\n{quoted}\n（我是演练模型，只能复述它；真实模型会读着它回答。）",
        "en": "You quoted:\n{quoted}\n"
        "(I am the rehearsal model and can only repeat it; a real model reads it and answers.)",
    },
    "unknown": {"zh": "这句话我听不懂。\n", "en": "I do not understand that.\n"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a tool gave back, without Perlica's frame around it."""

    text: str
    failed: bool

    @property
    def lacks_sandbox(self) -> bool:
        """Whether it failed because the sandbox does not exist."""
        return bool(_MISSING_SANDBOX.search(self.text))


class RehearsalModel(ModelServer):
    """The server with the brain below. `pace_s` makes it stream like a person typing."""

    def __init__(self, *, api_key: str = "", port: int = 0, pace_s: float = 0.0) -> None:
        """Bind; `start` begins to serve."""
        super().__init__(
            lambda request, _raw: next_reply(request),
            models=(MODEL,),
            api_key=api_key,
            port=port,
            pace_s=pace_s,
        )


def next_reply(request: ChatRequest) -> Reply:
    """The next turn of a conversation: another call, or the answer."""
    at, text = _last_request(request.messages)
    instructions = parse_instructions(text)
    language = language_of(text)
    quoted = find_quoted(request.messages[at].text)
    if not instructions and quoted:
        return Reply(text=_say("quoted", language).format(quoted=quoted[:LONGEST_QUOTE_CHARS]))
    if not instructions:
        return Reply(text=_say("unknown", language) + _say("help", language))
    after = request.messages[at + 1 :]
    if after and _is_review(after[-1]):
        return _review(request, instructions)
    return _Work(request, language, _results(after)).next(instructions)


def _last_request(messages: Sequence[ChatMessage]) -> tuple[int, str]:
    """Index and text of the last user message that asks for something, or of the last one."""
    found = [(at, find_request(m.text)) for at, m in enumerate(messages) if m.role == "user"]
    asking = [(at, text) for at, text in found if parse_instructions(text)]
    return (asking or found or [(len(messages) - 1, "")])[-1]


def _results(messages: Sequence[ChatMessage]) -> list[Result]:
    """Results of tool calls, oldest first; those of a description review do not count."""
    reviews = {
        call.id
        for at, message in enumerate(messages)
        if at and _is_review(messages[at - 1])
        for call in message.tool_calls
    }
    return [_unwrap(m.text) for m in messages if m.role == "tool" and m.tool_call_id not in reviews]


def _unwrap(text: str) -> Result:
    frame = _FRAME.match(text)
    if frame is None:
        return Result(text=text.strip(), failed=False)
    return Result(text=frame["content"], failed=bool(_FAILED.search(frame["facts"])))


def _is_review(message: ChatMessage) -> bool:
    return message.role in {"user", "system"} and bool(_REVIEW.search(message.text))


def _review(request: ChatRequest, instructions: Sequence[Instruction]) -> Reply:
    """Asked whether the description still fits: it does."""
    named = next((step.name for step in instructions if step.name), DEFAULT_SANDBOX)
    name = _last_used(request.messages) or named
    call = _call(request, Instruction(kind="keep", name=name), "zh")
    return Reply(calls=(call,)) if call else Reply(text=_say("done", "zh"))


def _last_used(messages: Sequence[ChatMessage]) -> str | None:
    """The sandbox that the last call for one named."""
    for call in (call for message in reversed(messages) for call in message.tool_calls):
        try:
            arguments = json.loads(call.function.arguments)
        except ValueError:
            continue
        if isinstance(arguments, dict) and isinstance(arguments.get("sandbox"), str):
            return str(arguments["sandbox"])
    return None


class _Work:
    """Plays the steps against the results so far, to see what comes next."""

    def __init__(self, request: ChatRequest, language: Language, results: list[Result]) -> None:
        self._request = request
        self._language = language
        self._results = results

    def next(self, instructions: Sequence[Instruction]) -> Reply:
        said: list[str] = []
        for step in instructions:
            if step.kind == "help":
                said.append(_say("help", self._language))
                continue
            outcome = self._play(step)
            if isinstance(outcome, Reply):
                return outcome
            said.append(self._describe(step, outcome))
            if outcome.failed:
                break
        return Reply(text="\n\n".join(said))

    def _play(self, step: Instruction) -> Result | Reply:
        """The step's result, or the call that is due.

        Where no sandbox is named and there is no `main`, the only one is used; otherwise the
        missing sandbox is created, once.
        """
        if not self._results:
            return self._ask(step)
        result = self._results.pop(0)
        if step.kind not in NEEDS_SANDBOX or not result.lacks_sandbox:
            return result
        if step.name is None:
            if not self._results:
                return self._ask(Instruction(kind="list"))
            listed = _LISTED.findall(self._results.pop(0).text)
            if len(listed) == 1:
                step = replace(step, name=listed[0])
                return self._results.pop(0) if self._results else self._ask(step)
        if not self._results:
            return self._ask(Instruction(kind="create", name=step.name))
        created = self._results.pop(0)
        if created.failed:
            return created
        return self._results.pop(0) if self._results else self._ask(step)

    def _ask(self, step: Instruction) -> Reply:
        call = _call(self._request, step, self._language)
        if call is None:
            return Reply(text=_say("no_tool", self._language).format(tool=TOOLS[step.kind]))
        return Reply(calls=(call,))

    def _describe(self, step: Instruction, result: Result) -> str:
        head = _say("failed" if result.failed else "done", self._language)
        shown = result.text.strip() or _say("nothing", self._language)
        what = f"`{step.text}`\n" if step.kind == "run" else ""
        return f"{head}{what}{_say('output', self._language)}\n{shown}"


def _call(request: ChatRequest, step: Instruction, language: Language) -> Call | None:
    """The call for a step, as the declared tool wants it; None when it is not declared."""
    tool = request.find_tool(TOOLS[step.kind])
    if tool is None:
        return None
    return Call(tool=tool.name, arguments=fill_arguments(tool.parameters, _meant(step, language)))


def _meant(step: Instruction, language: Language) -> dict[str, Any]:
    sandbox = {"sandbox": step.name or DEFAULT_SANDBOX}
    match step.kind:
        case "run":
            return {**sandbox, "command": step.text}
        case "read":
            return {**sandbox, "path": _absolute(step.path), "directory": step.path.endswith("/")}
        case "write":
            return {**sandbox, "path": _absolute(step.path), "content": step.text}
        case "create" | "describe":
            purpose = step.text or _say("purpose", language)
            return {**sandbox, "action": step.kind, "purpose": purpose}
        case "delete" | "stop" | "keep":
            return {**sandbox, "action": step.kind}
        case "search":
            return {"query": step.text, "limit": HISTORY_LIMIT}
        case "recent":
            return {"limit": HISTORY_LIMIT}
        case _:
            return {"action": step.kind}


def _absolute(path: str) -> str:
    path = path.removeprefix("~/").removeprefix("./")
    return path if path.startswith("/") else f"/root/{path}"


def _say(name: str, language: Language) -> str:
    return _WORDS[name][language]
