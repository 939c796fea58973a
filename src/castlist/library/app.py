"""The library page and its API."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, StrictUndefined

from castlist._version import __version__
from castlist.errors import InputError
from castlist.io.files import printable
from castlist.library.joining import series_folder
from castlist.library.library import Library
from castlist.library.open_casts import OpenCasts
from castlist.library.schemas import JoinRequest, QueueRequest, ScanRequest
from castlist.library.views import library_view, progress_view
from castlist.report.html import style, text_of
from castlist.review.files import SafeFileResponse, SafeJSONResponse
from castlist.review.schemas import CHANGES, NAMED, Script, Style, answers_of
from castlist.review.service import new_service, scripts_of

#: The library uses some scripts of the review page; its own come first.
_SCRIPTS = scripts_of("castlist.review") | scripts_of(__package__)


def library_app(library: Library, casts: OpenCasts) -> FastAPI:
    """Return the page of a library and its API, with the pages of its casts under ``/casts/``.

    Parameters
    ----------
    library : Library
        The library.
    casts : OpenCasts
        Its open casts.
    """
    app = new_service("castlist library")

    @app.get("/", response_class=HTMLResponse)
    def page() -> str:
        environment = Environment(autoescape=True, undefined=StrictUndefined)
        template = environment.from_string(text_of(__package__, "library.html.j2"))
        name = printable(library.folder.name or str(library.folder))
        path = printable(str(library.folder))
        return template.render(title=name, path=path, version=__version__)

    @app.get("/favicon.ico", include_in_schema=False)
    def icon() -> Response:
        return Response(status_code=204)

    @app.get("/library.css", response_class=Style)
    def stylesheet() -> Response:
        shared = str(style("castlist.review", "review.css"))
        return Style(shared + text_of(__package__, "library.css"))

    @app.get("/js/{name}", response_class=Script, responses=NAMED)
    def script(name: str) -> Response:
        if name not in _SCRIPTS:
            raise HTTPException(404)
        return Script(text_of(_SCRIPTS[name], name))

    @app.get("/posters/{key}", response_class=SafeFileResponse, responses=answers_of("image/jpeg"))
    def poster(key: str) -> SafeFileResponse:
        video = library.place(key).video
        try:
            path = library.posters.poster(video)
        except OSError as error:
            raise HTTPException(404) from error
        return SafeFileResponse(path, headers={"cache-control": "no-cache"})

    @app.get("/api/library")
    def whole() -> SafeJSONResponse:  # a dict would be copied first
        library.watched()
        return SafeJSONResponse(library_view(library))

    @app.get("/api/progress")
    def progress() -> dict[str, Any]:
        library.watched()
        return progress_view(library)

    @app.post("/api/scan", responses=CHANGES)
    def scan(wanted: ScanRequest) -> dict[str, Any]:
        library.scan(wanted.videos, wanted.options)
        return progress_view(library)

    @app.post("/api/queue", responses=CHANGES)
    def change(wanted: QueueRequest) -> dict[str, Any]:
        videos = [library.place(key).video for key in wanted.videos]
        queue = library.queue
        if wanted.action in ("earlier", "later"):
            queue.move(videos, -1 if wanted.action == "earlier" else 1)
        else:
            {"pause": queue.pause, "resume": queue.resume, "cancel": queue.cancel}[wanted.action](
                videos
            )
        return progress_view(library)

    @app.post("/api/join", responses=CHANGES)
    def join(wanted: JoinRequest) -> dict[str, Any]:
        casts = [library.cast(key).folder for key in dict.fromkeys(wanted.casts)]
        if wanted.series is not None:
            series = library.cast(wanted.series)
            if not series.joined:
                raise InputError(f"{series.folder.name} is the cast of one video, not a series")
            library.joining.start(casts, series.folder, add=True)
        else:
            if len(casts) < 2:
                raise InputError("joining needs at least two casts")
            out = series_folder(wanted.name, casts[0].parent)
            if out.exists():
                raise InputError(f"{out.name} exists already; give another name")
            library.joining.start(casts, out, add=False)
        return progress_view(library)

    app.mount("/casts", casts)
    return app
