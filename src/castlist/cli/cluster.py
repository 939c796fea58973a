"""``castlist cluster``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from castlist.cli.common import (
    Boxes,
    Data,
    Json,
    Threads,
    print_json,
    print_table,
    progress,
    read_with_model,
    say,
)
from castlist.errors import counted
from castlist.io.files import printable, replacing
from castlist.io.output_guard import check_file

if TYPE_CHECKING:
    from castlist.tracks import TrackSet

_SHOWN = 20  # characters in the printed table

Model = Annotated[
    Path | None,
    typer.Option("--model", "-m", help="Trained model (.safetensors), or a .pth.tar of the paper's "
                 "authors. Without a model, the mean features of tracks are clustered."),
]  # fmt: skip
Threshold = Annotated[
    float | None, typer.Option(help="Distance threshold τ. Defaults to the model's.")
]
Characters = Annotated[int | None, typer.Option(min=1, help="Number of characters to make.")]
Overlaps = Annotated[
    bool | None,
    typer.Option(
        "--cannot-link-overlaps/--no-cannot-link-overlaps", show_default=False,
        help="Keep tracks that share a frame apart, unless --characters needs them in one "
        "character. On by default for models of our recipe.",
    ),
]  # fmt: skip


def cluster(
    data: Data,
    model: Model = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV file to write: one row per track, with its video "
                     "and character."),
    ] = None,
    threshold: Threshold = None,
    characters: Characters = None,
    cannot_link_overlaps: Overlaps = None,
    boxes: Boxes = True,
    threads: Threads = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Group tracks into characters, without knowing how many there are.

    Example: `castlist cluster episode.parquet --model run/model.safetensors -o characters.csv`
    """
    import numpy as np

    from castlist.cast.links import overlap_summary
    from castlist.cluster.tracks import cluster_tracks
    from castlist.format import given_up_line

    if out is not None:
        check_file(out, ".csv")
    tracks, net = read_with_model(data, boxes, model)
    with progress() as report:
        found = cluster_tracks(
            tracks, net, threshold=threshold, n_characters=characters,
            overlaps=cannot_link_overlaps, progress=report,
        )  # fmt: skip
    counts, given_up = (
        np.bincount(found.labels, minlength=0),
        overlap_summary(tracks, found.given_up),
    )
    if out is not None:
        _write(out, tracks, found.labels.tolist())
    if json:
        print_json(
            {
                "n_tracks": len(tracks),
                "n_characters": found.n_clusters,
                "threshold": found.threshold if np.isfinite(found.threshold) else None,
                "sizes": counts.tolist(),
                "given_up": given_up,
            }
        )
        return
    order = np.argsort(-counts, kind="stable")
    print_table(["character", "tracks"], [[int(c), int(counts[c])] for c in order[:_SHOWN]])
    rest = len(order) - _SHOWN
    more = f" ({rest} more, {counts[order[_SHOWN:]].sum()} tracks)" if rest > 0 else ""
    made = counted(found.n_clusters, "character")
    say(f"\n{counted(len(tracks), 'track')}, {made}{more}")
    if given_up["count"]:
        say(printable(given_up_line(found.n_clusters, given_up)))
    if out is not None:
        say(out)


def _write(path: Path, tracks: TrackSet, labels: list[int]) -> None:
    from castlist.export.csv import text_cell

    with (
        replacing(path) as partial,
        partial.open("w", newline="", encoding="utf-8", errors="replace") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(["video", "track", "character"])
        for i, label in enumerate(labels):
            video, track = tracks.videos[tracks.video[i]], str(tracks.ids[i])
            writer.writerow([text_cell(printable(video)), text_cell(track), label])
