"""What the library page shows, as JSON values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from castlist.io.files import printable
from castlist.library.cast_info import CastInfo
from castlist.library.contents import Place, key_of, shown_path
from castlist.library.library import Library
from castlist.library.posters import VideoFacts
from castlist.library.scan_queue import Job

_INTERRUPTED = "a scan was interrupted, or another process runs it; scan the video to resume"


def library_view(library: Library) -> dict[str, Any]:
    """Return the whole library: one entry per video, series and cast without a video."""
    version, snapshot = library.version, library.snapshot  # the version first: it may be older
    jobs = {job.video: (number, job) for number, job in enumerate(library.queue.jobs())}
    of_videos = {place.cast.folder for place in snapshot.videos.values() if place.cast}
    others = {key: cast for key, cast in snapshot.casts.items() if cast.folder not in of_videos}
    return {
        "version": version,
        "videos": [
            _video(library, key, place, jobs.get(place.video, (0, None)))
            for key, place in snapshot.videos.items()
        ],
        "casts": [_other(library, key, cast) for key, cast in others.items()],
        "unreadable": [
            {"path": shown_path(path, library.folder) or printable(str(path)), "reason": reason}
            for path, reason in snapshot.unreadable
        ],
        "bytes": sum(library.sizes.get(cast.folder, 0) for cast in snapshot.casts.values()),
        "free": library.free_bytes,
        "joining": _joining(library),
    }


def progress_view(library: Library) -> dict[str, Any]:
    """Return what changes every second: the version, and the scan that runs."""
    return {
        "version": library.version,
        "scanning": [
            {"key": key_of(job.video, library.folder), **_progress(job)}
            for job in library.queue.jobs()
            if job.state == "scanning"
        ],
    }


def _video(
    library: Library, key: str, place: Place, queued: tuple[int, Job | None]
) -> dict[str, Any]:
    number, job = queued
    facts = library.facts.get(place.video)
    state, reason = _state(place, facts, job)
    cast = place.cast if place.cast is not None and place.cast.complete else None
    seconds = facts.seconds if facts and facts.seconds else place.cast.seconds if place.cast else 0
    return {
        "kind": "video",
        "key": key,
        "name": printable(place.video.name),
        "place": shown_path(place.video.parent, library.folder),
        "state": state,
        "reason": reason,
        "seconds": seconds,
        "poster": bool(facts and not facts.problem),
        "read": facts is not None,
        "queued": number if job else None,
        **({} if job is None or job.state != "scanning" else _progress(job)),
        "cast": None if cast is None else _cast(library, cast),
    }


def _state(place: Place, facts: VideoFacts | None, job: Job | None) -> tuple[str, str]:
    """Return the state of a video, and the reason for it."""
    cast = place.cast
    if job is not None:
        return job.state, printable(job.reason)
    if cast is not None and cast.problem:
        return "unreadable", printable(cast.problem)
    if cast is not None and cast.complete:
        return ("corrected" if cast.corrections else "scanned"), ""
    if facts is not None and facts.problem:
        return "unreadable", printable(facts.problem)
    return ("new", "") if cast is None else ("paused", _INTERRUPTED)


def _other(library: Library, key: str, cast: CastInfo) -> dict[str, Any]:
    """Return the entry of a series, or of a cast whose video is not in the library."""
    state = "corrected" if cast.corrections else "scanned"
    if cast.problem or not cast.complete:
        state = "unreadable"
    return {
        "kind": "series" if cast.joined else "cast",
        "key": key,
        "name": printable(cast.folder.stem),
        "place": shown_path(cast.folder.parent, library.folder),
        "state": state,
        "reason": printable(cast.problem) or ("" if cast.complete else _INTERRUPTED),
        "seconds": cast.seconds,
        "poster": False,
        "read": True,
        "queued": None,
        "videos": list(cast.videos),
        "video": cast.video is not None,
        "posters": [
            video for video, place in library.snapshot.videos.items()
            if printable(place.video.name) in cast.videos
        ][:4],
        "cast": _cast(library, cast) if cast.complete and not cast.problem else None,
    }  # fmt: skip


def _cast(library: Library, cast: CastInfo) -> dict[str, Any]:
    return {
        "key": key_of(cast.folder, library.folder),
        "characters": cast.characters,
        "tracks": cast.tracks,
        "corrections": cast.corrections,
        "bytes": library.sizes.get(cast.folder),
    }


def _progress(job: Job) -> dict[str, Any]:
    left = job.seconds_left
    return {
        "stage": job.stage,
        "share": round(job.share, 4),
        "left": None if left is None else round(left, 1),
    }


def _joining(library: Library) -> dict[str, Any]:
    now = library.joining
    return {
        "number": now.number, "running": now.running, "series": printable(Path(now.series).stem),
        "error": printable(now.error), "told": printable(now.told),
    }  # fmt: skip
