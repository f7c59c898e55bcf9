"""The tool families of this service: the one list, in the order in which a model sees the tools."""

from perlica.app import parts
from perlica.app.config import Config
from perlica.gateway.core.family import ToolFamily
from perlica.gateway.families.history.family import history_family
from perlica.gateway.families.sandbox.executor import MakeRunner
from perlica.gateway.families.sandbox.family import sandbox_family


def build_families(config: Config, make_runner: MakeRunner | None) -> tuple[ToolFamily, ...]:
    """Those that are on; `make_runner` is None while sandboxes are switched off."""
    families = [history_family(parts.history_settings(config))]
    if make_runner is not None:
        sandbox = parts.sandbox_settings(config)
        families.insert(0, sandbox_family(sandbox, make_runner, config.service.language))
    return tuple(families)
