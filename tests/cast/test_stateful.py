"""Corrections stay in effect: random corrections by two clients, against a reference model."""

from __future__ import annotations

import json
from collections.abc import Callable
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
from tests.cast.model import Model, Seen, Word
from tests.cast.scenes import HALVES, PIECES, TOGETHER, cut_time, scan_again, scenes
from tests.cast.stateful import NAMES, Talk, clients, new_home, pick, run, seen, which
from tests.cast.words import (
    answering,
    cutting,
    marking,
    moving,
    naming,
    not_a_face,
    not_naming,
)

VERBS = (
    "name", "not_named", "photo", "background", "merge", "move", "not_face", "cut", "answer",
    "instead", "mixed", "undo", "redo", "recluster", "stale",
)  # fmt: skip
#: Of one video: with other settings; with other faces in the place of some, and one missing; with
#: two lists of tracks from elsewhere, which divide faces at other times; and in other resolutions.
SCANS = [
    scenes(**how, first=100 * k)
    for k, how in enumerate((
        {}, {"rate": 4, "begins": HALVES[0]}, {"rate": 8, "begins": HALVES[1]},
        {"strangers": {4: 1}}, {"strangers": {4: 2, 9: 1}, "without": 7},
        {"begins": PIECES[0]}, {"begins": PIECES[1]},
        {"scale": 2.0}, {"rate": 4, "begins": HALVES[0], "scale": 0.5},
    ))
]  # fmt: skip
SCALE = {7: 2.0, 8: 0.5}


class OneVideo(Talk):
    """The cast of one video, which is scanned again with other settings at times."""

    @initialize()
    def scan(self):
        self.begin(new_home())
        self.opened(write_folder(self.home / "film.cast", SCANS[0]))
        self.settle()

    @rule(k=st.integers(0, len(SCANS) - 1), client=clients,
          same=st.lists(st.tuples(which, which), max_size=3))  # fmt: skip
    def scan_again(self, k, client, same):
        """Scan with other settings, and say of lost tracks which ones they are."""
        before, self.sound = self.now, False
        scan_again(self.folder, SCANS[k], SCALE.get(k, 1.0))
        self.model.scan += 1
        self.now = self.fresh()
        self.model.check_ids(before, self.now)
        self.by_machine(before, splits=True)
        self.counted["scan"] += 1
        for i, j in same:
            self.found(client, False, i, j)


VIDEOS = ("e1", "e2", "e3")
OF_VIDEOS = {
    (video, k): scenes(f"{video}.mp4", 8, seed=n, **how)
    for n, video in enumerate(VIDEOS)
    for k, how in enumerate((
        {}, {"rate": 4, "begins": HALVES[0], "first": 100},
        {"rate": 8, "begins": HALVES[1], "first": 200}, {"begins": PIECES[0], "first": 300},
    ))
}  # fmt: skip
SAYINGS = ("name", "not_named", "background", "not_face", "move", "different", "mixed", "cut")


