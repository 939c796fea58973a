"""How well cuts are found in videos whose cuts are known: recall and precision per condition.

``python benchmarks/bench_cuts.py --data DATA --work WORK`` makes the videos of cut_videos.py in the
folder WORK, unless they are there, and runs every detector on the same small frames. ``--list``
shows each miss and each false alarm, ``--only`` limits the detectors. Choices are made on the split
``tune``; figures to report come from ``--split test``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from scenedetect import (
    AdaptiveDetector,
    ContentDetector,
    FrameTimecode,
    HashDetector,
    HistogramDetector,
    ThresholdDetector,
)

from castlist.video.shots import GRID, CutFinder, DissolveFinder, signature
from datasets.cut_videos import (
    CONDITIONS,
    RATES,
    SEEDS,
    Image,
    Transition,
    Truth,
    make_split,
    not_there,
)

Frames = Sequence[tuple[float, Image]]  # times in seconds, pictures 160 pixels wide
Detector = Callable[[Frames], list[float]]

HARD = ("cut", "similar")  # kinds of transitions without a mixed frame
WANTED = 0.95  # recall and precision in every condition


@dataclass(frozen=True)
class Miss:
    """A transition that was not found, or a boundary where there is none."""

    video: str
    what: str
    start: float
    end: float


@dataclass(frozen=True)
class Score:
    """What a detector found in the videos of one condition."""

    transitions: int
    matched: int
    missed: tuple[Miss, ...]
    false: tuple[Miss, ...]

    @property
    def recall(self) -> float:
        """Part of the transitions that was found."""
        return self.matched / self.transitions if self.transitions else 1.0

    @property
    def precision(self) -> float:
        """Part of the boundaries found that are transitions."""
        found = self.matched + len(self.false)
        return self.matched / found if found else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision."""
        both = self.recall + self.precision
        return 2 * self.recall * self.precision / both if both else 0.0


def match(
    transitions: Sequence[Transition], found: Sequence[float], fps: float
) -> tuple[list[Transition], list[float]]:
    """Return the transitions that were missed and the boundaries that are false.

    Each boundary stands for one transition at most, and each transition for one boundary.
    """

    def bounds(one: Transition) -> tuple[float, float]:
        slack = max(1.5 / fps, 0.04) if one.kind in HARD else 0.2
        return one.start - slack - 1e-6, one.end + slack + 1e-6

    left, false = list(transitions), []
    for moment in sorted(found):
        # The one that ends first: later boundaries have more use of the others.
        fitting = [one for one in left if bounds(one)[0] <= moment <= bounds(one)[1]]
        if fitting:
            left.remove(min(fitting, key=lambda one: bounds(one)[1]))
        else:
            false.append(moment)
    return left, false


def score(videos: Sequence[tuple[Truth, Sequence[float]]]) -> Score:
    """Return the score of the boundaries found in some videos."""
    missed: list[Miss] = []
    false: list[Miss] = []
    for truth, found in videos:
        left, wrong = match(truth.transitions, found, truth.fps)
        missed += [Miss(truth.name, one.kind, one.start, one.end) for one in left]
        false += [Miss(truth.name, where(truth, moment), moment, moment) for moment in wrong]
    total = sum(len(truth.transitions) for truth, _ in videos)
    return Score(total, total - len(missed), tuple(missed), tuple(false))


def where(truth: Truth, moment: float) -> str:
    """Return what is shown at a time: the nearest event, a transition or the kind of shot."""
    near = 0.2
    for one in truth.events:
        if one.start - near <= moment <= one.end + near:
            return one.kind
    for change in truth.transitions:
        if change.start - near <= moment <= change.end + near:
            return f"again in {change.kind}"
    return next((one.kind for one in truth.shots if one.start <= moment < one.end), "nothing")


# Detectors


def today(frames: Frames) -> list[float]:
    """Return the boundaries that castlist finds: of cuts, and the middles of dissolves."""
    pictures = [(time, signature(_planes(image))) for time, image in frames]
    cuts = CutFinder()
    begins = [begun for picture in pictures for begun in cuts.add(*picture)] + cuts.finish()
    found, dissolves = [], DissolveFinder()
    for (moment, picture), begun in zip(pictures, begins, strict=True):
        if begun:
            found.append(moment)
            dissolves = DissolveFinder()
        middle = dissolves.add(moment, picture)
        if middle is not None:
            found.append(middle)
    return sorted(found[1:])


def _planes(image: Image) -> Image:
    small = cv2.resize(image, GRID, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2YUV).transpose(2, 0, 1), np.uint8)


def scenedetect(*makers: Callable[[], Any]) -> Detector:
    """Return a detector that runs some of PySceneDetect's side by side."""

    def run(frames: Frames) -> list[float]:
        detectors = [make() for make in makers]
        rate = _rate(frames)
        found: set[int] = set()
        for number, (_, image) in enumerate(frames):
            moment = FrameTimecode(number, rate)
            for one in detectors:
                found.update(cut.frame_num for cut in one.process_frame(moment, image))
        last = FrameTimecode(len(frames) - 1, rate)
        for one in detectors:
            found.update(cut.frame_num for cut in one.post_process(last))
        # Where two detectors see the same change a few frames apart, it is one: PySceneDetect's own
        # shortest scene is 15 frames.
        boundaries: list[int] = []
        for number in sorted(found):
            if len(detectors) == 1 or not boundaries or number - boundaries[-1] >= 15:
                boundaries.append(number)
        return [frames[number][0] for number in boundaries]

    return run


