"""Content protection: what every text passes before it is stored, shown, sent or given to a model.

`protect` is the one entrance and `Protected` the only text that the doors accept.
It promises no zero miss rate: a clean scan is `scanned_no_findings`, never "safe".
"""

from perlica.protection.armour import begins_inside_armour
from perlica.protection.cut import SMALLEST_PART, head_of, split, truncate
from perlica.protection.entry import JsonValue, join, protect, protect_line
from perlica.protection.operators import OperatorRule, configure
from perlica.protection.pieces import Piece, Stretch, protect_beginning, protect_pieces
from perlica.protection.preview import Place, Preview, preview
from perlica.protection.seal import (
    POLICY_VERSION,
    Channel,
    Finding,
    Protected,
    ProtectionStatus,
    not_scanned,
    restore,
)

__all__ = [
    "POLICY_VERSION",
    "SMALLEST_PART",
    "Channel",
    "Finding",
    "JsonValue",
    "OperatorRule",
    "Piece",
    "Place",
    "Preview",
    "Protected",
    "ProtectionStatus",
    "Stretch",
    "begins_inside_armour",
    "configure",
    "head_of",
    "join",
    "not_scanned",
    "preview",
    "protect",
    "protect_beginning",
    "protect_line",
    "protect_pieces",
    "restore",
    "split",
    "truncate",
]
