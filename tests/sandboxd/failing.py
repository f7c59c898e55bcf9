"""A daemon whose disk fails where a file says: at a named step of a named write, with one errno.

`python tests/sandboxd/failing.py ...` takes what `sandboxd` takes. SANDBOXD_TEST_FAILING names a
directory: `steps` collects the steps that were reached, `fail-at` holds "WRITE/STEP ERRNO" lines;
as long as it is there, each of these steps fails as the kernel would let it fail.
"""

import os
from pathlib import Path

from sandboxd.cli import main
from sandboxd.storage.door import OBSERVERS, Step, Write

DIRECTORY = Path(os.environ["SANDBOXD_TEST_FAILING"])


def observe(what: Write, how: Step) -> None:
    with (DIRECTORY / "steps").open("a", encoding="ascii") as steps:
        steps.write(f"{what}/{how}\n")
    failing = DIRECTORY / "fail-at"
    if not failing.exists():
        return
    for line in failing.read_text("ascii").splitlines():
        name, _, number = line.rpartition(" ")
        if name in {f"{what}/{how}", "*"}:
            raise OSError(int(number), os.strerror(int(number)))


OBSERVERS.append(observe)
main(prog_name="sandboxd")
