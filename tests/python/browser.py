"""Chromium without a window, driven over its DevTools protocol through two pipes: no driver, no packages.

    with Browser() as browser:
        page = browser.open(path)
        page.run("document.title")
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 120.0  # that anything may take
KEYS = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40, "Space": 32}


def executable() -> str | None:
    """The browser: HEADWAY_CHROMIUM, else what the path has; None without one."""
    named = os.environ.get("HEADWAY_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser of its own, whose profile is deleted with it."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, answers = os.pipe(), os.pipe()
        # The shell gives the pipes the numbers that the protocol wants. No sandbox: a test may run as root.
        line = f'exec "$0" "$@" 3<&{commands[0]} 4>&{answers[1]}'
        self.process = subprocess.Popen(
            ["bash", "-c", line, executable(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "--no-first-run",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking",
             "--disable-component-update", "about:blank"],
            pass_fds=(commands[0], answers[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands[0])
        os.close(answers[1])
        self.commands, self.answers = commands[1], answers[0]
        self.buffer, self.count, self.events = b"", 0, []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_) -> None:
        for pipe in (self.commands, self.answers):
            os.close(pipe)
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; events that arrive meanwhile are kept."""
        self.count += 1
        number = self.count
        message = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']['message']}")
                return found["result"]
            self.events.append(found)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self.answers, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError(f"the browser said nothing for {SECONDS:g} s, or went away")
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def wait_for(self, event: str) -> None:
        """Waits until an event of this name is among those that are kept."""
        while not any(one.get("method") == event for one in self.events):
            self.events.append(self._next())

    def open(self, path: Path, size: tuple[int, int] | None = None) -> Page:
        return Page(self, path, size)


class Page:
    """A loaded page from a file. It keeps its requests to the network and its complaints."""

    def __init__(self, browser: Browser, path: Path, size: tuple[int, int] | None = None):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Page.bringToFront")
        if size is not None:  # before anything is drawn
            self.size(*size)
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait(lambda: self.run("document.readyState") == "complete")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def run(self, script: str) -> Any:
        """The value of an expression; RuntimeError with what it threw."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                          awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{script}: {found['exceptionDetails']['exception']['description']}")
        return found["result"].get("value")

    def wait(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError("the page did not get there in time")
            time.sleep(0.05)

    def press(self, key: str) -> None:
        """A key goes down and up, where the focus is."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=" " if key == "Space" else key, code=key,
                      windowsVirtualKeyCode=KEYS[key])
        if key in ("Enter", "Space"):
            self.run("0")

    def size(self, width: int, height: int, phone: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=phone)

    def prefers(self, scheme: str) -> None:
        """"light" or "dark", as the system would say."""
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path, whole: bool = False) -> None:
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def accessible(self) -> list[dict[str, Any]]:
        """What a screen reader is told: role, name and properties of everything."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [{"role": node["role"].get("value"), "name": node.get("name", {}).get("value", ""),
                 **{item["name"]: item["value"].get("value") for item in node.get("properties", [])}}
                for node in nodes if not node.get("ignored") and "role" in node]

    def _of(self, *methods: str) -> list[dict[str, Any]]:
        self.run("0")
        return [event for event in self.browser.events if event.get("method") in methods
                and event.get("sessionId") == self.session]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and exceptions that nothing caught."""
        found = self._of("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")
        return [json.dumps(event["params"])[:500] for event in found
                if event["params"].get("type") not in ("log", "info", "debug")]

    def failures(self) -> list[str]:
        """Addresses of files that could not be loaded, each with the reason."""
        asked = {event["params"]["requestId"]: event["params"]["request"]["url"]
                 for event in self._of("Network.requestWillBeSent")}
        return [f"{asked.get(event['params']['requestId'], '?')}: {event['params']['errorText']}"
                for event in self._of("Network.loadingFailed")]

    def requests(self) -> list[str]:
        """Addresses that the page asked for, other than its own and data inside it."""
        asked = [event["params"]["request"]["url"] for event in self._of("Network.requestWillBeSent")]
        own = self.run("location.href.split('#')[0]")
        return [url for url in asked if url.split("#")[0] != own and not url.startswith("data:")]


class PageTest(unittest.TestCase):
    """Tests of the page at `place` in `browser`, which the class opens. After none of them may the page have complained, or have
    asked for anything."""

    def setUp(self):
        self.page = self.browser.open(self.place)
        self.page.size(1280, 900)
        self.addCleanup(self.quiet)

    def quiet(self):
        """After each test: nothing was complained of, and nothing asked of any network."""
        self.assertEqual(self.page.complaints(), [])
        self.assertEqual(self.page.requests(), [])

    def choose(self, identity, value, page=None):
        (page or self.page).run(f"(() => {{ const one = document.getElementById('{identity}'); one.value = '{value}';"
                                "one.dispatchEvent(new Event('input', {bubbles: true})); })()")
