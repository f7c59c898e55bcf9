"""The invented QQ account behind the stand-in: its groups and their members.

The kernel lets these people speak, the chat page shows them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

GroupRole = Literal["owner", "admin", "member"]
"""Rank in the QQ group. Perlica must not derive any right from it."""

Standing = Literal["owner", "member", "unlisted", "bot"]
"""How Perlica's configuration lists a person: a caption on the chat page, enforced nowhere here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One person in one group; `cached=False` makes NapCat know nothing but the number."""

    user_id: int
    nickname: str
    card: str = ""
    role: GroupRole = "member"
    cached: bool = True
    standing: Standing = "unlisted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One QQ group; the account itself is one of its members."""

    group_id: int
    name: str
    members: tuple[Member, ...]

    def find(self, user_id: int) -> Member | None:
        """The member of that number, if he is in the group."""
        return next((member for member in self.members if member.user_id == user_id), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The account NapCat is logged in to; the first group is the one the demo is about."""

    user_id: int
    nickname: str
    groups: tuple[Group, ...]

    def group(self, group_id: int) -> Group:
        """The group of that number.

        Raises:
            KeyError: the account is in no such group.
        """
        for group in self.groups:
            if group.group_id == group_id:
                return group
        raise KeyError(group_id)


def demo_account() -> Account:
    """The account of the demo: target group 600100200 and a neighbour that must leave no trace."""
    bot = Member(user_id=10000, nickname="Perlica", standing="bot")
    ming = Member(user_id=30001, nickname="小明", standing="owner")
    hong = Member(
        user_id=30002, nickname="小红", card="小红（值班）", role="admin", standing="owner"
    )
    jie = Member(user_id=30003, nickname="阿杰", standing="member")
    guest = Member(user_id=30009, nickname="访客")
    stranger = Member(user_id=30999, nickname="新来的人", cached=False)
    neighbour = Member(user_id=40001, nickname="邻居老王", role="owner")
    return Account(
        user_id=10000,
        nickname="Perlica",
        groups=(
            Group(
                group_id=600100200,
                name="Perlica 演示群",
                members=(bot, ming, hong, jie, guest, stranger),
            ),
            Group(group_id=600100999, name="隔壁群", members=(bot, ming, neighbour)),
        ),
    )


def load_account(path: Path) -> Account:
    """Read an account from a JSON file with the fields of `Account`.

    Raises:
        pydantic.ValidationError: a field is missing or has the wrong type.
    """
    return TypeAdapter(Account).validate_json(path.read_bytes())
