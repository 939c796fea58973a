"""How well tracks are found again: ``python benchmarks/bench_anchors.py data/tv/clips``.

Every clip is scanned twice, with 5 and with 3 pictures per second. Tracks of the first scan are
looked for in the second by time and box; printed is how many are found, the least cosine of the
mean features of two that are, and the largest of two tracks of one clip that share a frame, who are
two people. What was said of a track is applied to one whose cosine is at least ``SAME_FACE``.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from castlist import ScanSettings, TrackingSettings, scan
from castlist.cast.anchors import SAME_FACE, anchors_of, find_anchors, unit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clips", type=Path)
    given = parser.parse_args()
    print("| clip | tracks | found | least cosine | below | two people: largest | at least |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for clip in sorted(given.clips.glob("*.mp4")):
        with tempfile.TemporaryDirectory() as home:
            sets = [
                scan(clip, Path(home) / f"{rate}.cast",
                     ScanSettings(tracking=TrackingSettings(sample_rate=rate))).cast.tracks
                for rate in (5, 3)
            ]  # fmt: skip
            looks = [unit(tracks.mean_features()) for tracks in sets]
            anchors = anchors_of(sets[0], range(len(sets[0])), ["scan"], looks[0])
            # Without features: whoever is at that time and place.
            found = find_anchors(sets[1], anchors, np.empty((len(sets[1]), 0), np.float32))
            cosines = [
                float(looks[0][k] @ looks[1][row])
                for k, (rows, _) in enumerate(found)
                for row in rows
            ]
            apart = [float(looks[0][i] @ looks[0][j]) for i, j in sets[0].overlaps()]
            hits = sum(len(rows) > 0 for rows, _ in found)
            below = sum(cosine < SAME_FACE for cosine in cosines)
            above = sum(cosine >= SAME_FACE for cosine in apart)
            print(
                f"| {clip.stem} | {len(anchors)} | {hits} | {min(cosines, default=1):.2f} "
                f"| {below} | {max(apart, default=-1):.2f} | {above} of {len(apart)} |", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
