"""NapCat stand-in: a OneBot v11 server with the recorded shapes, an invented QQ and a chat page."""

from perlica.demo.napcat.account import Account, Group, Member, demo_account
from perlica.demo.napcat.message import Message
from perlica.demo.napcat.server import Settings
from perlica.demo.napcat.stand_in import NapCatStandIn, NothingCame

__all__ = [
    "Account",
    "Group",
    "Member",
    "Message",
    "NapCatStandIn",
    "NothingCame",
    "Settings",
    "demo_account",
]
