"""``castlist scan``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace as replaced
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from castlist.cli.common import (
    Device,
    Json,
    OnRay,
    RayAddress,
    Threads,
    print_cast,
    print_json,
    print_table,
    progress,
    say,
)
from castlist.cli.models import licences_shown
from castlist.errors import InputError, counted
from castlist.io.files import printable
from castlist.video.tracking_settings import FAST, TrackingSettings
from castlist.video.weights import DEFAULTS

if TYPE_CHECKING:
    from castlist.pipeline.catalogue import Entry, Outcome
    from castlist.pipeline.scan import Scan
    from castlist.pipeline.scan_settings import ScanSettings

_OTHER_VIDEO = " (-o FOLDER, or --replace)"


def _read_defaults(context: typer.Context, videos: list[Path]) -> list[Path]:
    """Set the defaults of the other parameters from the castlist.toml of the videos."""
    from castlist.cli.config import find_config, read_config

    path = find_config(videos or ())  # no videos: a shell asks for completions
    if path is not None:
        say(f"castlist: settings from {printable(str(path))}", err=True)
        context.default_map = dict(read_config(path))
    return videos


def scan(
    videos: Annotated[
        list[Path],
        typer.Argument(help="Video files, or folders of videos.", show_default=False,
                       is_eager=True, callback=_read_defaults),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the casts. Defaults to the folder of each "
                     "video."),
    ] = None,
    characters: Annotated[
        int | None,
        typer.Option(min=1, help="Number of characters, if you know it. Tracks that share a frame "
                     "are put into one character if the number requires it; they are listed."),
    ] = None,
    min_characters: Annotated[
        int | None, typer.Option(min=1, help="Minimum number of characters.")
    ] = None,
    max_characters: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of characters.")
    ] = None,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Search half as many frames and describe fewer faces per "
                     "track: about 1.6 times as fast, with more to correct afterwards."),
    ] = False,
    sample_rate: Annotated[
        float | None,
        typer.Option(min=0.1, help="Frames per second that are searched for faces.  [default: "
                     f"{TrackingSettings.sample_rate:g}, with --fast {FAST.sample_rate:g}]"),
    ] = None,
    min_face: Annotated[
        int, typer.Option(min=1, help="Minimum width of a face, in pixels of the video.")
    ] = TrackingSettings.min_face,
    min_score: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="Minimum detection score of a face. A lower score "
                     "finds more faces that are dark, blurred or in profile, and more false ones."),
    ] = TrackingSettings.min_score,
    look_width: Annotated[
        int | None,
        typer.Option(min=64, help="Width to which frames are scaled down for detection. A larger "
                     "width finds smaller faces and takes longer. Defaults to a width that depends "
                     "on the video."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="Trained model. Defaults to the one shipped with "
                     "castlist."),
    ] = None,
    detector: Annotated[
        str, typer.Option(help="Face detector: yunet, or the name of a plugin.")
    ] = DEFAULTS[0],
    describer: Annotated[
        str, typer.Option(help="Base CNN: a name listed by `castlist models`, an .onnx file, "
                          "SE-ResNet50-256:FILE, ResNet50:FILE, or the name of a plugin.")
    ] = DEFAULTS[1],
    device: Device = "cpu",
    threads: Threads = None,
    tracks: Annotated[
        Path | None,
        typer.Option(help="Tracks from another tool (a MOT or CVAT for video file). Their boxes "
                     "are used instead of detecting faces."),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace the cast of another video in the folder. Its "
                     "corrections are moved to a dated file there."),
    ] = False,
    ray: OnRay = False,
    ray_address: RayAddress = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Find the people in a video: how many there are and when each appears.

    Each video gets a folder, such as `episode.cast`, with a report (`report.html`), the face
    tracks, pictures of faces, the cast and the settings. Run the same command again to resume an
    interrupted scan.

    Several videos are scanned one after another, or on a Ray cluster with `--ray` (which needs
    the extra `ray`). Videos that fail are listed with the reason, and the next run tries them
    again.

    A video is identified by its content, not by its name. If the folder holds the cast of another
    video, such as another cut with the same name, nothing is changed without `--replace`.

    Defaults of some options are read from `castlist.toml` in the folder of the video or, if there
    is none, in your config folder (`castlist doctor` prints where).

    Example: `castlist scan episode.mp4`
    """
    from castlist.pipeline.catalogue import find_videos, scan_all
    from castlist.pipeline.scan_settings import ScanSettings

    pace = FAST if fast else TrackingSettings()
    settings = ScanSettings(
        tracking=replaced(
            pace, sample_rate=sample_rate or pace.sample_rate, min_face=min_face,
            min_score=min_score, look_width=look_width,
        ),
        detector=detector, describer=describer, model=model, n_characters=characters,
        min_characters=min_characters, max_characters=max_characters,
        device=device, tracks=tracks,
    )  # fmt: skip
    entries = find_videos(videos, out)
    if tracks is not None and len(entries) > 1:
        raise InputError(
            f"{tracks} has the tracks of one video, and {len(entries)} videos are given; scan one "
            "video at a time with --tracks"
        )
    on_ray = ray or ray_address is not None
    if len(entries) == 1 and not on_ray:
        _scan_one(entries[0], settings, replace, json)
        return
    with licences_shown(), progress() as report:
        if on_ray:
            from castlist.pipeline.ray_scan import scan_on_ray

            with redirect_stdout(sys.stderr):  # Ray's messages about its workers
                outcomes = scan_on_ray(
                    entries, settings, address=ray_address, replace=replace, progress=report
                )
        else:
            outcomes = scan_all(entries, settings, replace=replace, progress=report)
    done = [outcome for outcome in outcomes if not outcome.failed]
    failed = [outcome for outcome in outcomes if outcome.failed]
    if json:
        print_json([outcome.summary for outcome in done])
    elif done:
        _print_table(done)
    for outcome in failed:
        hint = _OTHER_VIDEO if outcome.other else ""
        say(f"castlist: {printable(outcome.failed)}{hint}", err=True)
    if failed:
        raise InputError(
            f"{len(failed)} of {counted(len(outcomes), 'video')} could not be scanned; "
            "run the same command to try them again"
        )