class Source:
    """The cast of one video, of which a few things were said."""

    def __init__(self, home, video: str, tick: Callable[[], int]) -> None:
        self.video = video
        self.tick = tick
        self.model = Model()
        self.folder = write_folder(home / f"{video}.cast", OF_VIDEOS[video, 0])
        note = json.loads((self.folder / RUN).read_text())
        known = Fingerprint(20.0, 500, 1000, ((0.0, bytes([40 * int(video[1])] * 144)),))
        note["video"] |= {
            "name": f"{video}.mp4", "duration": 4 * TOGETHER, "fingerprint": known.to_json(),
        }  # fmt: skip
        (self.folder / RUN).write_text(json.dumps(note))

    def say(self, kind: str, i: int, j: int) -> None:
        """Say something, if that can be."""
        with Corrections(self.folder) as cast:
            view = seen(cast)
            if not view.faces:
                return
            track, other = pick(view.faces, i), pick(view.faces, j)
            number = view.owner[track]
            with suppress(InputError):
                if kind == "name":
                    word = naming(view, number, pick(NAMES[:2], j))
                    cast.name(number, word.names[number])
                elif kind == "not_named":
                    word = not_naming(view, number, pick(NAMES[:2], j))
                    cast.not_named(number, word.not_named[0][0])
                elif kind == "background":
                    word = marking(view, [number], bool(j % 2))
                    cast.background([number], bool(j % 2))
                elif kind == "not_face":
                    word = not_a_face(view, [track], True)
                    cast.not_face([track])
                elif kind == "move":
                    word = moving(view, [track], view.owner[other], False)
                    cast.move([track], view.owner[other])
                elif kind == "different":
                    word = answering(view, [track], [], [[other]])
                    cast.answer([track], [], [[other]])
                elif kind == "mixed":
                    word = answering(view, [track], mixed=[[other]])
                    cast.answer([track], mixed=[[other]])
                else:
                    at = sorted(view.tracks[track])[len(view.tracks[track]) // 2]
                    word = cutting(view, track, at, "before")
                    cast.cut(track, cut_time(at))
                now = seen(cast)
                word = self.model.with_ids(word, now)
                self.model.say(replace(word, number=cast.last, when=self.tick()))
                self.model.check(now)
                self.model.remember(now)

    def seen(self) -> Seen:
        with Corrections(self.folder) as cast:
            return seen(cast)


def apart(*casts: Seen) -> Seen:
    """Return several casts as one in which nobody is in two of them."""
    tracks, keys, owner = {}, {}, {}
    for k, cast in enumerate(casts):
        tracks |= {f"{k}:{t}": own for t, own in cast.tracks.items()}
        keys |= {f"{k}:{t}": key for t, key in cast.keys.items()}
        owner |= {f"{k}:{t}": (k, id) for t, id in cast.owner.items()}
    return Seen(tracks, keys, owner, {}, {}, frozenset(), {}, {})


class Series(Talk):
    """A cast of several videos, of which each has a cast of its own."""

    splits = False

    @initialize(said=st.lists(st.tuples(
        st.integers(0, 2), st.sampled_from(SAYINGS), which, which), max_size=8))  # fmt: skip
    def join(self, said):
        self.begin(new_home())
        self.sources = {video: Source(self.home, video, self.tick) for video in VIDEOS}
        for video, kind, i, j in said:
            self.sources[VIDEOS[video]].say(kind, i, j)
        folder = self.home / "season.cast"
        first = [self.sources[video] for video in VIDEOS[:2]]
        join([one.folder for one in first], folder)
        self.opened(folder)
        before = apart(*(one.seen() for one in first))
        word = self.inherited("join", first)
        self.model.say(replace(word, number=self.events, when=self.tick()))
        self.by_machine(before, splits=False)

    def inherited(self, kind: str, sources: list[Source], before: Seen | None = None) -> Word:
        """Return what the casts of videos bring into this one.

        What was said here of a video that was here before is kept, if it was said later.
        """
        now, parts = self.now, []
        there = self.model.pins(now), self.model.marks(now)
        names, background = set(), set()  # that may come
        for source in sources:
            own, said = source.seen(), source.model
            ids: dict[int, set[int]] = {}  # of the characters there: here

            def group(tracks, own=own):
                return now.group(t for track in tracks for t in now.at(own.tracks[track]))

            pins, marks = said.pins(own), said.marks(own)
            for track, moments in own.tracks.items():
                here = ids.setdefault(own.owner[track], set())
                for t in sorted(now.at(moments)):
                    _, when = pins.get(track, (0, 0))
                    if when >= there[0].get(t, (0, 0))[1]:
                        here.add(now.owner[t])
                        pin = (now.owner[t], now.group([t]))
                        parts += [Word(kind, (pin,), when=when)] if when else []
                    yes, when = marks.get(track, (False, 0))
                    if when:
                        parts.append(Word(kind, not_face=((now.group([t]), yes),), when=when))
            for number, here in ids.items():
                assert len(here) <= 1, (number, "was taken apart")
                names |= {(id, own.names[number]) for id in here if number in own.names}
                background |= {(id, own.background[number]) for id in here
                               if number in own.background}  # fmt: skip
            parts.append(Word(
                kind, different=tuple((group([t]), group([u])) for t, u in own.different),
                mixed=tuple(map(group, said.mixed(own))),
                # The whole track has another key here, which is not known.
                cuts=tuple((("", moments), at) for w in said.said for (_, moments), at in w.cuts),
                not_named=tuple((name, group(tracks)) for name, tracks in said.not_named(own)),
                waived=tuple(tuple(group([t]) for t in pair) for pair in said.waived(own)),
            ))  # fmt: skip
        assert len(dict(names)) == len(names), "two names are one character"
        # A character that is known here keeps its name and mark; a new one gets those that come.
        known = self.model.ids
        new = {*now.names.items()} - {*(before.names.items() if before else ())}
        marked = {*now.background.items()} - {*(before.background.items() if before else ())}
        assert {(id, name) for id, name in names if id not in known} <= new <= names
        assert {id for id, _ in background if id not in known} <= {id for id, _ in marked}
        assert marked <= background
        return Word(
            kind, names=dict(new), background=dict(marked), parts=tuple(parts),
            came=" ".join(source.video for source in sources),
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
        word = self.inherited("add", [source], before)
        self.model.say(replace(word, number=self.events, when=self.tick()))
        for track in before.tracks:
            assert self.now.owner[track] == before.owner[track]
            assert self.now.pin[track] == before.pin[track]
        self.model.check_ids(before, self.now)
        self.by_machine(apart(before, source.seen()), splits=False)
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
        self.model.say(Word("remove", left=video, number=self.events, when=self.tick()))
        for track in self.now.tracks:
            assert self.now.owner[track] == before.owner[track]
        self.settle()
        self.counted["remove"] += 1

    @precondition(lambda self: self.inside() != set(VIDEOS))
    @rule(i=which, k=st.integers(0, 3), kind=st.sampled_from(SAYINGS), j=which)
    def scan_a_video_again(self, i, k, kind, j):
        """Scan one that is outside: what was said of it here waits for its other tracks."""
        video = pick(sorted(set(VIDEOS) - self.inside()), i)
        scan_again(self.sources[video].folder, OF_VIDEOS[video, k])
        self.sources[video].say(kind, i, j)
        self.counted["scan"] += 1


def test_two_people_correct_one_video_at_random():
    assert run(OneVideo, 150).total() >= 90


def test_two_people_correct_a_series_at_random():
    assert run(Series, 150).total() >= 35


@pytest.mark.slow
def test_two_people_correct_a_cast_at_random_for_long():
    done = run(OneVideo, 6000) + run(Series, 3000)
    assert done.total() > 9000
    assert min(done[verb] for verb in (*VERBS, "found", "scan", "add", "remove")) > 20, done
