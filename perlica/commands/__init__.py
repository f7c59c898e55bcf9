"""Dot commands: a strict grammar, who may use which, and what is answered.

Protection parses a member's line before it is redacted; the coordinator acts on what was parsed
and answers with the functions of `perlica.commands.answers`.
"""

from perlica.commands.grammar import (
    Malformed,
    NotACommand,
    Parsed,
    ParsedLine,
    Unknown,
    mask_line,
    near_miss,
    parse_line,
)
from perlica.commands.names import CommandName, Mistake
from perlica.commands.roles import Role, may_cancel, may_use, role_of

__all__ = [
    "CommandName",
    "Malformed",
    "Mistake",
    "NotACommand",
    "Parsed",
    "ParsedLine",
    "Role",
    "Unknown",
    "mask_line",
    "may_cancel",
    "may_use",
    "near_miss",
    "parse_line",
    "role_of",
]
