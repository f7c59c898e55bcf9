"""How each runtime is built from the configuration; the assembly asks for the configured one.

A new runtime is a name in `perlica.runtimes.names`, a package beside `perlica.runtimes.native` and
a row here.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from perlica.app import parts
from perlica.app.config import Config
from perlica.app.secrets import Secrets
from perlica.clients.model.opening import open_client
from perlica.runtimes.contract import AgentRuntime
from perlica.runtimes.names import RuntimeName
from perlica.runtimes.native.runtime import NativeRuntime

BuildRuntime: TypeAlias = Callable[[Config, Secrets], AgentRuntime]


def _build_native(config: Config, secrets: Secrets) -> AgentRuntime:
    return NativeRuntime(open_client(parts.model_settings(config, secrets)))


BUILDERS: Final[Mapping[RuntimeName, BuildRuntime]] = {RuntimeName.native: _build_native}


def build_runtime(config: Config, secrets: Secrets) -> AgentRuntime:
    """The runtime that `[task] runtime` names.

    Raises: Misconfigured when what it needs is wrong, such as the model's address.
    """
    return BUILDERS[config.task.runtime](config, secrets)
