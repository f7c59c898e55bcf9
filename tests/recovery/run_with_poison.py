"""The service in a process of its own, whose parser dies hard on the word `毒药`."""

import os
import sys
from pathlib import Path

from actors.protection.items import Item
from actors.protection.preparing import Preparer
from perlica.app.config import load_config
from perlica.app.run import run_service
from perlica.clients.napcat import InboundFrame

POISON = "毒药"
_prepare = Preparer.prepare


def _die_on_poison(self: Preparer, frame: InboundFrame) -> Item | None:
    key_is_harmless = self.is_quarantined_frame(frame)
    if POISON in str(frame.frame.get("raw_message", "")) and not key_is_harmless:
        os._exit(9)
    return _prepare(self, frame)


if __name__ == "__main__":
    Preparer.prepare = _die_on_poison  # type: ignore[method-assign]
    sys.exit(run_service(load_config(Path(sys.argv[1]))))
