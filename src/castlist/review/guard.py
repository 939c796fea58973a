"""Checks of each request: the host, the origin, the token and the size."""

from __future__ import annotations

import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: The page may load and run only what this server serves.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_WELCOME = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=/">
<title>castlist</title>
<p><a href="/">Continue</a></p>
</html>
"""
#: Bytes of the largest body of a request: far more than naming all tracks of a large cast.
_MOST_BYTES = 2**23
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Middleware that refuses requests from other sites, by other host names or without the token.

    It guards all that an application serves, also what is mounted under it.

    The first address that is opened carries the token. Afterwards a SameSite cookie holds it, which
    the browser does not send for other sites. The host check stops DNS rebinding.

    Parameters
    ----------
    app : ASGI application
        The application to guard.
    token : str
        Secret; random for each start.
    port : int
        Port of the server.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self.token = token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"castlist-{port}"  # cookies are shared by all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a refusal or a redirect."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        answer = self._entry(scope, headers) or self._refusal(headers) or _too_large(headers)
        await (answer or self.app)(scope, receive, _with_headers(send))

    def _entry(self, scope: Scope, headers: Headers) -> HTMLResponse | None:
        """Return a page that sets the cookie, if the address has the right token.

        The page leads on to the address without the token. A redirect would not do: the browser may
        come from a file, and sends no SameSite cookie until a page of this server leads on.
        """
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not (
            scope["path"] == "/" and scope["method"] == "GET" and self._right(given)
            and self._here(headers) and headers.get("sec-fetch-mode", "navigate") == "navigate"
        ):  # fmt: skip
            return None
        answer = HTMLResponse(_WELCOME)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
        return answer

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        """Return a refusal, or None if the request comes from a page with the token."""
        if headers.get("host", "") not in self.hosts:
            return PlainTextResponse("the Host header does not name this server", 403)
        if not self._here(headers) or headers.get("sec-fetch-site", "same-origin") not in (
            "same-origin", "none",
        ):  # fmt: skip
            return PlainTextResponse("not from another site", 403)
        held = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        if self._right(held) or self._right(headers.get("x-castlist-token", "")):
            return None
        return PlainTextResponse(
            "The token is missing or wrong: open the address that castlist printed.", 403
        )

    def _here(self, headers: Headers) -> bool:
        """Return whether host and origin, if there is one, are this server."""
        origin = headers.get("origin")
        mine = origin is None or origin in {f"http://{host}" for host in self.hosts}
        return mine and headers.get("host", "") in self.hosts

    def _right(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())


def _too_large(headers: Headers) -> PlainTextResponse | None:
    """Return a refusal of a body that is large, or that does not state its length."""
    if "transfer-encoding" in headers:
        return PlainTextResponse("state the length of the body", 411)
    # The server has checked that it is a number, and reads no more bytes than it says.
    if int(headers.get("content-length", "0")) > _MOST_BYTES:
        return PlainTextResponse(f"the body is larger than {_MOST_BYTES:,} bytes", 413)
    return None


def _with_headers(send: Send) -> Send:
    """Return a ``send`` that adds the headers of every response. JSON is never stored."""

    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            if headers.get("content-type", "").startswith("application/json"):
                headers["cache-control"] = "no-store"
        await send(message)

    return send_guarded
