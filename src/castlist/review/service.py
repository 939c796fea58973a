"""What the servers of castlist's pages share: how errors become responses, and the scripts."""

from __future__ import annotations

from importlib import resources
from typing import Any

from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import APIKeyHeader
from starlette.exceptions import HTTPException

from castlist._version import __version__
from castlist.cast.links import OverlappingTracksError
from castlist.cast.log import ConflictError
from castlist.errors import CastlistError, InputError
from castlist.review.files import SafeJSONResponse
from castlist.review.schemas import ANY


def new_service(title: str) -> FastAPI:
    """Return an application without routes that answers with the reason for each refusal."""
    app = FastAPI(
        title=title, version=__version__, docs_url=None, redoc_url=None,
        responses=ANY, default_response_class=SafeJSONResponse,
        # Guard checks the token. This documents it in /openapi.json.
        dependencies=[Security(APIKeyHeader(name="X-Castlist-Token", auto_error=False))],
    )  # fmt: skip

    @app.exception_handler(CastlistError)
    async def refused(request: Request, error: CastlistError) -> SafeJSONResponse:
        status = 409 if isinstance(error, ConflictError | OverlappingTracksError) else 422
        status = status if isinstance(error, InputError | ConflictError) else 500
        body: dict[str, Any] = {"error": str(error), "kind": type(error).__name__}
        if isinstance(error, OverlappingTracksError):
            body |= {"pairs": error.pairs[:20], "seconds": error.seconds}
        return SafeJSONResponse(body, status)

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> SafeJSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return SafeJSONResponse({"error": f"{where}: {first['msg']}", "kind": "InputError"}, 422)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> SafeJSONResponse:
        body = {"error": error.detail, "kind": "InputError"}
        return SafeJSONResponse(body, error.status_code, error.headers)

    return app


def scripts_of(package: str) -> dict[str, str]:
    """Return the scripts of a package: file name → package."""
    names = (path.name for path in resources.files(package).iterdir())
    return {name: package for name in names if name.endswith(".js")}
