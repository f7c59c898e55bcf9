"""What happens in the group while the service is killed, and what must come of it.

A story knows nothing of kills. Its model decides from the conversation alone what it wants next, as
a sensible one would: what is said to have never happened it asks for again.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from perlica.demo.model import Call, Reply
from perlica.demo.napcat import Message, NapCatStandIn
from tests.behaviour.live import MEMBER, OTHER_OWNER, OWNER

_QUESTION = re.compile(r"\.approve\s+(\S+)\s+(\d{6})")
_NEVER_HAPPENED = re.compile("nothing happened|Call it again|is still needed")
_REVIEW = "完成前的复核"
_FINAL = re.compile("【Perlica 回答|任务 T-[0-9A-Z]+ (?:未完成|已取消)")

Turns = Sequence[tuple[Call, ...]]


def manage(action: str, name: str = "", **more: str) -> Call:
    """A call of sandbox_manage."""
    return Call(tool="sandbox_manage", arguments={"action": action, "name": name, **more})


def run(*argv: str, sandbox: str) -> Call:
    """A call of sandbox_exec."""
    return Call(tool="sandbox_exec", arguments={"sandbox": sandbox, "argv": list(argv)})


def write(path: str, sandbox: str) -> Call:
    """A call of sandbox_write."""
    arguments = {"sandbox": sandbox, "path": path, "content": "eins\n"}
    return Call(tool="sandbox_write", arguments=arguments)


def read(path: str, sandbox: str) -> Call:
    """A call of sandbox_read."""
    return Call(tool="sandbox_read", arguments={"sandbox": sandbox, "path": path})


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What the model does for one request, turn by turn, and what it answers then."""

    turns: Turns
    answer: str
    review: tuple[Call, ...] = ()

    def next(self, messages: Sequence[Mapping[str, Any]]) -> Reply:
        """The next turn after this conversation."""
        results = {m["tool_call_id"]: str(m["content"]) for m in messages if m["role"] == "tool"}
        steps = [*self.turns]
        if any(m["role"] == "user" and _REVIEW in str(m["content"]) for m in messages):
            steps.append(self.review)
        for number, calls in enumerate(steps):
            wanted = tuple(
                _again(call, number, position, results)
                for position, call in enumerate(calls)
                if not _is_settled(number, position, results)
            )
            if wanted:
                return Reply(calls=wanted)
        return Reply(text=self.answer)


def _attempts(number: int, position: int, results: Mapping[str, str]) -> list[str]:
    return sorted(i for i in results if i.startswith(f"w{number}-{position}-"))


def _is_settled(number: int, position: int, results: Mapping[str, str]) -> bool:
    attempts = _attempts(number, position, results)
    return bool(attempts) and not _NEVER_HAPPENED.search(results[attempts[-1]])


def _again(call: Call, number: int, position: int, results: Mapping[str, str]) -> Call:
    attempt = len(_attempts(number, position, results))
    return Call(tool=call.tool, arguments=call.arguments, id=f"w{number}-{position}-{attempt}")


class Story(Protocol):
    """One scenario."""

    name: str
    requests: Mapping[str, Plan]
    effects: Mapping[str, int]
    finals: Sequence[str]

    def begin(self, napcat: NapCatStandIn) -> None:
        """Say the first thing."""
        ...

    def hear(self, napcat: NapCatStandIn, message: Message, effects: Counter[str]) -> None:
        """React to a message of the service, each once."""
        ...

    def look(self, napcat: NapCatStandIn, effects: Counter[str]) -> None:
        """React to what happened outside the group."""
        ...


