"""One OneBot segment as Perlica speaks of it: text, a placeholder, metadata.

Addresses with `rkey` and the like are secrets that expire: no segment keeps a URL or a path.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from perlica.clients.onebot.fields import positive_number, text_of, whole_number
from perlica.clients.onebot.text import clean_text, one_line
from perlica.domain.message import Segment, SegmentKind

_LONGEST_NAME: Final = 200
_LONGEST_CAPTION: Final = 60
_LONGEST_JSON: Final = 65_536

Fields = Mapping[str, Any]


def read_segment(raw: object) -> Segment:
    """The segment; whatever cannot be understood is kept as `[type]`. Never raises."""
    if not isinstance(raw, dict):
        return _other("未知")
    kind = text_of(raw.get("type"))
    data = raw.get("data")
    reader = _READERS.get(kind)
    if reader is None:
        return _other(_LABELS.get(kind) or one_line(kind, _LONGEST_CAPTION) or "未知")
    return reader(data if isinstance(data, dict) else {})


def _other(label: str) -> Segment:
    return Segment(kind=SegmentKind.other, text=f"[{label}]")


def _label(label: str, caption: str) -> str:
    caption = one_line(caption, _LONGEST_NAME)
    return f"[{label}:{caption}]" if caption else f"[{label}]"


def _read_text(data: Fields) -> Segment:
    return Segment(kind=SegmentKind.text, text=clean_text(text_of(data.get("text"))))


def _read_at(data: Fields) -> Segment:
    if data.get("qq") == "all":
        return Segment(kind=SegmentKind.at_all, text="@全体成员")
    target = positive_number(data.get("qq"))
    if target is None:
        return _other("at")
    return Segment(kind=SegmentKind.at, text=f"@{target}", target=target)


def _read_reply(data: Fields) -> Segment:
    target = whole_number(data.get("id"))
    if target is None:
        return _other("回复")
    return Segment(kind=SegmentKind.reply, text="[回复]", target=target)


def _read_image(data: Fields) -> Segment:
    return _attachment(
        SegmentKind.image, data, handle=data.get("file"), label="图片", caption=data.get("summary")
    )


def _read_file(data: Fields) -> Segment:
    name = data.get("file") or data.get("name")
    return _attachment(
        SegmentKind.file, data, handle=data.get("file_id"), label="文件", caption=name
    )


def _read_audio(data: Fields) -> Segment:
    return _attachment(SegmentKind.audio, data, handle=data.get("file"), label="语音")


def _read_video(data: Fields) -> Segment:
    return _attachment(SegmentKind.video, data, handle=data.get("file"), label="视频")


def _attachment(
    kind: SegmentKind, data: Fields, *, handle: object, label: str, caption: object = ""
) -> Segment:
    size = whole_number(data.get("file_size"))
    return Segment(
        kind=kind,
        text=_label(label, text_of(caption)),
        name=one_line(_last_part(text_of(data.get("file") or data.get("name"))), _LONGEST_NAME),
        size_bytes=size if size is not None and size >= 0 else None,
        handle=_safe_handle(text_of(handle)),
    )


def _last_part(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def _safe_handle(handle: str) -> str:
    """The file id as given, unless it is an address (which would carry a key) or far too long."""
    is_address = "://" in handle or handle.startswith("base64")
    return "" if is_address or len(handle) > 2 * _LONGEST_NAME else clean_text(handle)


def _read_face(data: Fields) -> Segment:
    raw = _as_object(data.get("raw"))
    caption = text_of(raw.get("faceText")).removeprefix("/")
    return Segment(kind=SegmentKind.face, text=_label("表情", caption))


def _read_card(data: Fields) -> Segment:
    prompt = text_of(_as_object(data.get("data")).get("prompt"))
    return Segment(kind=SegmentKind.card, text=_label("卡片", prompt))


def _read_forward(_data: Fields) -> Segment:
    return Segment(kind=SegmentKind.forward, text="[合并转发]")


def _read_markdown(data: Fields) -> Segment:
    content = clean_text(text_of(data.get("content")))
    return Segment(kind=SegmentKind.other, text=f"[Markdown]{content}")


def _read_result(label: str) -> Callable[[Fields], Segment]:
    def read(data: Fields) -> Segment:
        return Segment(kind=SegmentKind.other, text=_label(label, text_of(data.get("result"))))

    return read


def _as_object(value: object) -> dict[str, Any]:
    """The value if it is an object, or the object that it holds as JSON text (CQ form), else {}."""
    if isinstance(value, str) and len(value) <= _LONGEST_JSON:
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


_READERS: Final[Mapping[str, Callable[[Fields], Segment]]] = {
    "text": _read_text,
    "at": _read_at,
    "reply": _read_reply,
    "image": _read_image,
    "file": _read_file,
    "record": _read_audio,
    "video": _read_video,
    "face": _read_face,
    "json": _read_card,
    "forward": _read_forward,
    "markdown": _read_markdown,
    "dice": _read_result("骰子"),
    "rps": _read_result("猜拳"),
}
_LABELS: Final[Mapping[str, str]] = {
    "mface": "表情",
    "xml": "卡片",
    "music": "音乐",
    "contact": "名片",
    "location": "位置",
    "share": "分享",
    "miniapp": "小程序",
    "poke": "戳一戳",
    "node": "合并转发",
    "onlinefile": "在线文件",
    "flashtransfer": "闪传",
}
