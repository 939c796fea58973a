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


def scan(
    videos: Annotated[
        list[Path], typer.Argument(help="Video files, or folders of them.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the casts; beside each video if not given."),
    ] = None,
    characters: Annotated[
        int | None,
        typer.Option(min=1, help="Make this many characters instead, also if some must then have "
                     "tracks that share a frame: it is said which."),
    ] = None,
    min_characters: Annotated[int | None, typer.Option(min=1, help="At least so many.")] = None,
    max_characters: Annotated[
        int | None, typer.Option(min=1, help="At most so many, as with --characters.")
    ] = None,
    fast: Annotated[
        bool,
        typer.Option("--fast", help="Look at half as many pictures, and describe fewer faces of "
                     "each track: about twice as fast, with more to correct afterwards."),
    ] = False,
    sample_rate: Annotated[
        float | None,
        typer.Option(min=0.1, help="Pictures per second in which faces are looked for.  [default: "
                     f"{TrackingSettings.sample_rate:g}, with --fast {FAST.sample_rate:g}]"),
    ] = None,
    min_face: Annotated[
        int, typer.Option(min=1, help="Width of the smallest face, in pixels of the video.")
    ] = TrackingSettings.min_face,
    min_score: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="The least score of a face: lower finds more faces "
                     "that are dark, blurred or seen from the side, and more that are none."),
    ] = TrackingSettings.min_score,
    look_width: Annotated[
        int | None,
        typer.Option(min=64, help="Width that pictures are scaled down to, to look for faces: more "
                     "finds smaller faces and takes longer; it depends on the video if not given."),
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="A trained model, not the one shipped.")
    ] = None,
    describer: Annotated[
        str, typer.Option(help="The base CNN: a name of `castlist models`, an .onnx file, "
                          "SE-ResNet50-256:FILE or ResNet50:FILE.")
    ] = DEFAULTS[1],
    finetune: Annotated[
        bool,
        typer.Option(help="Fine-tune the model on the video first, with the tracks that share a "
                     "frame. On real footage this merges strangers."),
    ] = False,
    device: Device = "cpu",
    threads: Threads = None,
    tracks: Annotated[
        Path | None,
        typer.Option(help="Tracks made elsewhere (a MOT or CVAT for video file): their boxes are "
                     "looked at instead of finding faces."),
    ] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace the cast of another video that is in the folder. "
                     "What people said of it is moved to a dated file there."),
    ] = False,
    ray: OnRay = False,
    ray_address: RayAddress = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Find out who is in a video: how many people, who appears when.

    Each video gets a folder, `episode.cast`: a page to look at (`report.html`), the face tracks,
    pictures of faces, the cast, and what was done. A scan that was cut off goes on when the same
    command is given again.

    Several videos, or folders of them, are scanned one after another, or on a Ray cluster with
    `--ray` (`pip install 'castlist[ray]'`); what failed is listed with the reason, and tried
    again by the next run.

    A video is known by its content: a copy or another name makes no difference. If the folder holds
    the cast of another video, such as another cut under the same name, nothing is changed without
    `--replace`.

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
        describer=describer, model=model, n_characters=characters, min_characters=min_characters,
        max_characters=max_characters, finetune=finetune, device=device,
        tracks=tracks,
    )  # fmt: skip
    entries = find_videos(videos, out)
    if tracks is not None and len(entries) > 1:
        raise InputError(f"{tracks} has the tracks of one video; scan one at a time with --tracks")
    on_ray = ray or ray_address is not None
    if len(entries) == 1 and not on_ray:
        _scan_one(entries[0], settings, replace, json)
        return
    with licences_shown(), progress() as report:
        if on_ray:
            from castlist.pipeline.ray_scan import scan_on_ray

            with redirect_stdout(sys.stderr):  # where Ray says what became of its workers
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
        how = _OTHER_VIDEO if outcome.other else ""
        typer.echo(f"castlist: {printable(outcome.failed)}{how}", err=True)
    if failed:
        raise InputError(
            f"{len(failed)} of {counted(len(outcomes), 'video')} could not be scanned; "
            "the same command tries them again"
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
    typer.echo(
        f"\n{counted(len(done), 'video')}, {lasting(seconds)} in all; "
        "a report.html in each cast's folder"
    )
    for outcome in done:
        _print_set_aside(outcome.summary.get("set_aside"))
        _print_given_up(outcome.summary["counts"], outcome.summary["given_up"], outcome.entry.video)


def _print(found: Scan) -> None:
    cast, counts = found.cast, found.run["counts"]
    typer.echo(f"\n{found.run['video']['name']}")
    if not cast.characters:
        typer.echo(
            f"No faces were found in {counts.get('pictures', 0)} pictures looked at; the smallest "
            f"that could have been seen is {counts.get('smallest_face', 0)} pixels wide. If there "
            "are some, try a larger --look-width with a smaller --min-face, a lower --min-score, "
            "or a higher --sample-rate."
        )
    else:
        print_cast(cast)
        _print_given_up(counts, found.run["given_up"])
    if counts.get("damaged_packets"):
        typer.echo(f"{counts['damaged_packets']} damaged packets were skipped.")
    _print_set_aside(found.set_aside)
    typer.echo(printable(str(found.report)))


def _print_set_aside(log: str | Path | None) -> None:
    """Say where the corrections of a cast are that was replaced."""
    if log is not None:
        typer.echo(f"What people said of the cast that was here is in {printable(str(log))}.")


def _print_given_up(
    counts: dict[str, Any], given_up: dict[str, Any], video: Path | None = None
) -> None:
    """Say whom the number of characters put together, if it did."""
    from castlist.report.given_up import given_up_line

    if given_up["count"]:
        line = given_up_line(counts.get("characters", 0), given_up)
        typer.echo(printable(line if video is None else f"{video}: {line}"))
