"""A headless Chromium for tests, driven over its debugging pipe: no server, no driver, no package."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SECONDS = 120
"""After which something that is waited for counts as missing."""
START = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Starts a program that reads from the first of two files as 3, and writes to the second as 4, as Chromium does."""
KEY_CODES = {"Enter": 13, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9, " ": 32}


def found() -> str | None:
    """The path of a Chromium, if there is one."""
    return next((path for name in PROGRAMS if (path := shutil.which(name)) is not None), None)


class Page:
    """A page in a browser: scripts run in it, keys pressed, and all requests and messages that it made."""

    def __init__(self, write: Any, read: Any):
        self._write, self._read, self._count, self._session = write, read, 0, None
        self.requests: list[str] = []
        self.problems: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """The result of a command of the protocol."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        self._write.write(json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0")
        self._write.flush()
        while True:
            answer = json.loads(self._message())
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self._event(answer.get("method"), answer.get("params", {}))

    def _message(self) -> bytes:
        held = bytearray()
        while (byte := self._read.read(1)) not in (b"\0", b""):
            held += byte
        assert held, "the browser has gone"
        return bytes(held)

    def _event(self, method: str, params: Any) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])

    def open(self, path: Path, width: int = 1400, height: int = 900) -> None:
        """Show a file."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete'")

    def run(self, script: str, world: int | None = None) -> Any:
        """The value of an expression, promises awaited; in a context of another frame if that is given."""
        more = {} if world is None else {"contextId": world}
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, **more)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, condition: str, world: int | None = None) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + SECONDS
        while not self.run(condition, world):
            assert time.monotonic() < end, f"never true: {condition}"
            time.sleep(0.05)

    def press(self, *keys: str, shift: bool = False) -> None:
        """Press keys, one after another, where the focus is."""
        for key in keys:
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            about = {"key": key, "windowsVirtualKeyCode": KEY_CODES.get(key, ord(key[0].upper())), "modifiers": 8 * shift}
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **about)
            self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def screenshot(self, path: Path) -> None:
        """Write what is seen as a PNG file."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A page of a fresh Chromium, which keeps what it keeps in `folder`."""
    program = found()
    assert program is not None
    to_read, to_write = os.pipe(), os.pipe()
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
    flags.append("--disable-features=IsolateSandboxedIframes")  # else such a frame is a target of its own, not of the page
    inherited = (to_read[0], to_write[1])
    start = [sys.executable, "-IS", "-c", START, *map(str, inherited), program, *flags]
    process = subprocess.Popen(start, pass_fds=inherited, stderr=subprocess.DEVNULL)
    os.close(to_read[0])
    os.close(to_write[1])
    with open(to_read[1], "wb") as write, open(to_write[0], "rb") as read:
        try:
            yield Page(write, read)
        finally:
            write.write(json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
            write.flush()
            process.wait(SECONDS)
