"""The catalog of every action that the packaged policy names: one line for each family."""

from typing import Final

from perlica.domain.actions import ActionCatalog
from perlica.gateway import planned_actions
from perlica.gateway.families.history import actions as history
from perlica.gateway.families.sandbox import actions as sandbox

CATALOG: Final = ActionCatalog((*sandbox.ACTIONS, *history.ACTIONS, *planned_actions.ACTIONS))
