"""A headless Chromium that tests open pages in, driven by the DevTools protocol over a pair of pipes.

Nothing but Debian's `chromium` (or Chrome under one of its names) is needed. `find_browser` says where it is.
"""

import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)
SECONDS = 60.0


def find_browser():
    """The path of a browser, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """A browser process; `open` gives a page."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="tenfold-browser-")
        ours_in, its_out = os.pipe()
        its_in, ours_out = os.pipe()
        # the protocol wants its pipes at the descriptors 3 and 4: copies of both are out of the way of either
        move = (
            f"import os, sys; i, o = os.dup({its_in}), os.dup({its_out}); os.dup2(i, 3); os.dup2(o, 4); "
            "[os.set_inheritable(end, True) for end in (3, 4)]; os.execv(sys.argv[1], sys.argv[1:])"
        )
        flags = (*FLAGS, f"--user-data-dir={self._folder.name}", "about:blank")
        self._process = subprocess.Popen(
            [sys.executable, "-c", move, find_browser(), *flags],
            pass_fds=(its_in, its_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(its_in)
        os.close(its_out)
        self._in, self._out = ours_in, ours_out
        self._buffer = b""
        self._numbers = itertools.count(1)
        self.events = []

    def call(self, method, session=None, **params):
        """The answer to a command; events that come before it are kept."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method, session):
        """The first event of this name, kept or to come."""
        seen = 0
        while True:
            for event in self.events[seen:]:
                if event.get("method") == method and event.get("sessionId") == session:
                    return event
            seen = len(self.events)
            self.events.append(self._receive())

    def _receive(self):
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(self._in, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def open(self, path, **options):
        """A page of a file; see `Page`."""
        return Page(self, Path(path), **options)

    def close(self):
        """End the process."""
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            self._process.kill()
        self._process.wait(SECONDS)
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()


class Page:
    """A file in a tab of its own, of a width in CSS pixels, light or dark, with or without scripts."""

    def __init__(self, browser, path, *, width=1280, dark=False, scripts=True):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.url = path.absolute().as_uri()
        self.call("Page.navigate", url=self.url)
        browser.wait("Page.loadEventFired", self.session)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def evaluate(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def _events(self, *methods):
        return [
            e["params"] for e in self.browser.events if e.get("sessionId") == self.session and e["method"] in methods
        ]

    @property
    def requests(self):
        """The addresses that were asked for, the page's own and data inside it aside."""
        urls = [event["request"]["url"] for event in self._events("Network.requestWillBeSent")]
        return [url for url in urls if url.partition("#")[0] != self.url and not url.startswith("data:")]

    @property
    def complaints(self):
        """What stands in the console: exceptions, errors, warnings, policies that were broken."""
        thrown = [event["exceptionDetails"]["text"] for event in self._events("Runtime.exceptionThrown")]
        logged = [event["entry"]["text"] for event in self._events("Log.entryAdded")]
        return thrown + logged + [str(event["args"]) for event in self._events("Runtime.consoleAPICalled")]

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
