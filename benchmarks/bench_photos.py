"""How well photos find people: ``python benchmarks/bench_photos.py data/lfw data/ytf``.

The photos are of LFW, the videos of YouTube Faces, of the people who are in both; the describer and
the model were trained on neither of them (docs/research/data.md). Each person is looked for in
casts of 20 characters drawn at random: one with this person, one without.

Printed are the share of people about whose own character a question is asked, the share for whom it
is the first question, and the number of questions about other people, per person and cast.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

from castlist import open_describer, open_detector
from castlist.cast.anchors import unit
from castlist.cast.photo_matches import likely_from, likeness
from castlist.model.shipped import shipped_model
from castlist.research import describe_folder

CAST, MOST_PHOTOS = 20, 5


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path, help="<person>/*.jpg")
    parser.add_argument("videos", type=Path, help="<person>/<video>/*.jpg")
    given = parser.parse_args()
    folders = (given.photos, given.videos)
    names = [{p.name for p in one.iterdir()} if one.is_dir() else set() for one in folders]
    people = sorted(names[0] & names[1])
    if not people:
        print(f"{given.photos} and {given.videos} have no person in common", file=sys.stderr)
        raise SystemExit(2)
    with tempfile.TemporaryDirectory() as place:
        few = Path(place)
        for name in people:
            (few / name / "photos").mkdir(parents=True)
            for path in sorted((given.photos / name).iterdir())[:MOST_PHOTOS]:
                (few / name / "photos" / path.name).symlink_to(path.resolve())
        photos, _ = describe_folder(few, open_detector, open_describer)
    videos, _ = describe_folder(given.videos, open_detector, open_describer, people=people)
    model = shipped_model(videos.describer)
    looks, films = unit(photos.mean_features()), unit(videos.mean_features())
    whose = np.searchsorted(people, videos.identity)
    rng = np.random.default_rng(0)
    asked = first = others = strangers = 0
    for row, name in enumerate(photos.identity.tolist()):
        own = people.index(name)
        rest = rng.choice(np.setdiff1d(np.unique(whose), own), CAST, replace=False)
        for cast in ([own, *rest[1:]], rest):
            labels = np.where(np.isin(whose, cast), whose, -1)
            numbers, alike = likeness(model, looks[row : row + 1], films, labels)
            likely = alike[0] >= likely_from(model)
            if own in numbers:
                asked += bool(likely[numbers == own][0])
                first += bool(likely.any() and numbers[alike[0].argmax()] == own)
                others += int(likely[numbers != own].sum())
            else:
                strangers += int(likely.sum())
    n = len(photos)
    print("| people | asked | asked first | about others, if present | about others, if absent |")
    print("|---:|---:|---:|---:|---:|")
    print(
        f"| {n} | {100 * asked / n:.1f} % | {100 * first / n:.1f} % | {others / n:.3f} "
        f"| {strangers / n:.3f} |"
    )


if __name__ == "__main__":
    main()