def _scan_one(entry: Entry, settings: ScanSettings, replace: bool, json: bool) -> None:
    from castlist.pipeline.catalogue import summary
    from castlist.pipeline.scan import OtherVideoError
    from castlist.pipeline.scan import scan as scan_video

    try:
        with licences_shown(), progress() as report:
            found = scan_video(
                entry.video, entry.folder, settings, replace=replace, progress=report
            )
    except OtherVideoError as error:
        raise InputError(f"{error}{_OTHER_VIDEO}") from error
    if json:
        print_json([summary(found)])
    else:
        _print(found)


def _print_table(done: list[Outcome]) -> None:
    from castlist.format import lasting

    rows = [
        [
            printable(str(outcome.entry.video)), len(outcome.summary["characters"]),
            outcome.summary["counts"].get("tracks", 0), lasting(outcome.summary["duration"]),
        ]
        for outcome in done
    ]  # fmt: skip
    print_table(["video", "characters", "tracks", "length"], rows)
    seconds = sum(outcome.summary["duration"] for outcome in done)
    say(
        f"\n{counted(len(done), 'video')}, {lasting(seconds)} in all; "
        "each cast folder has a report.html"
    )
    for outcome in done:
        _print_read_until(outcome.summary, outcome.entry.video)
        _print_set_aside(outcome.summary.get("set_aside"))
        _print_lost(outcome.summary.get("lost", 0), outcome.entry.folder)
        _print_given_up(outcome.summary["counts"], outcome.summary["given_up"], outcome.entry.video)


def _print(found: Scan) -> None:
    cast, counts = found.cast, found.run["counts"]
    say(f"\n{found.run['video']['name']}")
    if not cast.characters:
        say(
            f"No faces were found in {counts.get('pictures', 0)} frames. The smallest face that "
            f"could be detected is {counts.get('smallest_face', 0)} pixels wide. If the video "
            "shows faces, try a larger --look-width with a smaller --min-face, a lower "
            "--min-score, or a higher --sample-rate."
        )
    else:
        print_cast(cast)
        _print_given_up(counts, found.run["given_up"])
    _print_read_until(found.run["video"])
    if counts.get("damaged_packets"):
        say(f"{counts['damaged_packets']} damaged packets were skipped.")
    _print_set_aside(found.set_aside)
    _print_lost(found.lost, found.folder)
    say(printable(str(found.report)))


def _print_read_until(about: dict[str, Any], video: Path | None = None) -> None:
    """Print how much of a video could be read, if the rest is missing."""
    from castlist.format import lasting

    if about.get("read_until") is not None:
        line = (
            f"Read until {lasting(about['read_until'])} of {lasting(about['duration'])}: the rest "
            "of the video is missing or damaged."
        )
        say(printable(line if video is None else f"{video}: {line}"))


def _print_set_aside(log: str | Path | None) -> None:
    """Print where the corrections of a replaced cast are."""
    if log is not None:
        say(f"The corrections of the replaced cast are in {printable(str(log))}.")


def _print_lost(lost: int, folder: Path) -> None:
    """Print how many tracks of corrections this scan does not have."""
    if lost:
        say(
            f"{counted(lost, 'corrected track')} of earlier scans {'was' if lost == 1 else 'were'} "
            f"not found in this one, or not as a whole; `castlist log {printable(str(folder))}` "
            "lists what does not apply."
        )


def _print_given_up(
    counts: dict[str, Any], given_up: dict[str, Any], video: Path | None = None
) -> None:
    """Print which tracks the number of characters put together though they share a frame."""
    from castlist.format import given_up_line

    if given_up["count"]:
        line = given_up_line(counts.get("characters", 0), given_up)
        say(printable(line if video is None else f"{video}: {line}"))
