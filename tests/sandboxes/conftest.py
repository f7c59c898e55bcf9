"""A whole service over nodes in memory that can be troubled, and the real node daemon."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from perlica.app.config import parse_config
from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.conftest import napcat
from tests.behaviour.live import LivePerlica
from tests.sandboxd.conftest import _daemon, daemon, layout, needs_node
from tests.sandboxes.rig import Rig
from tests.sandboxes.stage import Stage, TroubledBackend, settings_text

__all__ = ["_daemon", "daemon", "layout", "napcat", "needs_node"]

MakeStage = Callable[..., Stage]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A model that plays a script and then only answers."""
    with ScriptedModel(afterwards=Reply(text="好")) as scripted:
        yield scripted


@pytest.fixture
def make_stage(tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel) -> Iterator[MakeStage]:
    """Start services; each is stopped at the end."""
    made: list[LivePerlica] = []

    def make(nodes: tuple[str, ...] = (), sandbox: str = "") -> Stage:
        text = settings_text(tmp_path, napcat, model.base_url, nodes=nodes, sandbox=sandbox)
        backend = TroubledBackend()
        others = {name: TroubledBackend(node=name) for name in nodes}
        live = LivePerlica(config=parse_config(text), backend=backend, others=others)
        made.append(live)
        live.start()
        napcat.wait_for_connection()
        return Stage(live, napcat, model, backend, others)

    yield make
    for live in made:
        live.stop()


@pytest.fixture
def stage(make_stage: MakeStage) -> Stage:
    """A service over one node."""
    return make_stage()


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    """Actors without a group; each rig is stopped at the end, and none of its actors failed."""
    made: list[Rig] = []

    def make(
        nodes: tuple[str, ...] = ("test-node",),
        backends: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Rig:
        path = tmp_path / f"rig-{len(made)}.db"
        troubled = {name: TroubledBackend(node=name) for name in nodes}
        rig = Rig(path, backends or troubled, **more)
        made.append(rig)
        rig.start()
        return rig

    yield make
    for rig in made:
        rig.stop()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    """A rig over one node."""
    return make_rig()
