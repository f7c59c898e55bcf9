"""Health: `/healthz`, `/readyz`, `/metrics` on a port of their own; thread stacks on a signal.

Wiring starts it after the actors and stops it before them. It reads the database through
connections of its own, read-only, and is told the rest by `HealthFacts`. Nothing it shows was
written by a person or a model: states, numbers and names from lists of ours.
"""

from perlica.health.facts import HealthFacts, HealthSettings
from perlica.health.server import HealthServer, start_health
from perlica.health.stacks import install_stack_printer, log_stacks

__all__ = [
    "HealthFacts",
    "HealthServer",
    "HealthSettings",
    "install_stack_printer",
    "log_stacks",
    "start_health",
]
