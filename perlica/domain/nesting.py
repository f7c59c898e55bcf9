"""How deep JSON from outside may be nested."""

from collections.abc import Iterable, Mapping
from typing import Final

_MOST_LEVELS: Final = 100


def is_too_deep(value: object) -> bool:
    """Whether JSON is nested so deep that whoever reads it later might not come to its end.

    Python's readers give up at a depth that depends on who calls them: what one of them could read
    may end another. No tool and no provider needs a tenth of this.
    """
    level = [value]
    for _ in range(_MOST_LEVELS):
        level = [member for outer in level for member in _members(outer)]
        if not level:
            return False
    return True


def _members(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()
