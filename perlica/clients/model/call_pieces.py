"""Which call a piece of a stream belongs to, whatever its server does with `index` and `id`.

Used by the OpenAI reader. Servers were seen to give every call the index 0, to leave index or id
out or empty, to send another id with each piece of one call, to repeat the name in each piece, and
to send the name in pieces (vLLM, SGLang, Ollama, Gemini's OpenAI interface and gateways).
"""

from dataclasses import dataclass, field

from perlica.clients.model.drafts import CallDraft, TurnDraft

_MAX_INDEX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPart:
    """One piece; `position` is its place among those that came together."""

    index: int | None
    provider_id: str = field(repr=False)
    name: str = field(repr=False)
    arguments: str = field(repr=False)
    position: int


class CallSorter:
    """Puts pieces to the calls of one draft."""

    def __init__(self, draft: TurnDraft) -> None:
        """Begin without calls."""
        self._draft = draft
        self._at_index: dict[int, CallDraft] = {}
        self._by_id: dict[str, CallDraft] = {}
        self._last: CallDraft | None = None

    def place(self, part: CallPart) -> CallDraft:
        """The call that `part` belongs to, with its id and name; the arguments are the caller's.

        Raises: Refused above the limit of calls.
        """
        known = self._find(part)
        if known is None or _begins_another(known, part):
            known = self._begin(part)
        if part.index is not None:
            self._at_index[part.index] = known
        if part.provider_id:
            self._by_id.setdefault(part.provider_id, known)
        known.provider_id = known.provider_id or part.provider_id
        known.name = _joined_name(known, part)
        self._last = known
        return known

    def _find(self, part: CallPart) -> CallDraft | None:
        if part.index is not None:
            return self._at_index.get(part.index)
        if part.provider_id:
            known = self._by_id.get(part.provider_id)
            return known or (self._unnamed() if part.name else self._last)
        return None if part.position and part.name else self._last

    def _unnamed(self) -> CallDraft | None:
        """The last call, if its id is still to come."""
        return self._last if self._last is not None and not self._last.provider_id else None

    def _begin(self, part: CallPart) -> CallDraft:
        last = max((call.place for call in self._draft.calls.values()), default=-1)
        return self._draft.new_call(part.index if part.index is not None else max(last, 0))


def read_index(value: object) -> int | None:
    """A plausible index, else None."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MAX_INDEX else None


def _begins_another(known: CallDraft, part: CallPart) -> bool:
    """Whether `part` is the first piece of a call beside `known`, which has the same index."""
    if not part.name or not known.name:
        return False
    if part.provider_id and known.provider_id:
        return part.provider_id != known.provider_id
    if not known.arguments_bytes:
        return False
    if part.name != known.name:
        return True
    ended = bool(known.arguments) and known.arguments[-1].rstrip().endswith("}")
    return ended and part.arguments.lstrip().startswith("{")


def _joined_name(known: CallDraft, part: CallPart) -> str:
    """The name so far: whole in the first piece, repeated, growing, or in pieces."""
    if not part.name or part.name == known.name:
        return known.name or part.name
    if known.arguments_bytes and known.name:
        return known.name
    whole = part.name if part.name.startswith(known.name) else known.name + part.name
    return whole[:256]
