"""Requests and responses of the review server, as /openapi.json describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

# The validation of a list ends at its first mistake: collecting a hundred thousand takes seconds.
Number = Annotated[int, Field(ge=1, le=10**9)]
Tracks = Annotated[
    list[Annotated[str, Field(max_length=200)]],
    Field(min_length=1, max_length=200_000, fail_fast=True),
]
_Groups = Annotated[list[Tracks], Field(max_length=20, fail_fast=True)]
_Instead = Annotated[list[Tracks | None], Field(max_length=20, fail_fast=True)]


class Request(BaseModel):
    """The body of a request, without unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, body: Any) -> Any:
        """Refuse the first unknown field, so that not all of them are collected."""
        for name in body if isinstance(body, dict) else ():
            if name not in cls.model_fields:
                raise PydanticCustomError("unknown", "unknown field {name}", {"name": name[:100]})
        return body


class AnswerBody(Request):
    """An answer: which tracks show the same person as ``tracks``, and which do not."""

    tracks: Tracks
    same: _Groups = Field(default_factory=list)
    different: _Groups = Field(default_factory=list)
    instead: _Instead | None = None
    mixed: _Groups = Field(default_factory=list)


class Action(Request):
    """An action on the page. ``after`` is the last event that the page has shown."""

    kind: Literal[
        "name", "background", "merge", "move", "not_face", "answer", "cut", "found", "skip",
        "undo", "redo", "not_named",
    ]  # fmt: skip
    after: Annotated[int, Field(ge=0)]
    characters: list[Number] = Field(default_factory=list, max_length=10_000, fail_fast=True)
    tracks: list[Annotated[str, Field(max_length=200)]] = Field(
        default_factory=list, max_length=200_000, fail_fast=True
    )
    same: _Groups = Field(default_factory=list)
    different: _Groups = Field(default_factory=list)
    instead: _Instead | None = None
    mixed: _Groups = Field(default_factory=list)
    answers: list[AnswerBody] = Field(default_factory=list, max_length=100, fail_fast=True)
    name: str | None = Field(None, max_length=1000)
    to: Number | None = None
    at: Annotated[float, Field(ge=0, lt=2**40, allow_inf_nan=False)] | None = None
    keep: Literal["before", "after"] = "before"
    anchor: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    yes: bool = True
    waive: bool = False

    @property
    def said(self) -> list[AnswerBody]:
        """The answers: those of ``answers``, or the one in the fields of the action itself."""
        one = AnswerBody.model_construct(
            tracks=self.tracks, same=self.same, different=self.different, instead=self.instead,
            mixed=self.mixed,
        )  # fmt: skip
        return self.answers or [one]


class Accept(Request):
    """Accept the clustering with this number."""

    number: Annotated[int, Field(ge=1)]


class Refused(BaseModel):
    """Why a request was refused."""

    error: str
    kind: str
    pairs: list[list[str]] = []
    seconds: float = 0.0


class Style(Response):
    """A style sheet."""

    media_type = "text/css"


class Script(Response):
    """A script."""

    media_type = "text/javascript"


Described = dict[int | str, dict[str, Any]]


def _refused(description: str) -> dict[str, Any]:
    content = {"application/json": {"schema": Refused.model_json_schema()}}
    return {"description": description, "content": content}


# Responses of every route, of routes to a named thing, and of routes that change something.
ANY: Described = {
    403: {"description": "Not from the page", "content": {"text/plain": {}}},
    411: {"description": "A body without its length", "content": {"text/plain": {}}},
    413: {"description": "Too large", "content": {"text/plain": {}}},
    422: _refused("Not usable"),
}
NAMED: Described = {404: _refused("Not found")}
CHANGES: Described = {
    400: _refused("Not JSON"),
    409: _refused("The cast was changed elsewhere, or tracks share a frame and `waive` is not set"),
}


def answers_of(kind: str) -> Described:
    """Return the responses of a route to a file of this media type."""
    content: dict[str, Any] = {kind: {}}
    return NAMED | {
        200: {"description": "The file", "content": content},
        206: {"description": "A part of it", "content": content},
        416: {"description": "No such part", "content": {"text/plain": {}}},
    }
