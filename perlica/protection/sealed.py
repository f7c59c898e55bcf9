"""What Sealed Secrets encrypted: public material that may look like anything.

The scan asks where it stands and lets nothing be found in it.
"""

import re
from typing import Final

from perlica.protection.runs import Run

_HEAD: Final = b"encryptedData"
_LONGEST_BLOCK: Final = 128 * 1024
# The value begins with the length of the session key that RSA encrypted, 0x0100 or 0x0200, and
# may go on below, a line of base64 at a time.
_VALUE: Final = re.compile(
    rb"(?<![A-Za-z0-9+/])A[gQ][A-D][A-Za-z0-9+/]{29,}={0,2}"
    rb"(?:\r?\n[> \t]+[A-Za-z0-9+/]{16,}={0,2}(?=\s|$))*"
)


def sealed_stretches(data: bytes) -> list[Run]:
    """Return where values below `encryptedData` stand that only the cluster's controller reads."""
    found: list[Run] = []
    at = data.find(_HEAD)
    while at >= 0:
        end = min(len(data), at + _LONGEST_BLOCK)
        found.extend(match.span() for match in _VALUE.finditer(data, at, end))
        at = data.find(_HEAD, found[-1][1] if found and found[-1][1] > at else end)
    return found
