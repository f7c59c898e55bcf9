"""The stage of behaviour tests: an invented QQ, a model, a service."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perlica.demo.model import RehearsalModel, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.gateway.core.family import ToolFamily
from perlica.sandboxes.contract import SandboxBackend
from perlica.sandboxes.memory import MemoryBackend
from tests.behaviour.live import LivePerlica, live_config

MakeLive = Callable[..., LivePerlica]


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    """The invented QQ."""
    with NapCatStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that plays a script; add turns to it."""
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def rehearsal() -> Iterator[RehearsalModel]:
    """The model of the demo."""
    with RehearsalModel() as model:
        yield model


@pytest.fixture
def make_live(tmp_path: Path, napcat: NapCatStandIn) -> Iterator[MakeLive]:
    """Start services; each is stopped at the end."""
    made: list[LivePerlica] = []

    def make(
        model_url: str,
        extra: str = "",
        backend: SandboxBackend | None = None,
        more_families: tuple[ToolFamily, ...] = (),
    ) -> LivePerlica:
        config = live_config(tmp_path, napcat, model_url, extra)
        backend = backend or MemoryBackend()
        live = LivePerlica(config=config, backend=backend, more_families=more_families)
        made.append(live)
        live.start()
        napcat.wait_for_connection()
        return live

    yield make
    for live in made:
        live.stop()


@pytest.fixture
def live(make_live: MakeLive, model: ScriptedModel) -> LivePerlica:
    """A service with the scripted model."""
    return make_live(model.base_url)
