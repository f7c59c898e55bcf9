"""The plain instructions the rehearsal model understands, in Chinese and English; a pure parser.

`find_request` picks the text that is meant from a user message, `parse_instructions` reads it;
`find_quoted` is what the request quotes.
"""

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "run", "read", "write", "create", "delete", "stop", "describe", "keep", "list", "image",
    "search", "recent", "help",
]  # fmt: skip
Language = Literal["zh", "en"]

_SPEAKER = re.compile(
    r"^\[\d{1,2}:\d{2}(?::\d{2})?\] [^\n]*?\(\d+\)(?P<mark>[^:：\n]*)[:：] ?", re.MULTILINE
)
_REQUEST_MARK = re.compile(r"请求|request|trigger", re.IGNORECASE)
_QUOTED_MARK = re.compile(r"引用|quoted", re.IGNORECASE)
_FRAME_END = re.compile(r"^<<[^\n]*>>$", re.MULTILINE)
_CONTINUATION = re.compile(r"\n {2}\| ?")
_ADDRESS = re.compile(r"^(?:\s|\[回复\]|@\S+)+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")

_QUOTED = (
    r"(?:```(?:[\w+-]*\n)?(?P<{0}1>.*?)\n?```|`(?P<{0}2>[^`]+)`|「(?P<{0}3>[^」]+)」"
    r"|“(?P<{0}4>[^”]+)”)"
)
_NAME = r"[`「“\"]?(?P<name>[A-Za-z0-9][\w-]*)[`」”\"]?"
_SANDBOX = r"(?:sandbox|沙箱)"
_PATH = rf"(?:{_QUOTED.format('path')}|(?P<path0>~?\.?/[^\s:：，,。]*))"
_REST = r"(?P<rest>[^\n]+)"
_TEXT = _QUOTED.format("text")
_FILE = r"(?:\s*文件|\s+file)?\s*[:：]?\s*"
_RUN = (
    rf"(?:\b(?:run|execute)(?:\s+the\s+command)?|运行|执行|跑)(?:一下)?(?:命令)?\s*[:：]?\s*{_TEXT}"
)
_RUN_BARE = rf"\A(?:run|execute|运行|执行)(?:一下)?(?:命令)?(?:\s*[:：]\s*|\s+){_REST}"
_WRITE = rf"(?:\bwrite(?:\s+to)?|写入|写){_FILE}{_PATH}\s*[:：]\s*(?:{_TEXT}|(?P<text0>.+))"
_READ = rf"(?:\bread|读取|查看|读)(?:一下)?{_FILE}{_PATH}"
_CREATE = (
    rf"(?:\b(?:create|make)|创建|新建)(?:\s+an?|\s+the|一个)?(?:\s+new)?\s*{_SANDBOX}\s*"
    rf"(?:named|called|名为|叫做?)?\s*{_NAME}"
    r"(?:\s*[,，]?\s*(?:\bfor\b|\bpurpose\b|用途|用于)(?:是|为)?\s*[:：]?\s*(?P<rest>[^\n,，；;。]+))?"
)
_DELETE = rf"(?:\b(?:delete|destroy|remove)|删除|删掉|销毁)(?:\s+the)?\s*{_SANDBOX}\s*{_NAME}"
_STOP = rf"(?:\bstop|停止|停掉)(?:\s+the)?\s*{_SANDBOX}\s*{_NAME}"
_KEEP = rf"(?:\bkeep|保留|保持)(?:\s+the)?\s*{_SANDBOX}\s*{_NAME}"
_DESCRIBE = rf"(?:\bdescribe|描述)(?:\s+the)?\s*{_SANDBOX}\s*{_NAME}\s*[:：]\s*{_REST}"
_LIST = (
    r"\b(?:list|show)(?:\s+(?:the|all))*\s+sandboxes\b"
    r"|列出(?:所有|全部)?的?沙箱|沙箱列表|有哪些沙箱"
)
_IMAGE = r"\b(?:show|what\s+is)\s+the\s+(?:sandbox\s+)?image\b|(?:沙箱|当前|看看?)镜像"
_SEARCH = (
    r"(?:\b(?:search|find\s+in)(?:\s+the)?\s+history(?:\s+for)?"
    rf"|(?:搜索|搜一?下?|查找)(?:群)?历史(?:消息|记录)?)\s*[:：]?\s*(?:{_TEXT}|{_REST})"
)
_RECENT = r"\brecent\s+(?:context|messages)\b|最近的?(?:群)?消息|最近聊了什么"
_HELP = r"\bhelp\b|帮助|你会什么|你能做什么"
_GRAMMAR: tuple[tuple[Kind, str], ...] = (
    ("run", _RUN),
    ("run", _RUN_BARE),
    ("write", _WRITE),
    ("read", _READ),
    ("create", _CREATE),
    ("delete", _DELETE),
    ("stop", _STOP),
    ("keep", _KEEP),
    ("describe", _DESCRIBE),
    ("list", _LIST),
    ("image", _IMAGE),
    ("search", _SEARCH),
    ("recent", _RECENT),
    ("help", _HELP),
)
_PATTERNS = [(kind, re.compile(text, re.IGNORECASE | re.DOTALL)) for kind, text in _GRAMMAR]
_IN_SANDBOX = re.compile(
    rf"\b(?:in|from|on)\s+(?:the\s+)?sandbox\s+{_NAME}"
    rf"|沙箱\s*{_NAME.replace('<name>', '<name_zh>')}\s*(?:里|中|上|内)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One thing to do. `name` is a sandbox, None when the text names none."""

    kind: Kind
    name: str | None = None
    path: str = ""
    text: str = ""


def find_request(message: str) -> str:
    """What is asked in a user message: the marked entry of a window, else the last entry, else all.

    Entries begin like `[12:03] 小明(30001)【请求】: `; their further lines begin with `  | `.
    """
    entries = list(_SPEAKER.finditer(message))
    if not entries:
        return _ADDRESS.sub("", message)
    marked = [entry for entry in entries if _REQUEST_MARK.search(entry["mark"])]
    return _ADDRESS.sub("", _text_of((marked or entries)[-1], message))


def find_quoted(message: str) -> str:
    """The entry of a window that the request quotes; empty when it quotes none."""
    entries = [e for e in _SPEAKER.finditer(message) if _QUOTED_MARK.search(e["mark"])]
    return _text_of(entries[-1], message) if entries else ""


def _text_of(entry: re.Match[str], message: str) -> str:
    """What stands behind the head of an entry, up to the next entry or the end of the frame."""
    later = _SPEAKER.search(message, entry.end())
    text = message[entry.end() : later.start() if later else len(message)]
    frame_end = _FRAME_END.search(text)
    text = text[: frame_end.start()] if frame_end else text
    return _CONTINUATION.sub("\n", text).rstrip("\n")


def language_of(text: str) -> Language:
    """Chinese when there is any Chinese character."""
    return "zh" if _CHINESE.search(text) else "en"


def parse_instructions(text: str) -> tuple[Instruction, ...]:
    """Everything that is asked, in its order; none when nothing is understood."""
    chosen = _IN_SANDBOX.search(text)
    default = (chosen["name"] or chosen["name_zh"]) if chosen else None
    found: list[Instruction] = []
    at = 0
    while hit := _first(text, at):
        kind, match = hit
        instruction = _build(kind, match, default)
        if kind == "create":
            default = instruction.name
        found.append(instruction)
        at = max(match.end(), at + 1)
    return tuple(found)


def _first(text: str, at: int) -> tuple[Kind, re.Match[str]] | None:
    hits = [(kind, match) for kind, pattern in _PATTERNS if (match := pattern.search(text, at))]
    return min(hits, key=lambda hit: hit[1].start(), default=None)


def _build(kind: Kind, match: re.Match[str], default: str | None) -> Instruction:
    groups = match.groupdict()
    given = [value for key, value in groups.items() if key.startswith("text") and value is not None]
    rest = (groups.get("rest") or "").strip()
    paths = [value for key, value in groups.items() if key.startswith("path") and value]
    return Instruction(
        kind=kind,
        name=groups.get("name") or default,
        path=paths[0].strip() if paths else "",
        text=given[0] if given else rest.strip('`「」“”"。'),
    )
