"""A model that plays a script: one turn for each request, for tests of the runtime and its faults.

`with ScriptedModel([Reply(text="好"), Silent()]) as model:` and point the client at it.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

from perlica.demo.model.conversation import ChatRequest
from perlica.demo.model.server import ModelServer
from perlica.demo.model.turns import HttpError, Step, Turn

MODEL = "scripted-1"
EXHAUSTED = HttpError(status=400, message="the script has no further turn")


class ScriptedModel(ModelServer):
    """Plays `turns` in order; then `afterwards` for every further request."""

    def __init__(
        self,
        turns: Sequence[Step] = (),
        *,
        afterwards: Step = EXHAUSTED,
        api_key: str = "",
        port: int = 0,
        demands_reasoning: bool = False,
    ) -> None:
        """Bind; `start` begins to serve."""
        super().__init__(
            self._next,
            models=(MODEL,),
            api_key=api_key,
            port=port,
            demands_reasoning=demands_reasoning,
        )
        self._afterwards = afterwards
        self._turns = deque(turns)
        self._lock = threading.Lock()

    @property
    def turns_left(self) -> int:
        """How many turns of the script were not asked for yet."""
        with self._lock:
            return len(self._turns)

    def add(self, *turns: Step) -> None:
        """Lengthen the script."""
        with self._lock:
            self._turns.extend(turns)

    def _next(self, _request: ChatRequest, raw: dict[str, Any]) -> Turn:
        with self._lock:
            step = self._turns.popleft() if self._turns else self._afterwards
        return step(raw) if callable(step) else step
