"""Start ``castlist review`` or ``castlist open`` in a process and send requests to it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from email.message import Message
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

#: Without proxies: urllib's default opener keeps those of the environment at its first use.
_OPENER = build_opener(ProxyHandler({}))


class Server:
    """A running server of a cast (``review``) or of a library (``open``), as a context manager."""

    def __init__(
        self, folder: Path, *options: str | Path, stderr: IO[bytes] | None = None,
        command: str = "review",
    ) -> None:  # fmt: skip
        self.command = command
        self.folder = folder
        self.options = options
        self.stderr = stderr

    def __enter__(self) -> Server:
        words = [sys.executable, "-m", "castlist", self.command, str(self.folder), "--no-browser"]
        words += map(str, self.options)
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=self.stderr, encoding="utf-8"
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        parts = urlsplit(self.address)
        self.base = f"http://{parts.netloc}"
        self.token = parse_qs(parts.query)["token"][0]
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)  # long, for a busy machine
        if self.process.stdout is not None:
            self.process.stdout.close()

    def ask(
        self, path: str, body: object = None, *, token: str | None = "", **headers: str
    ) -> tuple[int, Message, bytes]:
        """Return status, headers and content; send the right token unless another is given."""
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

    def get(self, path: str) -> Any:
        """Return the JSON at a path."""
        status, _, content = self.ask(path)
        assert status == 200, content
        return json.loads(content)

    def act(self, **action: Any) -> tuple[int, Any]:
        """Send a correction that is based on the newest event."""
        action.setdefault("after", self.get("/api/last")["last"])
        status, _, content = self.ask("/api/actions", action)
        return status, json.loads(content)
