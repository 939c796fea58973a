"""The review server: its routes, and how its errors become responses."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query, Request, Security
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from fastapi.security import APIKeyHeader
from jinja2 import Environment, StrictUndefined
from pydantic import Field
from starlette.exceptions import HTTPException as StarletteHTTPException

from castlist._version import __version__
from castlist.cast.corrections import Corrections
from castlist.cast.links import OverlappingTracksError
from castlist.cast.log import ConflictError
from castlist.cast.recluster import accept
from castlist.errors import CastlistError, InputError
from castlist.io.files import printable
from castlist.report.html import style, text_of
from castlist.report.page import title_of
from castlist.review import views
from castlist.review.exports import add_export_routes
from castlist.review.files import SafeFileResponse, SafeJSONResponse
from castlist.review.guard import HEADERS, Guard
from castlist.review.photos import add_photo_routes
from castlist.review.recluster_job import Reclustering
from castlist.review.schemas import (
    ANY,
    CHANGES,
    NAMED,
    Accept,
    Action,
    Number,
    Recluster,
    Script,
    Style,
    answers_of,
)  # fmt: skip

#: Script of the page → the package that holds it.
_SCRIPTS = {
    path.name: __package__
    for path in resources.files(__package__).iterdir()
    if path.name.endswith(".js")
} | {"frame.js": "castlist.report"}


def make_app(
    corrections: Corrections, token: str, port: int, videos: Sequence[Path | None] = ()
) -> Guard:
    """Return the review server of one cast.

    Parameters
    ----------
    corrections : Corrections
        The cast.
    token : str
        Secret that a request must carry.
    port : int
        Port of the server.
    videos : sequence of Path or None
        The video files to play; None for each that was not found.
    """
    app = FastAPI(
        title="castlist review", version=__version__, docs_url=None, redoc_url=None,
        responses=ANY, default_response_class=SafeJSONResponse,
        # Guard checks the token. This documents it in /openapi.json.
        dependencies=[Security(APIKeyHeader(name="X-Castlist-Token", auto_error=False))],
    )  # fmt: skip
    job = Reclustering(corrections)
    skipped: views.Skipped = []

    @app.middleware("http")
    async def headers(request: Request, call_next: Any) -> Response:
        answer: Response = await call_next(request)
        for name, value in HEADERS.items():
            answer.headers[name] = value
        if request.url.path.startswith("/api/"):
            answer.headers["cache-control"] = "no-store"
        return answer

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

    @app.exception_handler(StarletteHTTPException)
    async def http_error(request: Request, error: StarletteHTTPException) -> SafeJSONResponse:
        body = {"error": error.detail, "kind": "InputError"}
        return SafeJSONResponse(body, error.status_code, error.headers)

    @app.get("/", response_class=HTMLResponse)
    def page() -> str:
        environment = Environment(autoescape=True, undefined=StrictUndefined)
        template = environment.from_string(text_of(__package__, "review.html.j2"))
        return template.render(
            title=printable(title_of(corrections.tracks.videos)),
            video=any(video is not None for video in videos),
            version=__version__,
        )

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> Response:
        return Response(status_code=204)

    @app.get("/review.css", response_class=Style)
    def stylesheet() -> Response:
        return Style(str(style(__package__, "review.css")))

    @app.get("/js/{name}", response_class=Script, responses=NAMED)
    def script(name: str) -> Response:
        if name not in _SCRIPTS:
            raise HTTPException(404)
        return Script(text_of(_SCRIPTS[name], name))

    @app.get(
        "/faces/{track}/{k}", response_class=SafeFileResponse, responses=answers_of("image/jpeg")
    )
    def face(track: str, k: Annotated[int, Field(ge=0, le=99)]) -> SafeFileResponse:
        with corrections.lock:
            corrections.rows([track])  # refuses unknown tracks, so that no path can be forged
            pictures = corrections.pictures_of(track)
            if k >= len(pictures) or not corrections.has_pictures(track):
                raise HTTPException(404)
        return SafeFileResponse(pictures[k], headers={"cache-control": "no-cache"})

    @app.get("/frames/{track}", response_class=SafeFileResponse, responses=answers_of("image/jpeg"))
    def frame(track: str) -> SafeFileResponse:
        with corrections.lock:
            corrections.rows([track])
            path = corrections.frame_of(track)
            if path is None or not corrections.has_pictures(track):
                raise HTTPException(404)
        return SafeFileResponse(path, headers={"cache-control": "no-cache"})

    @app.get("/video/{number}", response_class=SafeFileResponse, responses=answers_of("video/*"))
    def film(number: Annotated[int, PathParameter(ge=0)]) -> SafeFileResponse:
        video = videos[number] if number < len(videos) else None
        if video is None:
            raise HTTPException(404)
        return SafeFileResponse(video)

    @app.get("/api/cast")
    def cast() -> dict[str, Any]:
        with corrections.fresh():
            return views.cast_view(corrections)

    @app.get("/api/last")
    def last() -> dict[str, int]:
        with corrections.fresh():
            return {"last": corrections.version}

    @app.get("/api/characters/{number}")
    def character(number: Number) -> dict[str, Any]:
        with corrections.fresh():
            return views.character_view(corrections, number)

    @app.get("/api/not-faces")
    def not_faces() -> dict[str, Any]:
        with corrections.fresh():
            return views.not_faces_view(corrections)

    @app.get("/api/tracks/{track}")
    def one_track(track: str) -> dict[str, Any]:
        with corrections.fresh():
            return views.track_view(corrections, track)

    @app.get("/api/questions")
    def asked(most: Annotated[int, Query(ge=1, le=100)] = 10) -> dict[str, Any]:
        with corrections.fresh():
            return views.questions_view(corrections, skipped, most)

    @app.get("/api/history")
    def history() -> dict[str, Any]:
        with corrections.fresh():
            return views.history_view(corrections)

    @app.post("/api/actions", responses=CHANGES)
    def act(action: Action) -> dict[str, Any]:
        with corrections.fresh():
            if action.kind == "skip":
                pairs = [(one.tracks, other) for one in action.said for other in one.different]
                for tracks in (tracks for pair in pairs for tracks in pair):
                    corrections.rows(tracks)  # refuses unknown tracks now
                skipped.extend(pairs)
            elif action.after != corrections.version:
                raise ConflictError("the cast was changed elsewhere; check it and try again")
            else:
                _act(corrections, action)
            return {"last": corrections.version}

    @app.get("/api/recluster")
    def status() -> dict[str, Any]:
        with corrections.fresh():
            proposal = job.proposal
            if proposal and proposal.basis != corrections.scanned.basis:
                job.drop()
                proposal = None
            return {
                "running": job.running,
                "stage": job.stage,
                "share": round(job.share, 3),
                "error": job.error,
                "proposal": views.proposal_view(corrections, proposal, job.number)
                if proposal
                else None,
            }

    @app.post("/api/recluster", responses=CHANGES)
    def recluster(wanted: Recluster) -> dict[str, bool]:
        job.start(wanted.finetune)
        return {"running": True}

    @app.post("/api/recluster/accept", responses=CHANGES)
    def accepted(seen: Accept) -> dict[str, int]:
        with corrections.fresh():
            if job.proposal is None:
                raise InputError("there is no new clustering to accept; start one first")
            if job.number != seen.number:
                raise ConflictError("a newer clustering has replaced the one that was shown")
            accept(corrections, job.proposal)
            job.drop()
            return {"last": corrections.version}

    @app.post("/api/recluster/drop", responses=CHANGES)
    def dropped() -> dict[str, bool]:
        job.drop()
        return {"running": job.running}

    add_photo_routes(app, corrections)
    add_export_routes(app, corrections)
    return Guard(app, token, port)


def _act(corrections: Corrections, action: Action) -> None:
    """Apply an action of the page to the cast."""
    who = list(action.characters)
    if action.kind == "name":
        if len(who) != 1:
            raise InputError("give one character to name; merge several to name them together")
        corrections.name(who[0], action.name or "")
    elif action.kind == "not_named":
        if len(who) != 1:
            raise InputError("give one character")
        corrections.not_named(who[0], action.name or "")
    elif action.kind == "background":
        corrections.background(who, action.yes)
    elif action.kind == "merge":
        corrections.merge(who, name=action.name, waive=action.waive)
    elif action.kind == "move":
        corrections.move(action.tracks, action.to, waive=action.waive)
    elif action.kind == "not_face":
        corrections.not_face(action.tracks, action.yes)
    elif action.kind == "answer":
        corrections.answers(
            [
                {"one": said.tracks, "same": said.same, "different": said.different,
                 "instead": said.instead, "mixed": said.mixed}
                for said in action.said
            ],
            waive=action.waive,
        )  # fmt: skip
    elif action.kind == "cut":
        if len(action.tracks) != 1 or action.at is None:
            raise InputError("give one track to cut, and the time in seconds")
        corrections.cut(action.tracks[0], action.at, keep=action.keep)
    elif action.kind == "found":
        if len(action.tracks) != 1 or action.anchor is None:
            raise InputError("give one lost track and the one track that it is")
        corrections.found(action.anchor, action.tracks[0])
    elif action.kind == "undo":
        corrections.undo()
    else:
        corrections.redo()
