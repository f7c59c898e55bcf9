"""The service's part of one action, in a process that dies together with the daemon at a step.

`python -m tests.sandboxd.serving SPEC` with a JSON file that says what to do: the real serializer,
gateway and database of the service make a sandbox and run one command in it. A step is a commit
or a call to the daemon; each counts twice, before it and after it.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.sandbox import SandboxImage
from perlica.stores.database import Database
from tests.sandboxes.rig import Rig

CALLS = ("execute", "stream_command", "look_up", "acknowledge")


class Steps:
    """Counts once it is armed; at the chosen step the daemon dies first, then this process."""

    def __init__(self, kill_at: int, daemon: int) -> None:
        self.count = 0
        self.is_armed = False
        self._victims = (daemon, os.getpid())
        self._kill_at = kill_at
        self._lock = threading.Lock()

    def step(self) -> None:
        """One step more."""
        with self._lock:
            if not self.is_armed:
                return
            self.count += 1
            if self.count == self._kill_at:
                for victim in self._victims:
                    os.kill(victim, signal.SIGKILL)

    def around(self, act: Callable[..., object]) -> Callable[..., object]:
        """The same with a step before it and one after it."""

        def stepped(*given: object, **named: object) -> object:
            self.step()
            done = act(*given, **named)
            self.step()
            return done

        return stepped

    def install(self) -> None:
        """Every commit of this process and every call to the daemon."""
        for name in CALLS:
            setattr(SandboxdClient, name, self.around(getattr(SandboxdClient, name)))
        whole = Database.transaction

        @contextmanager
        def counted(database: Database) -> Iterator[None]:
            with whole(database):
                yield
                self.step()
            self.step()

        Database.transaction = counted  # type: ignore[method-assign, assignment]


def main() -> None:
    """Do what the file says; prints how many steps the action had."""
    spec = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    steps = Steps(spec["kill_at"], spec["daemon"])
    steps.install()
    settings = SandboxdSettings(socket_path=Path(spec["socket"]), epoch=1, node=spec["node"])
    rig = Rig(
        Path(spec["database"]),
        {spec["node"]: SandboxdClient(settings)},
        image=SandboxImage(**spec["image"]),
    )
    rig.start()
    rig.create("main")
    print("ready", flush=True)
    sys.stdin.readline()
    steps.is_armed = True
    said = rig.run("/bin/sh", "-c", spec["script"])
    steps.is_armed = False
    print(json.dumps({"steps": steps.count, "said": said}), flush=True)
    rig.stop()
    os._exit(0)


if __name__ == "__main__":
    main()
