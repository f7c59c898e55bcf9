"""The sections of the configuration file, one class for each.

Frozen and closed: an unknown key is an error. Every limit is finite and has a default; what has no
default is a core value, or a value whose absence turns one capability off.
"""

from perlica.app.config.sections.base import Section
from perlica.app.config.sections.console import ConsoleSection
from perlica.app.config.sections.core import MembersSection, ModelSection, ServiceSection
from perlica.app.config.sections.health import HealthSection
from perlica.app.config.sections.limits import ApprovalSection, RetentionSection, TaskSection
from perlica.app.config.sections.napcat import NapcatSection, OutboxSection
from perlica.app.config.sections.rest import (
    ContextSection,
    LogSection,
    PolicySection,
    ProtectionSection,
)
from perlica.app.config.sections.sandbox import (
    SandboxImageSection,
    SandboxLimitsSection,
    SandboxSection,
)

__all__ = [
    "ApprovalSection",
    "ConsoleSection",
    "ContextSection",
    "HealthSection",
    "LogSection",
    "MembersSection",
    "ModelSection",
    "NapcatSection",
    "OutboxSection",
    "PolicySection",
    "ProtectionSection",
    "RetentionSection",
    "SandboxImageSection",
    "SandboxLimitsSection",
    "SandboxSection",
    "Section",
    "ServiceSection",
    "TaskSection",
]
