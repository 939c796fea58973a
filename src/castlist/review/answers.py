"""What the page's server may answer, as /openapi.json says it."""

from __future__ import annotations

from typing import Any

from fastapi.responses import Response
from pydantic import BaseModel


class Refused(BaseModel):
    """Why something was not done."""

    error: str
    kind: str
    pairs: list[list[str]] = []
    seconds: float = 0.0


class Style(Response):
    """A style sheet."""

    media_type = "text/css"


class Script(Response):
    """A script of the page."""

    media_type = "text/javascript"


Described = dict[int | str, dict[str, Any]]


def _told(what: str) -> dict[str, Any]:
    content = {"application/json": {"schema": Refused.model_json_schema()}}
    return {"description": what, "content": content}


#: What every way in may answer, those to what is there by name, and those that change something.
ANY: Described = {
    403: {"description": "Not from the page", "content": {"text/plain": {}}},
    422: _told("Not usable"),
}
NAMED: Described = {404: _told("Not there")}
CHANGES: Described = {
    400: _told("Not JSON"),
    409: _told("Changed meanwhile, or not before something is waived"),
}


def file_of(kind: str) -> Described:
    """Say what a way to a file may answer: all of it, a part, or that there is none."""
    content: dict[str, Any] = {kind: {}}
    return NAMED | {
        200: {"description": "The file", "content": content},
        206: {"description": "A part of it", "content": content},
        416: {"description": "No such part", "content": {"text/plain": {}}},
    }
