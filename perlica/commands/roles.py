"""Who may use which command: decided by QQ numbers of the configuration, by nothing else.

Checked before a command does anything; whether an Owner may decide one particular ticket is the
ledger's business (the ticket names its own Owners).
"""

from collections.abc import Set as AbstractSet
from enum import StrEnum

from perlica.commands.names import CommandName
from perlica.domain.ids import UserId


class Role(StrEnum):
    """An Owner is a member too; somebody without a role gets no task, no command and no reply."""

    member = "member"
    owner = "owner"


_OWNERS_ONLY = frozenset(
    {
        CommandName.approve,
        CommandName.deny,
        CommandName.audit,
        CommandName.recovery,
        CommandName.sbx,
        CommandName.image,
        CommandName.orphans,
        CommandName.node,
    }
)


def role_of(
    user: UserId, *, owners: AbstractSet[UserId], members: AbstractSet[UserId]
) -> Role | None:
    """The role that the configuration gives a QQ number, None for everybody else."""
    if user in owners:
        return Role.owner
    return Role.member if user in members else None


def required_role(name: CommandName) -> Role:
    """The least role that a command needs."""
    return Role.owner if name in _OWNERS_ONLY else Role.member


def may_use(name: CommandName, role: Role | None) -> bool:
    """Whether the role suffices for the command."""
    if role is None:
        return False
    return role is Role.owner or required_role(name) is Role.member


def may_cancel(*, role: Role | None, user: UserId, requester: UserId) -> bool:
    """Whether this member may end that task: whoever asked for it, and every Owner."""
    return role is Role.owner or (role is Role.member and user == requester)
