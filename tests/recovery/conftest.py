"""Recovery tests use the same stage as behaviour tests."""

from tests.behaviour.conftest import live, make_live, model, napcat, rehearsal

__all__ = ["live", "make_live", "model", "napcat", "rehearsal"]
