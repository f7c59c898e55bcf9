"""Every action that the policy lists: planned by code, or said not to exist yet.

A level in the policy is no capability. What nothing plans stands in tests/evidence-pending.toml;
what the policy blocks is listed so that nobody reads its absence as an oversight, and nothing may
plan it.
"""

import ast
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path

_POLICY = Path("perlica/gateway/policy.toml")
_PLANNING = (Path("perlica/gateway"), Path("perlica/sandboxes"))
_WORDS = frozenset({"actions.py", "planned_actions.py", "policy_floor.py", "review.py"})
"""Name actions to word or to judge them, not to plan them."""


def find_action_faults(root: Path, pending: Collection[str]) -> tuple[str, ...]:
    """What does not fit between policy, code and the pending file, one sentence each."""
    if not (root / _POLICY).exists():
        return ()
    policy = tomllib.loads((root / _POLICY).read_text(encoding="utf-8"))
    allowed = {action for level in ("low", "medium", "high") for action in policy.get(level, {})}
    blocked = set(policy.get("block", {})) - allowed
    planned = set(planned_words(root)) & (allowed | blocked)
    return (
        *(
            f"{a}: listed by the policy, planned by nothing, and not said to be missing"
            for a in sorted(allowed - planned - set(pending))
        ),
        *(f"{a}: said not to exist yet, but code plans it" for a in sorted(planned & set(pending))),
        *(
            f"{a}: said not to exist yet, but the policy does not list it"
            for a in sorted(set(pending) - allowed)
        ),
        *(f"{a}: blocked by the policy, but code plans it" for a in sorted(planned & blocked)),
    )


def planned_words(root: Path) -> Iterator[str]:
    """Every text that stands in the code of the rooms that make plans, docstrings left out."""
    for room in _PLANNING:
        for path in sorted((root / room).rglob("*.py")):
            if path.name not in _WORDS:
                yield from _texts_of(ast.parse(path.read_text(encoding="utf-8")))


def _texts_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
