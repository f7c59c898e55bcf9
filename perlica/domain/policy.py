"""Judging an action by the policy: data with a version, unknown is Block.

The table is read from one file by `perlica.gateway.core.policy_file`; nothing the model can reach
changes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from perlica.domain.plan import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Levels for each `action` and `scope`; a missing pair is Block."""

    version: str
    levels: Mapping[tuple[str, str], Level]

    def judge(self, action: str, scope: str) -> Level:
        """The level of an action in a scope."""
        return self.levels.get((action, scope), Level.block)
