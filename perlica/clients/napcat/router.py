"""What becomes of an event: ours, about the account, or nothing.

The group is looked at first; a frame of another group is dropped here and leaves no trace.
"""

from enum import StrEnum

from perlica.clients.napcat.inbound import DropCounts
from perlica.clients.napcat.settings import NapCatSettings
from perlica.clients.onebot import Frame, group_of, is_group_event, self_of


class Destination(StrEnum):
    """Where a frame goes."""

    intake = "intake"
    lifecycle = "lifecycle"
    heartbeat = "heartbeat"
    offline = "offline"
    stranger = "stranger"
    nowhere = "nowhere"


class Router:
    """Belongs to the reader thread."""

    def __init__(self, settings: NapCatSettings, dropped: DropCounts) -> None:
        """Keep whose frames pass, and where to count the others."""
        self._settings = settings
        self.dropped = dropped

    def sort(self, frame: Frame) -> Destination:
        """Where the frame goes; counts what goes nowhere.

        `stranger` is an event about an account that is not ours: we are connected to the wrong one.
        """
        has_group = "group_id" in frame
        if has_group and group_of(frame) != self._settings.group_id:
            self.dropped.other_groups += 1
            return Destination.nowhere
        if self_of(frame) != self._settings.self_id:
            self.dropped.other_accounts += 1
            is_meta = not has_group and frame.get("post_type") == "meta_event"
            return Destination.stranger if is_meta else Destination.nowhere
        if has_group and is_group_event(frame):
            return Destination.intake
        return self._sort_account_event(frame)

    def _sort_account_event(self, frame: Frame) -> Destination:
        match frame.get("post_type"), frame.get("meta_event_type"), frame.get("notice_type"):
            case "meta_event", "lifecycle", _ if frame.get("sub_type") == "connect":
                return Destination.lifecycle
            case "meta_event", "heartbeat", _:
                return Destination.heartbeat
            case "notice", _, "bot_offline":
                return Destination.offline
            case _:
                self.dropped.other_kinds += 1
                return Destination.nowhere
