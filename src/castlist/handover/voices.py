"""Match the speakers of a diarization file to characters, by the time they share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from castlist.cast.current import CurrentCast
from castlist.errors import InputError
from castlist.export.timeline import Timeline, one_line, timelines
from castlist.export.vtt import vtt_text
from castlist.handover.intervals import Intervals, intersection, union
from castlist.io.untrusted import read_small

#: A speaker is matched if the character is seen for at least this share of the speaking time.
LEAST_SHARE = 0.3
_MOST_BYTES = 2**26
_MOST_SPEAKERS = 1000  # of all files: each is compared with each character
_MOST_DIGITS = 6  # of hours
_LATEST = 1e9  # seconds: later times are no times of a video
_CUE = re.compile(
    r"(?<![0-9])([0-9]+):([0-9]{2}):([0-9]{2})[,.]([0-9]{1,3})\s*-->\s*"
    r"([0-9]+):([0-9]{2}):([0-9]{2})[,.]([0-9]{1,3})"
)


@dataclass(frozen=True)
class Voice:
    """A speaker, and who it probably is.

    Attributes
    ----------
    speaker : str
        Name in the diarization file.
    seconds : float
        Speaking time.
    character : int or None
        Number of the character; None if nobody fits.
    label : str
        Label of the character; the speaker's name if nobody fits.
    share : float
        Share of the speaking time in which the character is seen.
    second : float
        The same for the character who fits second best.
    """

    speaker: str
    seconds: float
    character: int | None
    label: str
    share: float
    second: float


def read_rttm(path: str | Path) -> dict[str, dict[str, Intervals]]:
    """Return when each speaker speaks, by file and speaker, in seconds."""
    spans: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for number, line in enumerate(_read(path).splitlines(), 1):
        words = line.split()
        if not words or words[0] != "SPEAKER":
            continue
        try:
            file, start, length, speaker = words[1], float(words[3]), float(words[4]), words[7]
        except (IndexError, ValueError) as error:
            raise InputError(
                f"{path}, line {number}: not 'SPEAKER file 1 start duration <NA> <NA> name'"
            ) from error
        if not (0 <= start <= _LATEST and 0 <= length <= _LATEST):  # nor nan
            raise InputError(f"{path}, line {number}: times must be numbers from 0 to {_LATEST:g}")
        spans.setdefault(file, {}).setdefault(speaker, []).append((start, start + length))
    if len({speaker for speakers in spans.values() for speaker in speakers}) > _MOST_SPEAKERS:
        raise InputError(f"{path}: more than {_MOST_SPEAKERS:,} speakers")
    if not spans:
        raise InputError(f"{path}: no line begins with SPEAKER; is it an RTTM file?")
    return {
        file: {speaker: union(parts) for speaker, parts in speakers.items()}
        for file, speakers in spans.items()
    }


def match_voices(cast: CurrentCast, speech: Mapping[str, Mapping[str, Intervals]]) -> list[Voice]:
    """Match speakers to characters, one to one, so that they share the most time.

    Parameters
    ----------
    cast : Corrections
        The cast of a folder.
    speech : mapping
        File → speaker → intervals, as :func:`read_rttm` returns it. A file is a video of the cast
        with that name, with or without suffix; for a cast of one video, any name will do.

    Returns
    -------
    list of Voice
        By speaking time, the longest first.
    """
    every = timelines(cast)
    pairs = [(speech[file], _video_of(every, file, len(speech))) for file in speech]
    speakers = sorted({one for spoken, _ in pairs for one in spoken})
    numbers = [one.number for one in cast.cast.characters]
    shared = np.zeros((len(speakers), len(numbers)))
    seconds = np.zeros(len(speakers))
    labels: dict[int, str] = {}
    for spoken, timeline in pairs:
        for i, speaker in enumerate(speakers):
            seconds[i] += _length(spoken.get(speaker, np.empty((0, 2))))
        for person in timeline.people:
            number = person.character.number
            labels[number] = person.label
            seen = union(
                [(timeline.played(a.start), timeline.played(a.end)) for a in person.appearances]
            )
            for i, speaker in enumerate(speakers):
                if speaker in spoken:
                    both = intersection(spoken[speaker], seen)
                    shared[i, numbers.index(number)] += _length(both)
    share = shared / np.maximum(seconds, 1e-9)[:, None]
    rows, columns = linear_sum_assignment(-shared)
    matched = {
        int(i): int(j) for i, j in zip(rows, columns, strict=True) if share[i, j] >= LEAST_SHARE
    }
    voices = []
    for i, speaker in enumerate(speakers):
        j = matched.get(i)
        others = np.delete(share[i], j) if j is not None else share[i]
        voices.append(
            Voice(
                speaker, round(float(seconds[i]), 3), None if j is None else numbers[j],
                one_line(speaker) if j is None else labels[numbers[j]],
                0.0 if j is None else float(share[i, j]), float(others.max(initial=0.0)),
            )
        )  # fmt: skip
    return sorted(voices, key=lambda one: -one.seconds)


def named_subtitles(path: str | Path, voices: list[Voice], spoken: Mapping[str, Intervals]) -> str:
    """Return subtitles (SRT or WebVTT) with the name of who speaks before each cue's text.

    A cue is given to the speaker who speaks most in it; if nobody does, it stays as it is.
    """
    lines = _read(path).splitlines()
    escaped = vtt_text if lines[:1] and lines[0].startswith("WEBVTT") else _srt_text
    labels = {one.speaker: escaped(one.label) for one in voices}
    found = False
    for number, line in enumerate(lines[:-1]):
        cue = _CUE.search(line)
        if cue is None:
            continue
        found = True
        if max(len(digits) for digits in cue.groups()) > _MOST_DIGITS:
            raise InputError(f"{path}, line {number + 1}: the time has too many hours")
        values = [int(digits) for digits in cue.groups()]
        start, end = (3600 * h + 60 * m + s + ms / 1000 for h, m, s, ms in (values[:4], values[4:]))
        span = np.array([[start, max(start, end)]])
        overlap = {one: _length(intersection(parts, span)) for one, parts in spoken.items()}
        speaker = max(overlap, key=overlap.__getitem__, default=None)
        if speaker is not None and overlap[speaker] > 0:
            lines[number + 1] = f"{labels[speaker]}: {lines[number + 1]}"
    if not found:
        raise InputError(f"{path}: no times such as 00:00:01,000 --> 00:00:02,000 in it")
    return "\n".join(lines) + "\n"


def _srt_text(text: str) -> str:
    """Return a name without ``<`` and ``>``, which SRT cannot escape: they begin and end tags."""
    return text.replace("<", "‹").replace(">", "›")


def _video_of(every: Sequence[Timeline], file: str, files: int) -> Timeline:
    if len(every) == 1 and files == 1:
        return every[0]
    for one in every:
        if file in (one.video, Path(one.video).stem, one.video.replace(" ", "_")):
            return one
    names = ", ".join(one.video for one in every)
    raise InputError(f"the diarization names {file!r}, which is no video of the cast: {names}")


def _length(intervals: Intervals) -> float:
    return float(np.diff(intervals).sum())


def _read(path: str | Path) -> str:
    try:
        return read_small(Path(path), _MOST_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read as text in UTF-8 ({error})") from error
