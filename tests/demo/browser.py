"""Chromium without a window, driven over its DevTools protocol by plain websocket-client.

`Browser.open` shows a page; what the page requested and complained about is kept for assertions.
"""

import base64
import itertools
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.request import urlopen

import websocket

from tests.demo.peer import Json

NAMES = ("chromium", "chromium-browser", "google-chrome")
START_WITHIN_S = 30.0
ANSWER_WITHIN_S = 20.0
LOOK_EVERY_S = 0.05
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    # Anything but loopback fails to resolve: a page that calls out shows.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


def find_chromium() -> str | None:
    """The browser's program, if this machine has one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One browser with one tab; ends with the block, its profile stays for the caller to delete."""

    def __init__(self, program: str, profile: Path) -> None:
        """Start it with a new profile folder."""
        sandbox = () if os.geteuid() else ("--no-sandbox",)
        self._process = subprocess.Popen(
            [program, *FLAGS, *sandbox, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._numbers = itertools.count(1)
        self.requested: list[str] = []
        self.complaints: list[str] = []
        try:
            self._socket = websocket.create_connection(
                _tab_url(profile), suppress_origin=True, timeout=ANSWER_WITHIN_S
            )
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.ask(f"{domain}.enable")
        except BaseException:
            self._end()
            raise

    def __enter__(self) -> Self:
        """Use it for the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the browser."""
        self.ask("Browser.close")
        self._socket.shutdown()  # type: ignore[no-untyped-call]  # websocket-client is typed in part
        self._end()

    def _end(self) -> None:
        try:
            self._process.wait(ANSWER_WITHIN_S / 4)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, method: str, **params: object) -> Json:
        """One DevTools call; events that come meanwhile are kept."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._keep(answer)

    def _keep(self, event: Json) -> None:
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(event["params"]["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(event["params"]["exceptionDetails"]))
            case "Log.entryAdded":
                self.complaints.append(str(event["params"]["entry"]["text"]))

    def show_as(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """Choose the size and colours of the screen."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url: str) -> None:
        """Go to a page."""
        self.ask("Page.navigate", url=url)

    def evaluate(self, expression: str) -> Json:
        """The value of a JavaScript expression in the page."""
        answer = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str, within_s: float = ANSWER_WITHIN_S) -> Json:
        """Look until the expression is true; its value."""
        deadline = time.monotonic() + within_s
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < deadline, f"never true: {expression}"
            time.sleep(LOOK_EVERY_S)
        return value

    def click(self, selector: str) -> None:
        """Press the element, as a person would with the mouse in its middle."""
        box = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'nearest'}); const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask(
                "Input.dispatchMouseEvent",
                type=kind,
                x=box[0],
                y=box[1],
                button="left",
                clickCount=1,
            )

    def type(self, text: str) -> None:
        """Put text where the cursor is."""
        self.ask("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        """Press and release one key that is no letter."""
        for kind in ("rawKeyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code
            )

    def screenshot(self, path: Path) -> None:
        """Save what the tab shows as PNG."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))


def _tab_url(profile: Path) -> str:
    """The DevTools address of the first tab, once the browser has written its port down."""
    deadline = time.monotonic() + START_WITHIN_S
    port_file = profile / "DevToolsActivePort"
    while time.monotonic() < deadline:
        lines = port_file.read_text().split() if port_file.exists() else []
        if lines:
            with urlopen(f"http://127.0.0.1:{lines[0]}/json/list", timeout=ANSWER_WITHIN_S) as page:
                tabs = [tab for tab in json.load(page) if tab["type"] == "page"]
            if tabs:
                return str(tabs[0]["webSocketDebuggerUrl"])
        time.sleep(LOOK_EVERY_S)
    raise AssertionError("chromium did not start in time")
