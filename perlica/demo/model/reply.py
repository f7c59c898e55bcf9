"""What a model says in one turn, independent of any API's wire format.

The rehearsal model thinks them up, a script lists them, a dialect renders them.
"""

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call; `arguments` as an object, or as a string that is sent as it is."""

    tool: str
    arguments: Mapping[str, object] | str = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"call_{next(_numbers):06d}")

    @property
    def arguments_text(self) -> str:
        """The arguments as they go over the wire, malformed if the script says so."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Text, tool calls, or both.

    `finish` None means `tool_calls` with calls and `stop` without; any other value is sent as it
    is, also a wrong one. `reasoning` None sends no such field. Empty text sends no content at all.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    reasoning: str | None = None
    finish: str | None = None

    @property
    def finish_reason(self) -> str:
        """The reason that is sent."""
        return self.finish or ("tool_calls" if self.calls else "stop")
