"""Between `Protected` and the columns that keep it; every store with text uses these.

Three columns stand beside each text: `protection_status`, `policy_version`, `finding_count`.
"""

from typing import Final

from perlica.domain.errors import Refused
from perlica.protection import (
    Channel,
    Protected,
    ProtectionStatus,
    head_of,
    protect,
    protect_line,
    restore,
)
from perlica.stores.database import Row

MAX_REASON_CODE_POINTS: Final = 200


def columns(name: str, value: Protected) -> dict[str, object]:
    """Bindings for the text column `name` and its three companions."""
    return {name: value.content, **companions(value)}


def companions(*values: Protected) -> dict[str, object]:
    """Bindings for the three columns that tell about all `values` of one row together.

    Raises: Refused for several values of which one has no text (one value may be without).
    """
    if len(values) > 1:
        for value in values:
            require_usable(value)
    is_redacted = any(value.status is ProtectionStatus.REDACTED for value in values)
    return {
        "protection_status": (ProtectionStatus.REDACTED if is_redacted else values[0].status).value,
        "policy_version": values[0].policy_version,
        "finding_count": sum(value.finding_count for value in values),
    }


def restored(row: Row, name: str) -> Protected:
    """The text in column `name` of a row, as it was when it was protected."""
    return restore(row[name], row["protection_status"], row["policy_version"], row["finding_count"])


def require_usable(value: Protected) -> Protected:
    """The value, if its scan ran to the end. Raises: Refused."""
    if not value.is_usable:
        raise Refused("scan_incomplete", "content protection did not finish; nothing was stored")
    return value


def as_json(value: Protected) -> Protected:
    """Protected JSON as it is; where it has no text, JSON that says why (the row is not lost)."""
    if value.is_usable:
        return value
    return protect({"withheld": value.status.value}, Channel.AUDIT)


def reason_text(reason: str) -> str:
    """A short reason as it is stored: a code or a peer's wording, scanned all the same."""
    return head_of(protect_line(reason), MAX_REASON_CODE_POINTS)
