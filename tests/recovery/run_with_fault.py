"""The service in a process of its own, with an actor made to fail: `… CONFIG [ACTOR:MESSAGE]`.

`MESSAGE` is the class name of the message at which the actor raises, or `start`. At a message it
raises only once the file `armed` lies beside the configuration: some messages come all the time.
"""

import sys
from pathlib import Path

from actors.base import Alarm
from perlica.app.config import load_config
from perlica.app.run import run_service

ARMED = "armed"


def main() -> int:
    """Run it; the exit code is the service's."""
    fault = sys.argv[2] if len(sys.argv) > 2 else ":"
    who, _, at = fault.partition(":")
    config = Path(sys.argv[1])
    armed = config.with_name(ARMED)

    def fail(actor: str, message: object | None) -> None:
        met = "start" if message is None else type(message).__name__
        if (actor, met) == (who, at) and (message is None or armed.exists()):
            raise RuntimeError("made to fail by the test")

    return run_service(load_config(config), alarm=Alarm(before=fail))


if __name__ == "__main__":
    sys.exit(main())
