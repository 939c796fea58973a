"""What the page's server may be told, and what it answers, as /openapi.json describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[int, Field(ge=1, le=10**9)]
Tracks = Annotated[list[Annotated[str, Field(max_length=200)]], Field(min_length=1)]


class AnswerBody(BaseModel):
    """An answer about some tracks: who is the same person, who is not, and who that is instead."""

    model_config = ConfigDict(extra="forbid", strict=True)
    tracks: Tracks
    same: list[Tracks] = Field(default_factory=list, max_length=20)
    different: list[Tracks] = Field(default_factory=list, max_length=20)
    instead: list[Tracks | None] | None = Field(None, max_length=20)
    mixed: list[Tracks] = Field(default_factory=list, max_length=20)


class Action(BaseModel):
    """Something a person says on the page; ``after`` is the last event they saw."""

    model_config = ConfigDict(extra="forbid", strict=True)
    kind: Literal[
        "name", "background", "merge", "move", "not_face", "answer", "cut", "found", "skip",
        "undo", "redo",
    ]  # fmt: skip
    after: Annotated[int, Field(ge=0)]
    characters: list[Number] = Field(default_factory=list, max_length=10_000)
    tracks: list[Annotated[str, Field(max_length=200)]] = Field(default_factory=list)
    same: list[Tracks] = Field(default_factory=list, max_length=20)
    different: list[Tracks] = Field(default_factory=list, max_length=20)
    instead: list[Tracks | None] | None = Field(None, max_length=20)
    mixed: list[Tracks] = Field(default_factory=list, max_length=20)
    answers: list[AnswerBody] = Field(default_factory=list, max_length=100)
    name: str | None = Field(None, max_length=1000)
    to: Number | None = None
    at: Annotated[float, Field(ge=0, lt=2**40, allow_inf_nan=False)] | None = None
    keep: Literal["before", "after"] = "before"
    anchor: Annotated[int, Field(ge=1, lt=2**53)] | None = None
    yes: bool = True
    waive: bool = False

    @property
    def said(self) -> list[AnswerBody]:
        """The answers it gives: several, or one that is written without a list."""
        one = AnswerBody.model_construct(
            tracks=self.tracks, same=self.same, different=self.different, instead=self.instead,
            mixed=self.mixed,
        )  # fmt: skip
        return self.answers or [one]


class Recluster(BaseModel):
    """How to cluster again."""

    model_config = ConfigDict(extra="forbid", strict=True)
    finetune: bool = False


class Accept(BaseModel):
    """Take a clustering that was shown."""

    model_config = ConfigDict(extra="forbid", strict=True)
    number: Annotated[int, Field(ge=1)]


class Refused(BaseModel):
    """Why something was not done."""

    error: str
    kind: str
    pairs: list[list[str]] = []
    seconds: float = 0.0


class Style(Response):
    """How the page looks."""

    media_type = "text/css"


class Script(Response):
    """What the page does."""

    media_type = "text/javascript"


Described = dict[int | str, dict[str, Any]]


def _told(what: str) -> dict[str, Any]:
    content = {"application/json": {"schema": Refused.model_json_schema()}}
    return {"description": what, "content": content}


# What every way in may answer, those to what is there by name, and those that change something.
ANY: Described = {
    403: {"description": "Not from the page", "content": {"text/plain": {}}},
    422: _told("Not usable"),
}
NAMED: Described = {404: _told("Not there")}
CHANGES: Described = {
    400: _told("Not JSON"),
    409: _told("Changed meanwhile, or not before something is waived"),
}


def answers_of(kind: str) -> Described:
    """Say what a way to a file may answer: all of it, a part, or that there is none."""
    content: dict[str, Any] = {kind: {}}
    return NAMED | {
        200: {"description": "The file", "content": content},
        206: {"description": "A part of it", "content": content},
        416: {"description": "No such part", "content": {"text/plain": {}}},
    }
