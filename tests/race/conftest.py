"""Races use the stage of behaviour tests, without the pause that a group of people needs."""

from dataclasses import replace

import pytest

from actors.outbox.actor import OutboxSettings
from perlica.app import parts
from perlica.app.config import Config
from tests.behaviour.conftest import make_live, model, napcat

__all__ = ["make_live", "model", "napcat"]

_MANY = 1_000_000


@pytest.fixture(autouse=True)
def _no_minute_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of rounds send more in a minute than a configuration may allow."""
    configured = parts.outbox_settings

    def unlimited(config: Config) -> OutboxSettings:
        return replace(configured(config), per_minute=_MANY)

    monkeypatch.setattr(parts, "outbox_settings", unlimited)
