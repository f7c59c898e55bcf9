"""OneBot segments of every kind NapCat delivers, and their CQ text form.

Builders give the exact keys and types of the recorded frames; `say()` takes their results.
Source: docs/facts/napcat.md.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, TypedDict


class Segment(TypedDict):
    """One part of a message: its kind and the fields of that kind."""

    type: str
    data: dict[str, Any]


MEDIA_URL = "https://multimedia.nt.qq.com.cn/download?appid=1407&fileid=FILEIDDEMO&rkey=RKEYDEMO"
_CQ_CODE = re.compile(r"\[CQ:([A-Za-z0-9_.-]+)((?:,[^\[\]]*)?)\]")


def text(content: str) -> Segment:
    """Plain text; lone carriage returns become line feeds as in NapCat."""
    if "\n" not in content:
        content = content.replace("\r", "\n")
    return {"type": "text", "data": {"text": content}}


def at(qq: int | str) -> Segment:
    """A mention of one number, or of `"all"`."""
    return {"type": "at", "data": {"qq": str(qq)}}


def reply(message_id: int) -> Segment:
    """A quote of an earlier message."""
    return {"type": "reply", "data": {"id": str(message_id)}}


def image(name: str, *, size_bytes: int = 1234, url: str = MEDIA_URL) -> Segment:
    """A picture; the size is a string on the wire."""
    fields = {"summary": "", "file": name, "sub_type": 0, "url": url, "file_size": str(size_bytes)}
    return {"type": "image", "data": fields}


def market_face(name: str, emoji_id: str, *, package_id: int = 200000, key: str = "k") -> Segment:
    """A shop sticker, which arrives as an image without `sub_type`."""
    head = emoji_id[:2]
    return {
        "type": "image",
        "data": {
            "summary": name,
            "file": f"{head}-{emoji_id}.gif",
            "url": f"https://gxh.vip.qq.com/club/item/parcel/item/{head}/{emoji_id}/raw300.gif",
            "key": key,
            "emoji_id": emoji_id,
            "emoji_package_id": package_id,
        },
    }


def file(name: str, file_id: str, *, size_bytes: int = 2048) -> Segment:
    """A group file; `say()` sends the `group_upload` notice along."""
    return {
        "type": "file",
        "data": {"file": name, "file_id": file_id, "file_size": str(size_bytes)},
    }


def record(code: str, *, size_bytes: int = 4096) -> Segment:
    """A voice message."""
    fields = {
        "file": code,
        "path": f"/app/.config/QQ/nt_qq/Ptt/{code}",
        "file_size": str(size_bytes),
    }
    return {"type": "record", "data": fields}


def video(code: str, *, size_bytes: int = 65536, url: str = MEDIA_URL) -> Segment:
    """A video."""
    return {"type": "video", "data": {"file": code, "url": url, "file_size": str(size_bytes)}}


def forward(kernel_id: str) -> Segment:
    """A bundle of forwarded messages; its content is not readable by default."""
    return {"type": "forward", "data": {"id": kernel_id}}


def card(fields: dict[str, Any]) -> Segment:
    """A mini-app, share, music or contact card: JSON inside a string."""
    content = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    return {"type": "json", "data": {"data": content}}


def markdown(content: str) -> Segment:
    """Markdown source, as official bots send it."""
    return {"type": "markdown", "data": {"content": content}}


def face(face_id: int, name: str) -> Segment:
    """A built-in emoticon."""
    raw = {"faceIndex": face_id, "faceText": name, "faceType": 1}
    return {"type": "face", "data": {"id": str(face_id), "raw": raw}}


def dice(result: int) -> Segment:
    """A thrown die."""
    return {"type": "dice", "data": {"result": str(result)}}


def rps(result: int) -> Segment:
    """Rock, paper, scissors."""
    return {"type": "rps", "data": {"result": str(result)}}


def poke(kind: int, poke_id: int) -> Segment:
    """A poke sent as a message."""
    return {"type": "poke", "data": {"type": str(kind), "id": str(poke_id)}}


def encode_cq(segments: Iterable[Segment]) -> str:
    """The CQ text of a message (OneBot v11 string format), not trimmed."""
    return "".join(_encode_segment(segment) for segment in segments)


def _encode_segment(segment: Segment) -> str:
    if segment["type"] == "text":
        return _escape(str(segment["data"]["text"]))
    fields = "".join(
        f",{key}={_escape_value(value)}" for key, value in segment["data"].items() if value != ""
    )
    return f"[CQ:{segment['type']}{fields}]"


def _escape(content: str) -> str:
    return content.replace("&", "&amp;").replace("[", "&#91;").replace("]", "&#93;")


def _escape_value(value: object) -> str:
    if isinstance(value, dict | list):
        value = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _escape(str(value)).replace(",", "&#44;")


def decode_cq(content: str) -> list[Segment]:
    """The segments of a CQ text; what does not parse as a code stays text."""
    segments: list[Segment] = []
    end = 0
    for match in _CQ_CODE.finditer(content):
        if match.start() > end:
            segments.append(_plain(content[end : match.start()]))
        segments.append({"type": match[1], "data": _decode_fields(match[2])})
        end = match.end()
    if end < len(content):
        segments.append(_plain(content[end:]))
    return segments


def _plain(content: str) -> Segment:
    return {"type": "text", "data": {"text": _unescape(content)}}


def _decode_fields(fields: str) -> dict[str, Any]:
    pairs = (field.partition("=") for field in fields.split(",") if field)
    return {key.strip(): _unescape(value) for key, _, value in pairs}


def _unescape(content: str) -> str:
    content = content.replace("&#44;", ",").replace("&#91;", "[").replace("&#93;", "]")
    return content.replace("&amp;", "&")
