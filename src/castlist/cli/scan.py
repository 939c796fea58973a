"""``castlist scan``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from castlist.cli.common import Json, print_cast, print_json, progress
from castlist.cli.models import licences_shown
from castlist.errors import CastlistError, InputError
from castlist.io.files import printable
from castlist.video.settings import WatchSettings
from castlist.video.weights import DEFAULTS

if TYPE_CHECKING:
    from castlist.scanning.scan import Scan


def scan(
    videos: Annotated[list[Path], typer.Argument(help="Video files.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for the casts; beside each video if not given."),
    ] = None,
    characters: Annotated[
        int | None, typer.Option(min=1, help="Make this many characters instead.")
    ] = None,
    min_characters: Annotated[int | None, typer.Option(min=1, help="At least so many.")] = None,
    max_characters: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    sample_rate: Annotated[
        float, typer.Option(min=0.1, help="Pictures a second in which faces are looked for.")
    ] = WatchSettings.sample_rate,
    min_face: Annotated[
        int, typer.Option(min=1, help="Width of the smallest face, in pixels of the video.")
    ] = WatchSettings.min_face,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="A trained model, not the one shipped.")
    ] = None,
    describer: Annotated[
        str, typer.Option(help="The base CNN: a name of `castlist models`, an .onnx file, "
                          "SE-ResNet50-256:FILE or ResNet50:FILE.")
    ] = DEFAULTS[1],
    finetune: Annotated[
        bool, typer.Option(help="Fine-tune the model on the video first, with who shares a frame.")
    ] = True,
    device: Annotated[str, typer.Option(help="cpu or cuda, for describers that can.")] = "cpu",
    tracks: Annotated[
        Path | None,
        typer.Option(help="Tracks made elsewhere (a MOT or CVAT for video file): their boxes are "
                     "looked at instead of finding faces."),
    ] = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Find out who is in a video: how many people, who appears when.

    Each video gets a folder, `episode.cast`: a page to look at (`report.html`), the face tracks,
    pictures of faces, the cast, and what was done. A scan that was cut off goes on when the same
    command is given again.

    Example: `castlist scan episode.mp4`
    """
    from castlist.scanning.scan import cast_folder
    from castlist.scanning.scan import scan as scan_video
    from castlist.scanning.settings import ScanSettings

    settings = ScanSettings(
        watching=WatchSettings(sample_rate=sample_rate, min_face=min_face),
        describer=describer, model=model, characters=characters, min_characters=min_characters,
        max_characters=max_characters, finetune=finetune, device=device,
        tracks=tracks,
    )  # fmt: skip
    if tracks is not None and len(videos) > 1:
        raise InputError(f"{tracks} has the tracks of one video; scan one at a time with --tracks")
    folders = [cast_folder(video, out) for video in videos]
    if twice := {str(folder) for folder in folders if folders.count(folder) > 1}:
        raise InputError(f"two videos would share {min(twice)}; scan them with --out of their own")
    done, failed = [], []
    for video, folder in zip(videos, folders, strict=True):
        try:
            with licences_shown(), progress() as report:
                found = scan_video(video, folder, settings, progress=report)
        except CastlistError as error:
            if len(videos) == 1:
                raise
            failed.append(video)  # the others are still worth having
            typer.echo(f"castlist: {error}", err=True)
            continue
        done.append(_summary(found))
        if not json:
            _print(found)
    if json:
        print_json(done)
    if failed:
        raise InputError(f"{len(failed)} of {len(videos)} videos could not be scanned")


def _summary(found: Scan) -> dict[str, Any]:
    return {
        "video": found.run["video"]["name"],
        "folder": str(found.folder),
        "report": str(found.report),
        "counts": found.run["counts"],
        "characters": [
            {"title": one.title, "background": one.background, "seconds": round(one.seconds, 2),
             "tracks": len(one.tracks), "sure": round(one.sure, 3)}
            for one in found.cast.characters
        ],
    }  # fmt: skip


def _print(found: Scan) -> None:
    cast, counts = found.cast, found.run["counts"]
    typer.echo(f"\n{found.run['video']['name']}")
    if not cast.characters:
        typer.echo(
            f"No faces were found in {counts.get('pictures', 0)} pictures looked at. If there are "
            "some, try --min-face 10 or a higher --sample-rate."
        )
    else:
        print_cast(cast)
    if counts.get("damaged_packets"):
        typer.echo(f"{counts['damaged_packets']} damaged packets were skipped.")
    typer.echo(printable(str(found.report)))
