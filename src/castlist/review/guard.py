"""Who may talk to the page: this machine, with the token, from the page itself."""

from __future__ import annotations

import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

#: What a page may do: show what we serve, run our script, and nothing from anywhere else.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


class Guard:
    """Refuse a request that is not ours, before anything looks at it.

    The token is in the address that is opened first; from there on a cookie holds it, which no
    other site's page can make the browser send. A name that points to this machine (DNS rebinding)
    is not one of ours, and neither is another site's page.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    token : str
        Random, and new for each start.
    port : int
        Where it listens.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self.token = token
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"castlist-{port}"  # cookies are shared by all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        answer = self._refusal(headers) or self._entry(scope, headers)
        if answer is not None:
            for name, value in HEADERS.items():
                answer.headers[name] = value
            await answer(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        if headers.get("host", "") not in self.hosts:
            return PlainTextResponse("not a name of this server", 403)
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return PlainTextResponse("not from another site", 403)
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse("not from another site", 403)
        return None

    def _entry(self, scope: Scope, headers: Headers) -> RedirectResponse | PlainTextResponse | None:
        """Turn a token in the address into a cookie; without either, there is no entry."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and scope["method"] == "GET" and self._right(given):
            answer = RedirectResponse("/", 303)
            answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict")
            return answer
        held = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        if self._right(held) or self._right(headers.get("x-castlist-token", "")):
            return None
        return PlainTextResponse(
            "The token is missing or wrong: open the address that `castlist review` printed.", 403
        )

    def _right(self, given: str) -> bool:
        return secrets.compare_digest(given.encode("utf-8", "replace"), self.token.encode())