def _rate(frames: Frames) -> Fraction:
    """Return the frame rate of television nearest to that of the frames."""
    measured = (len(frames) - 1) / (frames[-1][0] - frames[0][0])
    near = min(RATES, key=lambda rate: abs(float(rate) - measured))
    return near if abs(float(near) - measured) < 0.01 * measured else Fraction(measured)


def _pairs() -> Iterator[tuple[str, Detector]]:
    yield "castlist", today
    alone: Mapping[str, Callable[[], Any]] = {
        "content": ContentDetector,
        "content luma": lambda: ContentDetector(luma_only=True),
        "adaptive": AdaptiveDetector,
        "adaptive luma": lambda: AdaptiveDetector(luma_only=True),
        "histogram": HistogramDetector,
        "hash": HashDetector,
    }
    for name, maker in alone.items():
        yield name, scenedetect(maker)
        yield f"{name} + threshold", scenedetect(maker, ThresholdDetector)


#: All detectors by name.
DETECTORS: dict[str, Detector] = dict(_pairs())


def read_frames(folder: Path, name: str) -> list[tuple[float, Image]]:
    """Return the small frames of a made video with their times."""
    times = np.load(folder / f"{name}.times.npy")
    images = np.load(folder / f"{name}.frames.npy", mmap_mode="r")
    return [(float(time), np.array(image)) for time, image in zip(times, images, strict=True)]


def run(
    folder: Path, truths: Sequence[Truth], detectors: Mapping[str, Detector]
) -> tuple[dict[str, dict[str, Score]], dict[str, float]]:
    """Return each detector's score by condition, and its seconds per thousand frames."""
    found: dict[str, list[tuple[Truth, list[float]]]] = {name: [] for name in detectors}
    spent: dict[str, float] = defaultdict(float)
    for truth in truths:
        frames = read_frames(folder, truth.name)
        for name, detector in detectors.items():
            began = time.perf_counter()
            found[name].append((truth, detector(frames)))
            spent[name] += time.perf_counter() - began
    total = sum(truth.frames for truth in truths)
    scores = {
        name: {
            condition: score([one for one in videos if one[0].condition == condition])
            for condition in CONDITIONS
            if any(one[0].condition == condition for one in videos)
        }
        for name, videos in found.items()
    }
    return scores, {name: 1000 * seconds / total for name, seconds in spent.items()}


def table(name: str, scores: Mapping[str, Score], listing: bool = False) -> str:
    """Return a detector's table; with ``listing``, each miss and each false alarm."""
    head = "transitions  found  missed  false  recall  precision     F1"
    lines = [f"{name:<26}{head}"]
    for condition, one in scores.items():
        kinds = Counter(miss.what for miss in one.missed)
        wrong = Counter(miss.what for miss in one.false)
        notes = [", ".join(f"{n} {kind}" for kind, n in c.most_common()) for c in (kinds, wrong)]
        enough = one.recall >= WANTED and one.precision >= WANTED
        lines.append(
            f"  {condition:<24}{one.transitions:>11}{one.matched + len(one.false):>7}"
            f"{len(one.missed):>8}{len(one.false):>7}{one.recall:>8.3f}{one.precision:>11.3f}"
            f"{one.f1:>7.3f} {'ok' if enough else '  '}"
            f"  missed: {notes[0] or 'none'}; false: {notes[1] or 'none'}"
        )
        if listing:
            marked = [("missed", m) for m in one.missed] + [("false", m) for m in one.false]
            for what, miss in sorted(marked, key=lambda pair: (pair[1].video, pair[1].start)):
                until = f"–{miss.end:.3f}" if miss.end > miss.start else ""
                lines.append(f"      {what:<7}{miss.video}  {miss.start:.3f}{until} s  {miss.what}")
    return "\n".join(lines)


def summary(results: Mapping[str, Mapping[str, Score]], pace: Mapping[str, float]) -> str:
    """Return all detectors' recall and precision, one line each."""
    shown = list(next(iter(results.values())))
    lines = ["recall / precision".ljust(26) + "".join(f"{c:>13}" for c in shown) + "   ms/frame"]
    for name, scores in results.items():
        cells = "".join(
            f"{f'{scores[c].recall:.2f} / {scores[c].precision:.2f}':>13}" for c in shown
        )
        lines.append(f"{name:<26}{cells}{pace[name]:>11.2f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="clips and photographs; drawn scenes without")
    parser.add_argument("--work", type=Path, help="where the videos are kept")
    parser.add_argument("--split", choices=sorted(SEEDS), default="tune")
    parser.add_argument("--list", action="store_true", help="show each miss and false alarm")
    parser.add_argument("--only", nargs="+", choices=list(DETECTORS), metavar="DETECTOR")
    parser.add_argument("--json", type=Path, help="write all misses and false alarms here")
    arguments = parser.parse_args()
    if missing := not_there(arguments.data):
        parser.error(missing)
    work = arguments.work or Path(tempfile.gettempdir()) / "castlist-cuts"
    truths = make_split(work / arguments.split, arguments.split, arguments.data)
    chosen = {name: DETECTORS[name] for name in arguments.only or DETECTORS}
    results, pace = run(work / arguments.split, truths, chosen)
    for name, scores in results.items():
        print(table(name, scores, arguments.list), end="\n\n")
    print(summary(results, pace))
    if arguments.json:
        plain = {
            name: {condition: asdict(one) for condition, one in scores.items()}
            for name, scores in results.items()
        }
        arguments.json.write_text(json.dumps(plain, indent=1) + "\n")


if __name__ == "__main__":
    main()
