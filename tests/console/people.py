"""Somebody with a browser's manners: cookies, redirects, forms; over real HTTP."""

import re
import time
from collections.abc import Callable
from html import unescape
from types import TracebackType
from typing import Self

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from perlica.console import ConsoleServer
from tests.console.seeder import TOKEN

ANSWER_WITHIN_S = 20.0
LOOK_EVERY_S = 0.05
_TAGS = re.compile(r"<[^>]*>")


class Person:
    """One person's session; ends with the block."""

    def __init__(self, console: ConsoleServer) -> None:
        self.url = f"http://127.0.0.1:{console.port}"
        self._session = requests.Session()
        self._session.trust_env = False
        # As browsers do: a kept connection that the server has just given up is opened again.
        again = Retry(
            total=1, status=0, respect_retry_after_header=False, allowed_methods={"GET", "HEAD"}
        )
        self._session.mount("http://", HTTPAdapter(max_retries=again))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session.close()

    @property
    def cookies(self) -> dict[str, str]:
        return self._session.cookies.get_dict()

    def carry(self, name: str, value: str) -> None:
        """Have a cookie, wherever it came from."""
        self._session.cookies.set(name, value)

    def ask(
        self, method: str, path: str, *, headers: dict[str, str] | None = None, **more: object
    ) -> requests.Response:
        """One request without following redirects."""
        return self._session.request(
            method,
            self.url + path,
            headers=headers,
            allow_redirects=False,
            timeout=ANSWER_WITHIN_S,
            **more,  # type: ignore[arg-type]
        )

    def get(self, path: str, *, headers: dict[str, str] | None = None) -> requests.Response:
        return self.ask("GET", path, headers=headers)

    def read(self, path: str) -> str:
        """A page that must be there, as the text that a person reads."""
        answer = self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.headers)
        return text_of(answer)

    def log_in(self, token: str = TOKEN, *, next_path: str = "/") -> requests.Response:
        return self.ask("POST", "/login", data={"token": token, "next": next_path})


def wait_until(holds: Callable[[], bool], within_s: float = ANSWER_WITHIN_S) -> None:
    """Look until the condition holds, bounded."""
    deadline_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(LOOK_EVERY_S)


def text_of(answer: requests.Response) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(_TAGS.sub(" ", answer.content.decode())).split())
