"""A process that has everything imported and forks a service for each line that it reads.

`python -m tests.napcat.warm CONFIG LOG`: a line on standard input starts a service over the
configuration, its process id comes on standard output. The one before must have been killed.
"""

import os
import sys
from pathlib import Path

from perlica.app.config import load_config
from perlica.app.run import run_service
from perlica.protection import Channel, JsonValue, protect


def main(config: str, log: str) -> None:
    """Fork until standard input ends; the last child is the caller's to end."""
    samples: tuple[JsonValue, ...] = ("compile the rules", {"also": "those of JSON"})
    for sample in samples:
        protect(sample, Channel.MESSAGE)
    child = 0
    for _ in sys.stdin:
        if child:
            os.waitpid(child, 0)
        child = os.fork()
        if not child:
            _serve(Path(config), Path(log))
        print(child, flush=True)


def _serve(config: Path, log: Path) -> None:
    """Be a service and nothing else: no line of the parent is read here."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, target)
    os._exit(run_service(load_config(config)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
