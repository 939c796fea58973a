"""``castlist research describe``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import Device, Threads, progress, read_names, say
from castlist.cli.models import licences_shown
from castlist.errors import counted
from castlist.io.output_guard import check_file
from castlist.video.weights import DEFAULTS


def describe(
    folder: Annotated[
        Path,
        typer.Argument(
            help="Folder of pictures: `person/track/*.jpg` or `person/*.jpg`.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Track file to write (.parquet).")],
    people: Annotated[
        Path | None,
        typer.Option(help="File with the people to include, one per line.", exists=True),
    ] = None,
    degraded: Annotated[
        int,
        typer.Option(min=0, help="Number of degraded copies per picture that imitate television."),
    ] = 0,
    television: Annotated[
        int,
        typer.Option(
            min=0,
            help="Number of faces per picture: replace each picture by a run of equally degraded "
            "faces.",
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the degradation.")] = 0,
    describer: Annotated[str, typer.Option(help="Base CNN, as for `castlist scan`.")] = DEFAULTS[1],
    device: Device = "cpu",
    threads: Threads = None,
) -> None:
    """Compute features of folders of face pictures: labelled tracks for training and scoring.

    Example: `castlist research describe lfw --people train.txt --degraded 2 -o train.parquet`
    """
    from castlist.io.parquet import write_tracks
    from castlist.research.picture_tracks import describe_folder
    from castlist.video.describe import open_describer
    from castlist.video.detect import open_detector

    check_file(out, ".parquet")
    with licences_shown(), progress() as report:
        tracks, faceless = describe_folder(
            folder,
            lambda: open_detector(device=device),
            lambda: open_describer(describer, device),
            people=read_names(people) if people else None,
            degraded=degraded,
            television=television,
            seed=seed,
            progress=report,
        )
        write_tracks(out, tracks)
    if faceless:
        say(f"skipped {counted(len(faceless), 'picture')} without a face, such as {faceless[0]}")
    n_people = len(set(tracks.identity.tolist()))
    who = "1 person" if n_people == 1 else f"{n_people} people"
    say(f"{counted(len(tracks), 'track')} of {who}: {out}")
