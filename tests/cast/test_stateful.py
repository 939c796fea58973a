"""Corrections stay in effect: random corrections by two clients, against a reference model."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import initialize, precondition, rule

from castlist import InputError
from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.series import add, join, remove
from castlist.video.fingerprint import Fingerprint
from datasets.synthetic_casts import write_folder
from tests.cast.model import Moment, Moments, Seen, Word
from tests.cast.stateful import (
    Talk,
    answered,
    cut_time,
    new_home,
    pick,
    run,
    scan_again,
    scenes,
    seen,
    which,
)  # fmt: skip

VERBS = (
    "name", "background", "merge", "move", "not_face", "cut", "answer", "undo", "redo",
    "recluster", "stale",
)  # fmt: skip
SCANS = [*(scenes(scan=k) for k in range(3)), scenes(stranger=4)]


class OneVideo(Talk):
    """The cast of one video, which is scanned again with other settings at times."""

    @initialize()
    def scan(self):
        self.begin(new_home())
        self.opened(write_folder(self.home / "film.cast", SCANS[0]))
        self.settle()

    @rule(k=st.integers(0, 3))
    def scan_again(self, k):
        before, self.sound = self.now, False
        scan_again(self.folder, SCANS[k])
        self.model.scan += 1
        self.now = self.fresh()
        self.by_machine(before)
        self.counted["scan"] += 1


VIDEOS = ("e1", "e2", "e3")
OF_VIDEOS = {
    (video, k): scenes(f"{video}.mp4", 8, scan=k, dim=128, seed=n)
    for n, video in enumerate(VIDEOS)
    for k in range(3)
}


class Source:
    """The cast of one video, of which a few things were said."""

    def __init__(self, home, video: str) -> None:
        self.video = video
        self.folder = write_folder(home / f"{video}.cast", OF_VIDEOS[video, 0])
        self.different: list[tuple[Moments, Moments]] = []
        self.cuts: list[Moment] = []
        note = json.loads((self.folder / RUN).read_text())
        known = Fingerprint(20.0, 500, 1000, ((0.0, bytes([40 * int(video[1])] * 144)),))
        note["video"] |= {
            "name": f"{video}.mp4", "duration": 20.0, "fingerprint": known.to_json(),
        }  # fmt: skip
        (self.folder / RUN).write_text(json.dumps(note))

    def say(self, kind: str, i: int, j: int) -> None:
        """Say something, if that can be."""
        cast = Corrections(self.folder)
        view = seen(cast)
        one, other = pick(view.faces, i), pick(view.faces, j)
        number = view.owner[one]
        with suppress(InputError):
            if kind == "name":
                cast.name(number, pick(["Anna", "Bo"], j))
            elif kind == "background":
                cast.background([number], bool(j % 2))
            elif kind == "not_face":
                cast.not_face([one])
            elif kind == "move":
                cast.move([one], view.owner[other])
            elif kind == "different":
                cast.answer([one], [], [[other]])
                self.different += answered(view, [one], [], [[other]]).different
            elif kind == "cut":
                at = sorted(view.tracks[one])[len(view.tracks[one]) // 2]
                cast.cut(one, cut_time(at))
                self.cuts.append(at)
        cast.close()

    def seen(self) -> Seen:
        cast = Corrections(self.folder)
        found = seen(cast)
        cast.close()
        return found


def apart(*casts: Seen) -> Seen:
    """Return several casts as one in which nobody is in two of them."""
    parts = [
        replace(
            one, tracks={f"{k}:{t}": own for t, own in one.tracks.items()},
            owner={f"{k}:{t}": (k, id) for t, id in one.owner.items()},
        )
        for k, one in enumerate(casts)
    ]  # fmt: skip
    tracks, owner = ({k: v for one in parts for k, v in getattr(one, name).items()}
                     for name in ("tracks", "owner"))  # fmt: skip
    return Seen(tracks, owner, {}, {}, frozenset(), {}, {})


class Series(Talk):
    """A cast of several videos, of which each has a cast of its own."""

    @initialize(said=st.lists(st.tuples(
        st.integers(0, 2), st.sampled_from(["name", "background", "not_face", "move", "different",
                                            "cut"]), which, which), max_size=8))  # fmt: skip
    def join(self, said):
        self.begin(new_home())
        self.sources = {video: Source(self.home, video) for video in VIDEOS}
        for video, kind, i, j in said:
            self.sources[VIDEOS[video]].say(kind, i, j)
        folder = self.home / "season.cast"
        first = [self.sources[video] for video in VIDEOS[:2]]
        join([one.folder for one in first], folder)
        self.opened(folder)
        before = apart(*(one.seen() for one in first))
        words = [self.inherited("join", one, {}, {}) for one in first]
        whole = replace(
            words[0], came=" ".join(VIDEOS[:2]), number=self.events,
            names={**words[1].names, **words[0].names},
            background={**words[1].background, **words[0].background},
            **{
                name: getattr(words[0], name) + getattr(words[1], name)
                for name in ("pins", "different", "cuts")
            },
            not_face={**words[0].not_face, **words[1].not_face},
        )  # fmt: skip
        self.model.say(whole)
        self.model.check_machine(before, self.now)
        self.settle()

    def inherited(self, kind: str, source: Source, names, marked) -> Word:
        """Return what the cast of a video brings into this one."""
        own = source.seen()
        here = {own_moments: track for track, own_moments in self.now.tracks.items()}
        ids: dict[int, int] = {}  # of the characters there: here
        for track, moments in own.tracks.items():
            known = self.now.owner if own.pin[track] else self.now.base
            id = known[here[moments]]
            assert ids.setdefault(own.owner[track], id) == id, (track, "was taken apart")
        named = [(id, own.names[number]) for number, id in ids.items() if number in own.names]
        assert len(dict(named)) == len(set(named)), "two names are one character"
        return Word(
            kind,
            tuple((ids[own.owner[t]], own.tracks[t]) for t, pin in own.pin.items() if pin),
            {id: name for id, name in named if not names.get(id)},
            {ids[n]: yes for n, yes in own.background.items() if n in ids and ids[n] not in marked},
            {own.tracks[t]: True for t in own.not_face},
            tuple(source.different), tuple(source.cuts), came=source.video,
        )  # fmt: skip

    def inside(self) -> set[str]:
        return {video for own in self.now.tracks.values() for video, _, _ in own}

    @rule(i=which)
    def add(self, i):
        source = self.sources[pick(VIDEOS, i)]
        before, self.sound = self.now, False
        if source.video in self.inside():
            with pytest.raises(InputError, match="is already in"):
                add(self.folder, source.folder)
            assert self.fresh() == before
            self.sound = True
            return
        add(self.folder, source.folder)
        self.now = self.fresh()
        word = self.inherited("add", source, before.names, set(before.owner.values()))
        self.model.say(replace(word, number=self.events))
        self.model.check_ids(before, self.now)
        self.model.check_machine(apart(before, source.seen()), self.now)
        for track in before.tracks:
            assert self.now.owner[track] == before.owner[track]
            assert self.now.pin[track] == before.pin[track]
        self.settle()
        self.counted["add"] += 1

    @rule(i=which)
    def remove(self, i):
        video = pick(VIDEOS, i)
        before, self.sound = self.now, False
        if self.inside() <= {video} or video not in self.inside():
            with pytest.raises(InputError):
                remove(self.folder, video)
            assert self.fresh() == before
            self.sound = True
            return
        remove(self.folder, f"{video}.mp4")
        self.now = self.fresh()
        self.model.say(Word("remove", left=video, number=self.events))
        for track in self.now.tracks:
            assert self.now.owner[track] == before.owner[track]
        self.settle()
        self.counted["remove"] += 1

    @precondition(lambda self: self.inside() != set(VIDEOS))
    @rule(i=which, k=st.integers(0, 2), kind=st.sampled_from(["name", "not_face", "move"]), j=which)
    def scan_a_video_again(self, i, k, kind, j):
        """Scan one that is outside: what was said of it here waits for its other tracks."""
        video = pick(sorted(set(VIDEOS) - self.inside()), i)
        scan_again(self.sources[video].folder, OF_VIDEOS[video, k])
        self.sources[video].say(kind, i, j)
        self.counted["scan"] += 1


def test_two_people_correct_one_video_at_random():
    assert run(OneVideo, 250).total() >= 150


def test_two_people_correct_a_series_at_random():
    assert run(Series, 150).total() >= 100


@pytest.mark.slow
def test_two_people_correct_a_cast_at_random_for_long():
    done = run(OneVideo, 6000) + run(Series, 3000)
    assert done.total() > 9000
    assert min(done[verb] for verb in (*VERBS, "scan", "add", "remove")) > 20, done