@dataclass(slots=True)
class Work:
    """Low, Medium and High actions, one approval, a review, an answer."""

    name: str = "work"
    requests: Mapping[str, Plan] = field(
        default_factory=lambda: {
            "做完整的一遍": Plan(
                turns=(
                    (manage("create", "main"), manage("create", "aux", purpose="试验")),
                    (
                        write("/root/a", "aux"),
                        run("echo", "one", sandbox="aux"),
                        read("/root/a", "aux"),
                    ),
                    (
                        manage("describe", "aux", purpose="新的用途"),
                        Call(tool="group_recent_context", arguments={"limit": 5}),
                    ),
                    (manage("delete", "main"), run("echo", "two", sandbox="aux")),
                ),
                answer="都做完了",
                review=(manage("keep", "aux"),),
            )
        }
    )
    effects: Mapping[str, int] = field(
        default_factory=lambda: {
            "create main": 1,
            "create aux": 1,
            "write aux /root/a": 1,
            "exec aux echo one": 1,
            "exec aux echo two": 1,
            "delete main": 1,
        }
    )
    finals: Sequence[str] = ("都做完了",)

    def begin(self, napcat: NapCatStandIn) -> None:
        napcat.say(MEMBER, "做完整的一遍", mention=True)

    def hear(self, napcat: NapCatStandIn, message: Message, effects: Counter[str]) -> None:
        question = _QUESTION.search(message.text)
        if question:
            napcat.say(OTHER_OWNER, f".approve {question.group(1)} {question.group(2)}")

    def look(self, napcat: NapCatStandIn, effects: Counter[str]) -> None:
        """Nothing."""


@dataclass(slots=True)
class Refusals:
    """A denial, then a second task that is cancelled while it waits for an Owner."""

    name: str = "refusals"
    requests: Mapping[str, Plan] = field(
        default_factory=lambda: {
            "删掉第一个": Plan(
                turns=((manage("create", "main"),), (manage("delete", "main"),)),
                answer="没有批准，没有删",
            ),
            "再删一次": Plan(turns=((manage("delete", "main"),),), answer="不会走到这里"),
        }
    )
    effects: Mapping[str, int] = field(default_factory=lambda: {"create main": 1})
    finals: Sequence[str] = ("没有批准，没有删", "已取消")
    _asked: int = 0

    def begin(self, napcat: NapCatStandIn) -> None:
        napcat.say(MEMBER, "删掉第一个", mention=True)

    def hear(self, napcat: NapCatStandIn, message: Message, effects: Counter[str]) -> None:
        question = _QUESTION.search(message.text)
        if question:
            self._asked += 1
            first = self._asked == 1
            napcat.say(OWNER, f".deny {question.group(1)}" if first else ".cancel")
        elif "没有批准，没有删" in message.text:
            napcat.say(OWNER, "再删一次", mention=True)

    def look(self, napcat: NapCatStandIn, effects: Counter[str]) -> None:
        """Nothing."""


@dataclass(slots=True)
class Interrupted:
    """A command that would run for long is cancelled while it runs."""

    name: str = "interrupted"
    requests: Mapping[str, Plan] = field(
        default_factory=lambda: {
            "跑很久": Plan(
                turns=((manage("create", "main"),), (run("sleep", "600", sandbox="main"),)),
                answer="不会走到这里",
            )
        }
    )
    effects: Mapping[str, int] = field(
        default_factory=lambda: {"create main": 1, "exec main sleep 600": 1}
    )
    finals: Sequence[str] = ("已取消",)
    _has_cancelled: bool = False

    def begin(self, napcat: NapCatStandIn) -> None:
        napcat.say(MEMBER, "跑很久", mention=True)

    def hear(self, napcat: NapCatStandIn, message: Message, effects: Counter[str]) -> None:
        """Nothing."""

    def look(self, napcat: NapCatStandIn, effects: Counter[str]) -> None:
        if effects["exec main sleep 600"] and not self._has_cancelled:
            self._has_cancelled = True
            napcat.say(MEMBER, ".cancel")


STORIES = {"work": Work, "refusals": Refusals, "interrupted": Interrupted}


def is_final(text: str) -> bool:
    """Whether a message is the end of a task."""
    return bool(_FINAL.search(text))


def think(story: Story, raw: Mapping[str, Any]) -> Reply:
    """The model of a story: the plan whose request stands in the conversation, read to its end."""
    messages = raw["messages"]
    window = next(m for m in messages if m["role"] == "user")
    request = str(window["content"]).rpartition("【请求】")[2]
    plan = next(plan for words, plan in story.requests.items() if words in request)
    return plan.next(messages)
