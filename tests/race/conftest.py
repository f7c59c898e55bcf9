"""Races use the stage of behaviour tests."""

from tests.behaviour.conftest import make_live, model, napcat

__all__ = ["make_live", "model", "napcat"]
