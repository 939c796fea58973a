"""The Export view: its table of formats and options, and its routes."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import FastAPI, HTTPException
from fastapi import Path as PathParameter

from castlist.cast.corrections import Corrections
from castlist.export.mot import By
from castlist.export.nfo import Kind
from castlist.export.timeline import one_line
from castlist.export.write import FORMATS, To
from castlist.handover.blur import Cover
from castlist.io.files import printable
from castlist.review.export_job import HANDOVER, Exporting, ExportRequest
from castlist.review.files import SafeFileResponse
from castlist.review.schemas import CHANGES, answers_of

_ABOUT = {
    "reel": ("Reel", "all scenes of people, as one film or as clips for an editor"),
    "blur": ("Blurred video", "the video with all faces covered but those of some people"),
    "graph": ("Graph", "who is seen with whom, and for how long"),
}
_SUFFIXES = {
    ".mp4": "film, MP4", ".mkv": "film, Matroska", ".mov": "film, QuickTime",
    ".otio": "clips, OpenTimelineIO", ".edl": "clips, EDL", ".fcpxml": "clips, Final Cut Pro",
    ".xml": "clips, Premiere Pro", ".graphml": "graph, GraphML", ".svg": "picture, SVG",
}  # fmt: skip
#: Options by their field of ``ExportRequest``: type of the field, label, help and choices.
_OPTIONS: dict[str, dict[str, Any]] = {
    "people": {"type": "people", "label": "People", "help": "All of them must be seen."},
    "visible": {
        "type": "people", "label": "Not covered", "field": "people",
        "help": "A face that was not found is not covered: check the result.",
    },
    "cover": {
        "type": "choice", "label": "Faces become",
        "help": "Networks that recognise faces can recognise some blurred ones.",
        "choices": [[Cover.SOLID.value, "black"], [Cover.BLUR.value, "blurred"]],
    },
    "without": {"type": "people", "label": "Without", "help": "Nobody of these may be seen."},
    "pad": {"type": "seconds", "label": "Add at both ends", "help": "Seconds, to every scene."},
    "gap": {
        "type": "seconds", "label": "Bridge gaps of",
        "help": "Seconds. People who are shown in turn count as together.",
    },
    "exact": {
        "type": "check", "label": "Exact cuts",
        "help": "The film is encoded again, which takes longer. Otherwise scenes begin at the key "
        "frame before.",
    },
    "rate": {
        "type": "rate", "label": "Frames per second", "help": "Empty: the average of the video.",
    },
    "drop_frame": {
        "type": "choice", "label": "Drop-frame timecode", "help": "",
        "choices": [[None, "at 29.97 and 59.94"], [True, "yes"], [False, "no"]],
    },
    "by": {
        "type": "choice", "label": "Ids of", "help": "",
        "choices": [[by.value, f"{by.value}s"] for by in By],
    },
    "kind": {
        "type": "choice", "label": "The video is", "help": "",
        "choices": [[None, "an episode if its name has a number such as S01E02"],
                    *([kind.value, f"{'an' if kind is Kind.EPISODE else 'a'} {kind.value}"]
                      for kind in Kind)],
    },
}  # fmt: skip
_HANDOVER_OPTIONS = {
    "reel": ("people", "without", "pad", "gap", "exact"),
    "blur": ("visible", "cover", "video"),
    "graph": ("gap",),
}


def formats_view(corrections: Corrections, job: Exporting) -> dict[str, Any]:
    """Return everything that can be exported, with its options and a file name."""
    stem = printable(re.sub(r"\.cast$", "", corrections.folder.resolve().name)) or "cast"
    videos = [one_line(name) for name in corrections.tracks.videos]
    options = {
        **_OPTIONS,
        "video": {
            "type": "choice", "label": "Video", "help": "",
            "choices": [[name, name] for name in videos],
        },
    }  # fmt: skip
    found = []
    for what, suffixes in HANDOVER.items():
        title, about = _ABOUT[what]
        own = [one for one in _HANDOVER_OPTIONS[what] if one != "video" or len(videos) > 1]
        found.append(
            {"what": what, "group": "Films and pictures", "title": title, "about": about,
             "name": f"{stem}-{what}{suffixes[0]}", "folder": False, "options": own,
             "suffixes": [[suffix, _SUFFIXES[suffix]] for suffix in suffixes]}
        )  # fmt: skip
    for to in To:
        form, several = FORMATS[to], job.one_file_per_video(to)
        name = f"{stem}-{to}" if several else f"{stem}{form.suffix}"
        found.append(
            {"what": to.value, "group": "Files for other tools", "title": f"{to} for {form.tool}",
             "about": form.about, "name": name, "folder": several, "options": list(form.options),
             "suffixes": [[form.suffix, form.suffix]]}
        )  # fmt: skip
    return {
        "last": corrections.version, "home": printable(str(job.home)), "options": options,
        "formats": found,
    }  # fmt: skip


def status_view(job: Exporting) -> dict[str, Any]:
    """Return whether an export is running, and the files made since the server was started."""
    return {
        "running": job.running,
        "stage": job.stage,
        "share": round(job.share, 3),
        "error": job.error,
        "made": [
            {"number": number, "notes": list(made.notes),
             "files": [printable(file.relative_to(job.home).as_posix()) for file in made.files]}
            for number, made in enumerate(job.made)
        ][::-1],
    }  # fmt: skip


def add_export_routes(app: FastAPI, corrections: Corrections) -> None:
    """Add the routes of the Export view."""
    job = Exporting(corrections)

    @app.get("/api/export/formats")
    def formats() -> dict[str, Any]:
        with corrections.fresh():
            return formats_view(corrections, job)

    @app.get("/api/export")
    def status() -> dict[str, Any]:
        return status_view(job)

    @app.post("/api/export", responses=CHANGES)
    def start(wanted: ExportRequest) -> dict[str, bool]:
        job.start(wanted)
        return {"running": True}

    @app.post("/api/export/cancel", responses=CHANGES)
    def cancel() -> dict[str, bool]:
        job.cancel()
        return {"running": job.running}

    @app.get(
        "/exports/{number}/{k}",
        response_class=SafeFileResponse,
        responses=answers_of("application/octet-stream"),
    )
    def download(
        number: Annotated[int, PathParameter(ge=0)], k: Annotated[int, PathParameter(ge=0)]
    ) -> SafeFileResponse:
        if number >= len(job.made) or k >= len(job.made[number].files):
            raise HTTPException(404)
        path = job.made[number].files[k]
        return SafeFileResponse(
            path, filename=printable(path.name), media_type="application/octet-stream"
        )
