"""The real server, as `castlist review` starts it, and a simple client."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

#: Of its own: urllib keeps one for all, with the proxies that the environment had at its first use.
_OPENER = build_opener(ProxyHandler({}))


class Server:
    """A running server; use it as a context."""

    def __init__(self, folder: Path, *options: str | Path, stderr: IO[bytes] | None = None) -> None:
        self.folder = folder
        self.options = options
        self.stderr = stderr

    def __enter__(self) -> Server:
        words = [sys.executable, "-m", "castlist", "review", str(self.folder), "--no-browser"]
        words += map(str, self.options)
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=self.stderr, text=True
        )
        self.address = self.process.stdout.readline().strip()
        parts = urlsplit(self.address)
        self.base = f"http://{parts.netloc}"
        self.token = parse_qs(parts.query)["token"][0]
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)  # a machine may have much else to do
        self.process.stdout.close()

    def ask(self, path: str, body: object = None, *, token: str | None = "", **headers: str):
        """Return status, headers and content. The right token is sent unless another is given."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            given["X-Castlist-Token"] = token or self.token
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            given.setdefault("Content-Type", "application/json")
        try:
            with _OPENER.open(Request(self.base + path, data, given), timeout=30) as answer:
                return answer.status, answer.headers, answer.read()
        except HTTPError as error:
            return error.code, error.headers, error.read()

    def get(self, path: str):
        status, _, content = self.ask(path)
        assert status == 200, content
        return json.loads(content)

    def act(self, **action):
        """Send an action with the number of the last event."""
        action.setdefault("after", self.get("/api/last")["last"])
        status, _, content = self.ask("/api/actions", action)
        return status, json.loads(content)
