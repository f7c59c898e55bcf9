"""`python image_probe.py SOCKET`: exit 0 when the node daemon answers on its Unix socket.

Lies in sandboxd's image for the kubelet, whose own HTTP probes cannot reach a Unix socket. Only
Python's own library: a probe every few seconds should cost little.
"""

import socket
import sys

_WITHIN_S = 3.0
_REQUEST = b"GET /v1/health HTTP/1.1\r\nHost: sandboxd\r\nConnection: close\r\n\r\n"


def main(arguments: list[str]) -> int:
    """0 well, 1 anything else."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 1
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(_WITHIN_S)
            door.connect(arguments[0])
            door.sendall(_REQUEST)
            return 0 if b" 200 " in door.recv(64) else 1
    except OSError as error:
        print(f"no answer: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
