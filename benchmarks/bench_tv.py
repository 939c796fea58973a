"""How good scans of real clips are, by truth labelled by eye: docs/research/benchmark.md.

``python benchmarks/bench_tv.py FOLDER`` scans every clip of ``FOLDER/clips`` with
``castlist scan``, in a process of its own, and scores the casts against
``FOLDER/truth/<clip>.csv``. What follows ``--`` are options of the scan:
``bench_tv.py FOLDER -- --fast``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import tv_tables
from castlist import CastlistError, InputError, read_tracks
from castlist.cast.cast_file import RUN, load_cast
from castlist.cast.folder import CAST, TRACKS
from castlist.format import sureness
from castlist.geometry import pixel_scale
from castlist.io.truth import Truth, read_missed, read_truth
from castlist.pipeline.catalogue import VIDEO_SUFFIXES
from castlist.pipeline.run_manifest import read_manifest
from castlist.research.score.clip import ClipScore, add_widths, score_clip, summarise


@dataclass(frozen=True)
class Clip:
    """A clip with truth; the video is not needed if its cast exists."""

    name: str
    truth: Path
    missed: Path | None
    video: Path | None


@dataclass(frozen=True)
class Timing:
    """Seconds that a scan took, by the clock and of the processor."""

    wall: float
    processor: float


@dataclass(frozen=True)
class Result:
    """What was found in a clip: its figures, how sure each character is, and the time."""

    score: ClipScore
    sure: tuple[float, ...]
    timing: Timing | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        figures = asdict(self.score)
        for one in figures["by_character"]:
            one["sure"] = self.sure[one["label"]]
        return {
            **figures,
            "tracks_per_minute": self.score.tracks_per_minute,
            "wall_seconds": self.timing and self.timing.wall,
            "processor_seconds": self.timing and self.timing.processor,
        }


def find_clips(folder: Path, names: Sequence[str], *, videos: bool) -> list[Clip]:
    """List the clips of a folder that have truth, all or those named.

    Parameters
    ----------
    folder : Path
        With ``truth``, ``clips`` and perhaps ``missed`` in it.
    names : sequence of str
        Clips by name; all if empty.
    videos : bool
        Whether each must have its video.
    """
    truths = {path.stem: path for path in _files(folder / "truth", (".csv",))}
    found: dict[str, Path] = {}
    if videos:
        for path in _files(folder / "clips", VIDEO_SUFFIXES):
            if path.stem in found:
                raise InputError(f"{found[path.stem]} and {path} have one name")
            found[path.stem] = path
        for name, path in found.items():
            if name not in truths and (not names or name in names):
                raise InputError(f"{path} has no truth: there is no {folder / 'truth'}/{name}.csv")
    for name in names or truths:
        if name not in truths:
            raise InputError(f"no clip {name}: there is no {folder / 'truth'}/{name}.csv")
        if videos and name not in found:
            raise InputError(f"{truths[name]} has no clip: there is no {folder / 'clips'}/{name}.*")
    missed = {path.stem: path for path in (folder / "missed").glob("*.json")}
    return [
        Clip(name, truths[name], missed.get(name), found.get(name))
        for name in sorted(names or truths)
    ]


def scan_clip(clip: Clip, casts: Path, options: Sequence[str]) -> Timing:
    """Scan a clip as a user does, and return how long that took."""
    words = ["scan", str(clip.video), "-o", str(casts), *options]
    import resource  # not on Windows

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    # Its progress and its errors go where ours go; its table is not wanted.
    done = subprocess.run([sys.executable, "-m", "castlist", *words], stdout=subprocess.DEVNULL)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise InputError(f"`castlist {' '.join(words)}` ended with code {done.returncode}")
    return Timing(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def truth_of_cast(truth: Path, cast: Path) -> Truth:
    """Read the truth of a clip, with boxes in the pixels of the tracks of its cast."""
    video = read_manifest(cast / RUN).get("video", {})
    return read_truth(truth, pixel_scale(video.get("size"), video.get("stored_size")))


def score_cast(clip: Clip, casts: Path, timing: Timing | None = None) -> Result:
    """Score the cast of a clip, as the scan made it."""
    folder = casts / f"{clip.name}.cast"
    if not folder.is_dir():
        raise InputError(f"no cast of {clip.name}: there is no {folder}")
    tracks = read_tracks(folder / TRACKS)
    cast = load_cast(folder / CAST, tracks)
    missed = None if clip.missed is None else read_missed(clip.missed)
    score = score_clip(tracks, cast.labels(), truth_of_cast(clip.truth, folder), missed)
    return Result(score, tuple(one.sure for one in cast.characters), timing)


def run(arguments: argparse.Namespace, options: Sequence[str], casts: Path) -> None:
    """Scan and score all clips, and print the tables."""
    clips = find_clips(arguments.folder, arguments.clips, videos=arguments.casts is None)
    if arguments.casts is None:
        for clip in clips:
            if (casts / f"{clip.name}.cast").exists():  # a scan would go on from there
                raise InputError(f"{casts} has a cast of {clip.name}; score it with --casts")
    results: dict[str, Result] = {}
    if not arguments.json:
        print(tv_tables.HEADER, flush=True)
    for number, clip in enumerate(clips, 1):
        timing = None
        if arguments.casts is None:
            print(f"scanning {clip.name}, {number} of {len(clips)}", file=sys.stderr, flush=True)
            timing = scan_clip(clip, casts, options)
        results[clip.name] = one = score_cast(clip, casts, timing)
        if not arguments.json:
            times = (timing.wall, timing.processor) if timing else None
            print(tv_tables.row(clip.name, one.score, times), flush=True)
    scores = [one.score for one in results.values()]
    reliability = tv_tables.reliability(
        (character, sureness(one.sure[character.label]))
        for one in results.values()
        for character in one.score.by_character
    )
    if arguments.json:
        value = {
            "scan_options": None if arguments.casts else list(options),
            "clips": {name: one.to_dict() for name, one in results.items()},
            "summary": asdict(summarise(scores)),
            "by_width": [asdict(one) for one in add_widths(scores)],
            "reliability": [asdict(one) for one in reliability],
        }
        print(json.dumps(value, indent=2, ensure_ascii=False))
        return
    print(tv_tables.means(summarise(scores)))
    print(tv_tables.sums(scores))
    timings = [one.timing for one in results.values() if one.timing]
    if timings:
        wall, processor = sum(t.wall for t in timings), sum(t.processor for t in timings)
        print(f"time: {wall:.1f} s by the clock, {processor:.1f} s of the processor")
    print(tv_tables.widths(add_widths(scores)))
    print(tv_tables.reliabilities(reliability))


def main() -> None:
    words, options = sys.argv[1:], []
    if "--" in words:
        place = words.index("--")
        words, options = words[:place], words[place + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="with clips/, truth/ and perhaps missed/ in it")
    parser.add_argument("clips", nargs="*", help="clips by name; all if not given")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--casts", type=Path, help="score the casts in this folder; scan nothing")
    where.add_argument("--keep", type=Path, help="keep the casts that are made in this folder")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    arguments = parser.parse_args(words)
    if arguments.casts and options:
        parser.error("--casts scans nothing: options of the scan do not go with it")
    try:
        with tempfile.TemporaryDirectory() as made:
            run(arguments, options, arguments.casts or arguments.keep or Path(made))
    except CastlistError as error:
        parser.exit(2, f"bench_tv: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130)


def _files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; benchmark.md says what goes where")
    found = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in suffixes]
    if not found:
        raise InputError(f"{folder} has no {suffixes[0] if len(suffixes) == 1 else 'video'} files")
    return found


if __name__ == "__main__":
    main()
