"""Run with the Python that has nonebot: reads events as JSON lines, prints what it made of them."""

import json
import sys

from nonebot.adapters.onebot.v11 import Adapter  # type: ignore[import-not-found]
from nonebot.adapters.onebot.v11.event import Event  # type: ignore[import-not-found]


def main() -> None:
    """One line in, one line out: the model's name, and what a bot would look at."""
    for line in sys.stdin:
        event = Adapter.json_to_event(json.loads(line))
        print(json.dumps(_told(event)), flush=True)


def _told(event: Event | None) -> dict[str, object]:
    if event is None:
        return {"model": None}
    message = getattr(event, "message", None)
    return {
        "model": type(event).__name__,
        "segments": None if message is None else [segment.type for segment in message],
        "text": None if message is None else message.extract_plain_text(),
        "user_id": getattr(event, "user_id", None),
        "group_id": getattr(event, "group_id", None),
        "message_id": getattr(event, "message_id", None),
    }


if __name__ == "__main__":
    main()
