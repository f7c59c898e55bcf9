"""The runtimes that a configuration may choose: one builder for each name."""

from collections.abc import Callable, Mapping
from typing import Final

from perlica.app import parts
from perlica.app.config import Config
from perlica.app.secrets import Secrets
from perlica.clients.model.opening import open_client
from perlica.runtimes.contract import AgentRuntime, RuntimeName
from perlica.runtimes.native.runtime import NativeRuntime


def _native(config: Config, secrets: Secrets) -> AgentRuntime:
    return NativeRuntime(open_client(parts.model_settings(config, secrets)))


BUILDERS: Final[Mapping[RuntimeName, Callable[[Config, Secrets], AgentRuntime]]] = {
    RuntimeName.native: _native,
}


def build_runtime(config: Config, secrets: Secrets) -> AgentRuntime:
    """The runtime that `[task] runtime` names."""
    return BUILDERS[RuntimeName(config.task.runtime)](config, secrets)
