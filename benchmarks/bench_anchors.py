"""How well tracks are found again: ``python benchmarks/bench_anchors.py data/tv/clips``.

Every clip is scanned twice, with 5 and with 3 pictures per second. Tracks of the first scan are
looked for in the second by time and box; printed is how many are found, the least cosine of the
mean features of two that are, and the largest of two tracks of one clip that share a frame, who are
two people. What was said of a track is applied to one whose cosine is at least ``SAME_FACE``.

Then every track of the first scan is cut into up to four pieces at random, and taken away: printed
is how many pieces are found at the place of their track, how many other tracks are, and how many
tracks have another one in their place once they are gone.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from castlist import ScanSettings, TrackingSettings, scan
from castlist.cast.anchors import SAME_FACE, Anchor, anchors_of, find_anchors, unit
from castlist.tracks import TrackSet

Rows = NDArray[np.int64]


def in_pieces(tracks: TrackSet, rng: np.random.Generator) -> tuple[TrackSet, Rows]:
    """Return the tracks, each cut into up to four pieces, and the track of each piece."""
    starts, of = [], []
    for row, count in enumerate(tracks.face_counts.tolist()):
        cuts = rng.choice(np.arange(1, count), min(count - 1, rng.integers(4)), replace=False)
        starts += [tracks.offsets[row], *(tracks.offsets[row] + np.sort(cuts))]
        of += [row] * (len(cuts) + 1)
    rows = np.array(of)
    return replace(
        tracks, ids=np.arange(len(rows)).astype(np.str_), video=tracks.video[rows],
        shot=tracks.shot[rows], identity=tracks.identity[rows], end=np.full(len(rows), np.nan),
        offsets=np.array([*starts, tracks.n_faces]),
    ), rows  # fmt: skip


def at_place(tracks: TrackSet, anchors: list[Anchor]) -> list[Rows]:
    """Return the tracks at the time and place of anchors, whoever they are."""
    found = find_anchors(tracks, anchors, np.empty((len(tracks), 0), np.float32))
    return [rows for rows, _ in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path)
    given = parser.parse_args()
    print(
        "| clip | tracks | found | least cosine | below | two people: largest | at least "
        "| pieces | others | taken |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for clip in sorted(given.clips.glob("*.mp4")):
        with tempfile.TemporaryDirectory() as home:
            sets = [
                scan(clip, Path(home) / f"{rate}.cast",
                     ScanSettings(tracking=TrackingSettings(sample_rate=rate))).cast.tracks
                for rate in (5, 3)
            ]  # fmt: skip
            looks = [unit(tracks.mean_features()) for tracks in sets]
            anchors = anchors_of(sets[0], range(len(sets[0])), ["scan"], looks[0])
            found = at_place(sets[1], anchors)
            cosines = [
                float(looks[0][k] @ looks[1][row]) for k, rows in enumerate(found) for row in rows
            ]
            apart = [float(looks[0][i] @ looks[0][j]) for i, j in sets[0].overlaps()]
            hits = sum(len(rows) > 0 for rows in found)
            below = sum(cosine < SAME_FACE for cosine in cosines)
            above = sum(cosine >= SAME_FACE for cosine in apart)
            pieces, of = in_pieces(sets[0], np.random.default_rng(0))
            own = [of[rows] == k for k, rows in enumerate(at_place(pieces, anchors))]
            kept, others = (sum(int((mine == yes).sum()) for mine in own) for yes in (True, False))
            taken = sum(
                len(at_place(sets[0][np.arange(len(anchors)) != k], [anchor])[0]) > 0
                for k, anchor in enumerate(anchors)
            )
            print(
                f"| {clip.stem} | {len(anchors)} | {hits} | {min(cosines, default=1):.2f} "
                f"| {below} | {max(apart, default=-1):.2f} | {above} of {len(apart)} "
                f"| {kept} of {len(of)} | {others} | {taken} |", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
