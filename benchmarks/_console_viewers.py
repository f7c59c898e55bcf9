"""`python -m benchmarks._console_viewers HOST:PORT PAGE TOKEN…`: open pages that look now and then.

Each token has ten of them, each looks every two seconds while the last line on standard input was
`on`. At the end of the input it prints how often they looked and the slowest look in milliseconds.
Bare http.client, so that looking costs this machine as little as it does a machine of their own.
"""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse
from urllib.parse import urlencode

LOOK_EVERY_S = 2.0
OF_ONE_TOKEN = 10
_WITHIN_S = 30.0


class Viewer:
    """One open page."""

    def __init__(self, address: str, page: str, token: str) -> None:
        """Log in."""
        self._connection = HTTPConnection(address, timeout=_WITHIN_S)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request("POST", "/login", urlencode({"token": token}), form)
        answer = self._connection.getresponse()
        answer.read()
        if answer.status != HTTPStatus.SEE_OTHER:
            raise RuntimeError(f"no login: {answer.status}")
        cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
        self._headers = {"Cookie": cookie, "X-Console-Part": "live"}
        self._page = page
        self.looks: list[float] = []

    def look(self) -> None:
        """Ask for what has changed."""
        began_s = time.perf_counter()
        try:
            answer = self._ask()
        except (ConnectionError, HTTPException):
            # It was idle for too long; a browser opens another one too.
            self._connection.close()
            answer = self._ask()
        self.looks.append((time.perf_counter() - began_s) * 1000)
        if answer.status not in {HTTPStatus.OK, HTTPStatus.NOT_MODIFIED}:
            raise RuntimeError(f"a look was answered with {answer.status}")
        tag = answer.getheader("ETag")
        if tag:
            self._headers["If-None-Match"] = tag

    def _ask(self) -> HTTPResponse:
        self._connection.request("GET", self._page, headers=self._headers)
        answer = self._connection.getresponse()
        answer.read()
        return answer


def main() -> None:
    """Look until the input ends."""
    address, page, *tokens = sys.argv[1:]
    viewers = [Viewer(address, page, token) for token in tokens for _ in range(OF_ONE_TOKEN)]
    is_on, is_over = threading.Event(), threading.Event()

    def keep_looking(numbered: tuple[int, Viewer]) -> None:
        number, viewer = numbered
        is_over.wait(LOOK_EVERY_S * number / len(viewers))  # not all at once
        while not is_over.is_set():
            if is_on.is_set():
                viewer.look()
            is_over.wait(LOOK_EVERY_S)

    with ThreadPoolExecutor(max_workers=len(viewers)) as pool:
        ended = pool.map(keep_looking, enumerate(viewers))
        print("ready", flush=True)
        for line in sys.stdin:
            (is_on.set if line.strip() == "on" else is_on.clear)()
        is_over.set()
        list(ended)
    looks = [took_ms for viewer in viewers for took_ms in viewer.looks]
    print(len(looks), round(max(looks, default=0.0), 1), flush=True)


if __name__ == "__main__":
    main()
