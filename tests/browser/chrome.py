"""Drives a headless Chromium over its debugging pipe, with nothing but Python's own library."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")


class Unavailable(Exception):
    """There is no Chromium here that starts."""


class Chrome:
    """A browser with one page. Everything that the page asks for, logs or throws is in `requests`
    and `complaints`."""

    def __init__(self):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            raise Unavailable("no chromium")
        self.folder = tempfile.mkdtemp()
        to_browser, from_browser = os.pipe(), os.pipe()
        flags = ["--headless", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
                 "--disable-dev-shm-usage", "--user-data-dir=" + self.folder,
                 "--host-resolver-rules=MAP * ~NOTFOUND"]
        if os.getuid() == 0:
            flags.append("--no-sandbox")

        def place_pipes():  # the browser reads descriptor 3 and writes descriptor 4
            read, write = os.dup(to_browser[0]), os.dup(from_browser[1])
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen([program, *flags, "about:blank"], close_fds=False,
                                        preexec_fn=place_pipes, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser[0])
        os.close(from_browser[1])
        self.write, self.read = to_browser[1], from_browser[0]
        self.buffer, self.ids, self.session = b"", itertools.count(1), None
        self.requests, self.complaints, self.loaded = [], [], False
        try:
            targets = self.call("Target.getTargets", wait=30)["targetInfos"]
        except (OSError, TimeoutError) as e:
            self.close()
            raise Unavailable(f"{program} does not start: {e}") from e
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.write)
        os.close(self.read)
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- the protocol: messages of JSON, each ended by a zero byte ---

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready = select.select([self.read], [], [], max(0, deadline - time.monotonic()))[0]
            if not ready:
                raise TimeoutError("the browser does not answer")
            block = os.read(self.read, 1 << 20)
            if not block:
                raise OSError("the browser has ended")
            self.buffer += block
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, p = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(p["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(p["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(str(p["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(p["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, wait=60, **params):
        message = {"id": next(self.ids), "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + wait
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == message["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    # --- what a person does ---

    def open(self, path, width=1000, height=800, dark=False, scripts=True):
        self.requests, self.complaints, self.loaded = [], [], False
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setEmulatedMedia", media="", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        deadline = time.monotonic() + 60
        while not self.loaded:
            self.note(self.receive(deadline))

    def value(self, expression):
        """The value of an expression of JavaScript."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def press(self, key, code, text=""):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=code, text=text if kind == "keyDown" else "")

    def type(self, text):
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="char", text=letter)

    def mouse(self, x, y, kind="mouseMoved"):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if
                  kind != "mouseMoved" else "none", clickCount=1 if kind != "mouseMoved" else 0)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(x, y, kind)

    def screenshot(self, path):
        """The whole page, however high."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000),
                "scale": 1}
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))

    def pdf_pages(self):
        data = base64.b64decode(self.call("Page.printToPDF")["data"])
        return data.count(b"/Type /Page\n") + data.count(b"/Type /Page ")
