"""The review page of one cast and its API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException, Query
from fastapi import Path as PathParameter
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, StrictUndefined
from pydantic import Field

from castlist._version import __version__
from castlist.cast.corrections import Corrections
from castlist.cast.log import ConflictError
from castlist.cast.recluster import accept
from castlist.errors import InputError
from castlist.io.files import printable
from castlist.io.pictures import jpeg_of
from castlist.report.html import style, text_of
from castlist.report.page import title_of
from castlist.review import views
from castlist.review.exports import add_export_routes
from castlist.review.files import SafeFileResponse
from castlist.review.photos import add_photo_routes
from castlist.review.recluster_job import Reclustering
from castlist.review.schemas import (
    CHANGES,
    NAMED,
    Accept,
    Action,
    Number,
    Script,
    Style,
    answers_of,
)  # fmt: skip
from castlist.review.service import new_service, scripts_of
from castlist.review.watch import watch_routes

_SCRIPTS = scripts_of(__package__) | {"frame.js": "castlist.report"}


def cast_app(
    corrections: Corrections, videos: Sequence[Path | None] = (), library: str = "",
    wrong: Sequence[str] = (),
) -> FastAPI:  # fmt: skip
    """Return the page of one cast and its API, to be guarded or mounted under a guarded one.

    The page asks for paths relative to its own, so that it works wherever it is mounted.

    Parameters
    ----------
    corrections : Corrections
        The cast.
    videos : sequence of Path or None
        The video files to play; None for each that was not found.
    library : str
        Address of the library that the page links to, relative to the page; no link if empty.
    wrong : sequence of str
        For each video, why the file in its place is not played; empty if there is no such file.
    """
    app = new_service("castlist review")
    job = Reclustering(corrections)
    skipped: views.Skipped = []

    @app.get("/", response_class=HTMLResponse)
    def page() -> str:
        environment = Environment(autoescape=True, undefined=StrictUndefined)
        template = environment.from_string(text_of(__package__, "review.html.j2"))
        return template.render(
            title=printable(title_of(corrections.tracks.videos, corrections.folder)),
            video=any(video is not None for video in videos),
            library=library,
            version=__version__,
        )

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> Response:
        return Response(status_code=204)

    @app.get("/review.css", response_class=Style)
    def stylesheet() -> Response:
        return Style(style(__package__, "review.css") + text_of(__package__, "watch.css"))

    @app.get("/js/{name}", response_class=Script, responses=NAMED)
    def script(name: str) -> Response:
        if name not in _SCRIPTS:
            raise HTTPException(404)
        return Script(text_of(_SCRIPTS[name], name))

    @app.get("/faces/{track}/{k}", response_class=Response, responses=answers_of("image/jpeg"))
    def face(track: str, k: Annotated[int, Field(ge=0, le=99)]) -> Response:
        with corrections.lock:
            corrections.rows([track])  # refuses unknown tracks, so that no path can be forged
            pictures = corrections.pictures_of(track)
            if k >= len(pictures) or not corrections.has_pictures(track):
                raise HTTPException(404)
        return _picture(pictures[k])

    @app.get("/frames/{track}", response_class=Response, responses=answers_of("image/jpeg"))
    def frame(track: str) -> Response:
        with corrections.lock:
            corrections.rows([track])
            path = corrections.frame_of(track)
            if path is None or not corrections.has_pictures(track):
                raise HTTPException(404)
        return _picture(path)

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
    def recluster() -> dict[str, bool]:
        job.start()
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
    app.include_router(watch_routes(corrections, videos, wrong))
    return app


def _picture(path: Path) -> Response:
    """Return a response with a picture of the cast, which may have been removed meanwhile."""
    data = jpeg_of(path)
    if data is None:
        raise HTTPException(404)
    return Response(data, media_type="image/jpeg", headers={"cache-control": "no-cache"})


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
