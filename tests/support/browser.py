"""A real Chromium without a window, spoken to over two pipes: no socket is opened."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome", "chrome")
        if (found := shutil.which(name))
    ),
    None,
)

_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_TIMEOUT_S = 120.0


class Page:
    """One page of a browser of its own.

    `requests` are the addresses that it asked for, `complaints` what its console said of errors and warnings,
    refusals by its content security policy among them. Source of the messages: Chrome DevTools Protocol 1.3.
    """

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        read_by_it, self._commands = os.pipe()
        self._answers, written_by_it = os.pipe()
        # It reads from descriptor 3 and writes to 4.
        command = f'exec "$@" 3<&{read_by_it} 4>&{written_by_it}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(read_by_it, written_by_it),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_by_it)
        os.close(written_by_it)
        self._number = 0
        self._rest = b""
        self._events: list[str] = []
        self._session: str | None = None
        target = next(
            each for each in self._send("Target.getTargets")["targetInfos"] if each["type"] == "page"
        )
        attached = self._send("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def __enter__(self) -> "Page":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(30)
        os.close(self._commands)
        os.close(self._answers)

    def open(
        self, file: Path, width: int = 1280, height: int = 900, *, dark: bool = False, query: str = ""
    ) -> None:
        """Show a file in a window of this size and wait until it is loaded."""
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", media="", features=[scheme])
        self._events.clear()
        self._send("Page.navigate", url=f"{file.as_uri()}{query}")
        self._wait_for("Page.loadEventFired")

    def resize(self, width: int, height: int = 900) -> None:
        """Give the window another size, in CSS pixels, as a phone's or a desktop's."""
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def print_media(self) -> None:
        """Show the page as it is printed."""
        self._send("Emulation.setEmulatedMedia", media="print")

    def picture(self, file: Path) -> None:
        """Write a picture of the whole page, as PNG."""
        found = self._send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(found["data"]))

    def pdf(self, file: Path) -> None:
        """Print the page to a PDF file, on A4."""
        found = self._send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        file.write_bytes(base64.b64decode(found["data"]))

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        done = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def click(self, selector: str) -> None:
        """Press and release the mouse in the middle of the first element that a selector finds."""
        box = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'}); const b = e.getClientRects()[0];"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def _send(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._number:
            pass
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _wait_for(self, event: str) -> None:
        while event not in self._events:
            self._receive()

    def _receive(self) -> dict[str, Any]:
        """The next message; of events it keeps what tests ask about."""
        until = time.monotonic() + _TIMEOUT_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self._answers, 1 << 20) if ready else b""
            assert chunk, "the browser says nothing any more"
            self._rest += chunk
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        self._events.append(method)
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(parameters["args"]))
