"""Content protection: what every text passes before it is stored, shown, sent or given to a model.

`protect` is the one entrance and `Protected` the only text that the doors accept (spec:
内容保护与数据流).
It promises no zero miss rate: a clean scan is `scanned_no_findings`, never "safe".
"""

from perlica.protection.cut import SMALLEST_PART, split, truncate
from perlica.protection.entry import JsonValue, join, protect, protect_line
from perlica.protection.operators import OperatorRule, configure
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
from perlica.protection.stream import OutputStream

__all__ = [
    "POLICY_VERSION",
    "SMALLEST_PART",
    "Channel",
    "Finding",
    "JsonValue",
    "OperatorRule",
    "OutputStream",
    "Place",
    "Preview",
    "Protected",
    "ProtectionStatus",
    "configure",
    "join",
    "not_scanned",
    "preview",
    "protect",
    "protect_line",
    "restore",
    "split",
    "truncate",
]
