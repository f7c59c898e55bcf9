"""`python -m benchmarks._console_viewers URL PAGE TOKEN…`: open pages that look every two seconds.

Each token has ten of them. They look while the last line on standard input was `on`; at the end of
the input it prints how often each looked and the slowest look in milliseconds.
"""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import requests

LOOK_EVERY_S = 2.0
OF_ONE_TOKEN = 10
_WITHIN_S = 30.0


class Viewer:
    """One open page."""

    def __init__(self, url: str, page: str, token: str) -> None:
        """Log in."""
        self._session = requests.Session()
        self._session.trust_env = False
        self._page = url + page
        form = {"token": token, "next": "/"}
        answer = self._session.post(
            f"{url}/login", data=form, allow_redirects=False, timeout=_WITHIN_S
        )
        if answer.status_code != requests.codes.see_other:
            raise RuntimeError(f"no login: {answer.status_code}")
        self.looks: list[float] = []
        self._tag = ""

    def look(self) -> None:
        """Ask for what has changed."""
        headers = {"X-Console-Part": "live", "If-None-Match": self._tag}
        began_s = time.perf_counter()
        answer = self._session.get(self._page, headers=headers, timeout=_WITHIN_S)
        self.looks.append((time.perf_counter() - began_s) * 1000)
        answer.raise_for_status()
        self._tag = answer.headers.get("ETag", self._tag)


def main() -> None:
    """Look until the input ends."""
    url, page, *tokens = sys.argv[1:]
    viewers = [Viewer(url, page, token) for token in tokens for _ in range(OF_ONE_TOKEN)]
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
