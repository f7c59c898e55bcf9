"""What the doctor looks at for each capability: the one list, beside the judges."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from perlica.app.capabilities.sandbox_checks import check_gate, check_sandboxd
from perlica.app.capabilities.standing import CapabilityName
from perlica.app.config import Config
from perlica.app.doctor.findings import Finding

Check = Callable[[Config], Iterator[Finding]]

CHECKS: Final[Mapping[CapabilityName, Mapping[str, Check]]] = {
    CapabilityName.sandbox: {"sandboxd": check_sandboxd, "gate": check_gate},
}
"""By capability and name; a check that has nothing to look at says nothing."""
