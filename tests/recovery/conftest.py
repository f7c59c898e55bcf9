"""Recovery tests use the stage of behaviour tests and, where it matters, the real node daemon."""

from tests.behaviour.conftest import live, make_live, model, napcat, rehearsal
from tests.sandboxd.conftest import _daemon, daemon, layout, needs_node

__all__ = [
    "_daemon",
    "daemon",
    "layout",
    "live",
    "make_live",
    "model",
    "napcat",
    "needs_node",
    "rehearsal",
]
