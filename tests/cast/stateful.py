"""Two clients that correct a cast at random, compared with a reference model."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import hypothesis.strategies as st
import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from castlist import InputError, TrackSet, write_tracks
from castlist.cast.cast import make_cast
from castlist.cast.cast_file import save_cast
from castlist.cast.corrections import Corrections
from castlist.cast.folder import CAST, TRACKS, write_points
from castlist.cast.log import ConflictError
from castlist.cast.questions import questions
from castlist.cast.recluster import accept, propose
from castlist.cast.rescan import regroup
from castlist.cast.state import State
from datasets.synthetic_casts import THRESHOLD, points_of
from tests.cast.model import Model, Moment, Seen, Word

STEPS = 50  # of an example
_TOGETHER, _APART = 4.0, 5.0  # seconds: of a track, and between the beginnings of two


STRANGER = 100  # added to who it was


def scenes(video="film.mp4", faces=12, people=4, *, scan=0, dim=32, seed=0, stranger=None):
    """Return the tracks of a video as one of three scans finds them.

    Two faces side by side for four seconds, then the next two. The scans look at other times; some
    tracks are two in one scan and one in another, and no id means the same in two of them. A
    ``stranger`` has another face than in the other scans, at the same times and in the same place.
    """
    rng = np.random.default_rng(seed)
    who = rng.integers(0, people, faces)
    looks = np.eye(dim)[who] + 0.45 * rng.normal(size=(faces, dim)) / np.sqrt(dim)
    if stranger is not None:
        looks[stranger], who[stranger] = np.eye(dim)[-1], STRANGER
    columns: dict[str, list] = {k: [] for k in ("track", "time", "frame", "box", "feature", "who")}
    number = 0
    for face in range(faces):
        start, left = _APART * (face // 2), 50.0 if face % 2 == 0 else 300.0
        left += stranger is not None
        halves = 2 if scan and face % 3 == scan else 1
        for half in range(halves):
            length = _TOGETHER / halves
            for time in np.arange(start + half * length, start + (half + 1) * length - 1e-6,
                                  1 / (5, 4, 8)[scan]):  # fmt: skip
                columns["track"].append(f"{number:04d}")
                columns["time"].append(time)
                columns["frame"].append(round(time * 1000))
                columns["box"].append([left, 60 + 2 * (time - start), 90, 90])
                noise = np.random.default_rng([face, round(time * 1000)]).normal(size=dim)
                columns["feature"].append(looks[face] + 0.05 * noise)
                columns["who"].append(f"p{who[face]}")
            number += 1
    return TrackSet.from_faces(
        columns["track"], feature=np.array(columns["feature"], np.float32),
        identity=columns["who"], time=columns["time"], frame=columns["frame"],
        box=columns["box"], video=video, describer="SFace",
    )  # fmt: skip


def scan_again(folder: Path, tracks: TrackSet) -> None:
    """Put another scan into a folder, as `castlist scan` does."""
    points = points_of(tracks)
    made = regroup(folder, tracks, points, THRESHOLD, {})
    duration = float(tracks.spans.max())
    write_tracks(folder / TRACKS, tracks)
    write_points(folder, points)
    cast = make_cast(tracks, made.labels, points, duration, State.of(made.labels))
    save_cast(
        cast, folder / CAST, {"threshold": THRESHOLD, "next": made.next_id, "taken": made.taken}
    )


def moments_of(tracks: TrackSet, row: int) -> frozenset[Moment]:
    """Return which quarters of whose time on screen a track is."""
    own = slice(tracks.offsets[row], tracks.offsets[row + 1])
    video = tracks.videos[tracks.video[row]].removesuffix(".mp4")
    found = set()
    other = STRANGER if tracks.identity[row] == f"p{STRANGER}" else 0
    for time, box in zip(tracks.time[own] + 1e-6, tracks.box[own], strict=True):
        scene = int(time // _APART)
        quarter = int((time - scene * _APART) // (_TOGETHER / 4))
        found.add((video, other + 2 * scene + int(box[0] > 200), quarter))
    return frozenset(found)


def cut_time(moment: Moment) -> float:
    """Return a time between a moment and the one before it."""
    _, face, quarter = moment
    face %= STRANGER
    return _APART * (face // 2) + quarter * _TOGETHER / 4 - 0.01


def seen(cast: Corrections) -> Seen:
    """Return a cast as it is in memory, and see that its parts agree."""
    ids = [str(name) for name in cast.tracks.ids]
    state = cast.state
    owner = dict(zip(ids, state.owner.tolist(), strict=True))
    not_face = frozenset(np.array(ids)[state.not_face].tolist())
    for one in cast.cast.characters:
        own = {ids[row] for row in one.tracks.tolist()}
        assert own == {t for t in ids if owner[t] == one.number and t not in not_face}
        assert one.name == state.names.get(one.number, "")
        assert one.background == state.background.get(one.number, one.background)
    assert len(cast.cast.characters) == len({owner[t] for t in ids if t not in not_face})
    return Seen(
        {name: moments_of(cast.tracks, row) for row, name in enumerate(ids)}, owner,
        dict(zip(ids, state.base.tolist(), strict=True)),
        dict(zip(ids, state.pin.tolist(), strict=True)), not_face,
        {id: name for id, name in state.names.items() if name}, dict(state.background),
    )  # fmt: skip


class PythonClient:
    """A client that has the cast open in Python."""

    clusters_what_is_there = False  # but refuses where something was said since it looked

    def __init__(self, folder: Path, who: str) -> None:
        self.cast = Corrections(folder, who)
        self.seen = seen(self.cast)

    def behind(self, events: int) -> bool:
        """Return whether there are events that it has not seen."""
        return self.cast.last != events

    def look(self, truth: Seen, model: Model) -> None:
        """Refresh the cast, which must equal what a new process reads."""
        self.cast.refresh()
        self.seen = seen(self.cast)
        assert self.seen == truth
        holds = [event.number for event, holds in self.cast.history if holds]
        assert holds == [word.number for word in model.words]

    def questions(self) -> list[tuple[list[str], list[list[str]]]]:
        """Return the tracks that are asked about, and those they are compared with."""
        cast = self.cast
        asked = questions(cast.points, cast.facts, cast.state, 3)
        ids = cast.tracks.ids
        return [
            (ids[pair.other.tracks].tolist(), [ids[one.tracks].tolist() for one in pair.ones])
            for question in asked
            for pair in question.pairs
        ]

    def recluster(self) -> None:
        after = self.cast.last
        proposal = propose(self.cast)
        accept(self.cast, proposal, after=after)

    def __getattr__(self, verb):
        return getattr(self.cast, verb)

    def close(self) -> None:
        self.cast.close()


which = st.integers(0, 50)
clients = st.integers(0, 1)
some = st.lists(st.integers(0, 50), min_size=1, max_size=4, unique=True)
NAMES = ["Anna", "Bo", "Çelik", "1", "2"]


class Talk(RuleBasedStateMachine):
    """Says things in the name of two people; a subclass makes the cast and the clients."""

    counted: ClassVar[Counter[str]] = Counter()

    def begin(self, home: Path) -> None:
        self.home = home
        self.model = Model()
        self.clients: list[PythonClient] = []
        self.sound = False  # between two steps, if nothing was found wrong

    def opened(self, folder: Path) -> None:
        self.folder = folder
        self.events = 0
        self.now = self.fresh()
        self.clients = self.client_pair(folder)

    def client_pair(self, folder: Path) -> list[PythonClient]:
        return [PythonClient(folder, who) for who in ("Eva", "Ida")]

    def fresh(self) -> Seen:
        """Return the cast as a new process would read it."""
        cast = Corrections(self.folder)
        try:
            self.events = cast.last
            return seen(cast)
        finally:
            cast.close()

    def settle(self) -> None:
        """Hold what is on disk against what was said."""
        self.model.check(self.now)
        self.model.remember(self.now)
        self.sound = True

    def act(self, kind, client, stale, make) -> None:
        """Let a client do something; ``make`` gives the call and the word that it is."""
        one, self.sound = self.clients[client], False
        if not stale:
            one.look(self.now, self.model)
        made = make(one, one.seen)
        if made is None:
            self.sound = True
            return
        call, word = made
        behind, before = one.behind(self.events), self.now
        if kind == "recluster" and one.clusters_what_is_there:
            behind = False
        try:
            call()
        except ConflictError:
            assert behind
            self.counted["stale"] += 1
            assert self.fresh() == before
            one.look(self.now, self.model)
            self.sound = True
            return
        except InputError:
            self.counted[f"{kind} refused"] += 1
            assert self.fresh() == before
            self.sound = True
            return
        assert not behind, "said without having seen what was said before"
        self.counted[kind] += 1
        self.now = self.fresh()
        if kind == "undo":
            self.model.undo()
        elif kind == "redo":
            self.model.redo()
        else:
            word = self.model.with_ids(word, self.now)
            self.model.say(replace(word, number=self.events))
            self.model.check_ids(before, self.now)
            if kind == "recluster":
                self.model.check_machine(before, self.now)
            else:
                self.model.check_person(before, self.now)
        self.settle()
        one.look(self.now, self.model)

    def by_machine(self, before: Seen) -> None:
        """See what a scan or one more video made of the cast."""
        self.model.check_ids(before, self.now)
        self.model.check_machine(before, self.now)
        self.settle()

    # The verbs

    @rule(client=clients, stale=st.booleans(), i=which, name=st.sampled_from([*NAMES, ""]))
    def name(self, client, stale, i, name):
        def make(one, view):
            if not view.faces:
                return None
            number = pick(view.shown, i)
            own = view.moments(view.of(number))
            pins = ((number, own),) if name else ()
            return lambda: one.name(number, name), Word("name", pins, {number: name})

        self.act("name", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some, yes=st.booleans())
    def background(self, client, stale, i, yes):
        def make(one, view):
            if not view.faces:
                return None
            numbers = picks(view.shown, i)
            pins = tuple((n, view.moments(view.of(n))) for n in numbers)
            marks = dict.fromkeys(numbers, yes)
            word = Word("background", pins, background=marks)
            return lambda: one.background(numbers, yes), word

        self.act("background", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some, j=which, waive=st.booleans(),
          name=st.sampled_from([None, "Bo"]))  # fmt: skip
    def merge(self, client, stale, i, j, waive, name):
        def make(one, view):
            if not view.faces:
                return None
            numbers = picks(view.shown, [j, *i])
            own = view.moments(t for n in numbers for t in view.of(n))
            called = [view.names[n] for n in numbers if view.names.get(n)]
            kept = {numbers[0]: name or called[0]} if name or called else {}
            word = Word("merge", ((numbers[0], own),), kept)
            return lambda: one.merge(numbers, name=name, waive=waive), word

        self.act("merge", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some, to=st.none() | which, waive=st.booleans())
    def move(self, client, stale, i, to, waive):
        def make(one, view):
            if not view.faces:
                return None
            tracks = picks(view.faces, i)
            target = None if to is None else pick(view.shown, to)
            word = Word("move", ((target, view.moments(tracks)),))
            return lambda: one.move(tracks, target, waive=waive), word

        self.act("move", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some, yes=st.booleans())
    def not_face(self, client, stale, i, yes):
        def make(one, view):
            tracks = picks(sorted(view.tracks) if yes else sorted(view.not_face), i)
            if not tracks or len(tracks) == len(view.faces):
                return None
            word = Word("not_face", not_face={view.moments(tracks): yes})
            return lambda: one.not_face(tracks, yes), word

        self.act("not_face", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=which, quarter=st.integers(1, 3),
          keep=st.sampled_from(["before", "after"]))  # fmt: skip
    def cut(self, client, stale, i, quarter, keep):
        def make(one, view):
            if not view.faces:
                return None
            track = pick(view.faces, i)
            video, face, _ = min(view.tracks[track])
            at: Moment = (video, face, quarter)
            parts = [frozenset(m for m in view.tracks[track] if (m < at) == first)
                     for first in (True, False)]  # fmt: skip
            stays, goes = parts if keep == "before" else parts[::-1]
            word = Word(
                "cut", ((view.owner[track], stays), (None, goes)), different=((stays, goes),),
                cuts=(at,),
            )  # fmt: skip
            return lambda: one.cut(track, cut_time(at), keep=keep), word

        self.act("cut", client, stale, make)

    @rule(client=clients, stale=st.booleans(), asked=which, same=st.lists(which, max_size=2),
          different=st.lists(which, max_size=2), waive=st.booleans())  # fmt: skip
    def answer(self, client, stale, asked, same, different, waive):
        def make(one, view):
            if not view.faces:
                return None
            it = [pick(view.faces, asked)]
            groups = [[[t] for t in picks(view.faces, some)] for some in (same, different)]
            return lambda: one.answer(it, *groups, waive=waive), answered(view, it, *groups)

        self.act("answer", client, stale, make)

    @rule(client=clients, i=which, sides=st.lists(st.booleans(), min_size=9, max_size=9),
          waive=st.booleans())  # fmt: skip
    def answer_what_is_asked(self, client, i, sides, waive):
        def make(one, view):
            asked = one.questions()
            if not asked:
                return None
            it, others = pick(asked, i)
            same, different = (
                [o for o, side in zip(others, sides, strict=False) if side == yes]
                for yes in (True, False)
            )
            word = answered(view, it, same, different)
            return lambda: one.answer(it, same, different, waive=waive), word

        self.act("answer", client, False, make)

    @rule(client=clients, stale=st.booleans(), asked=which, other=which, instead=which,
          waive=st.booleans())  # fmt: skip
    def answer_who_it_is(self, client, stale, asked, other, instead, waive):
        """One track is not the character it is in, but another one."""

        def make(one, view):
            if not view.faces:
                return None
            it = pick(view.faces, asked)
            me = view.owner[it]
            beside = [t for t in view.of(me) if t != it]
            others = [t for t in view.faces if view.owner[t] != me]
            if not beside or not others:
                return None
            moved, target = pick(beside, other), pick(others, instead)
            pin = (view.owner[target], view.moments([moved, target]))
            word = Word("answer", (pin,), different=((view.tracks[it], view.tracks[moved]),))
            return lambda: one.answer([it], [], [[moved]], [[target]], waive=waive), word

        self.act("answer", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some)
    def answer_mixed(self, client, stale, i):
        def make(one, view):
            if not view.faces:
                return None
            asked, *others = picks(view.faces, i)
            if not others:
                return None
            word = Word("answer")
            return lambda: one.answer([asked], mixed=[others]), word

        self.act("answer", client, stale, make)

    @rule(client=clients, stale=st.booleans())
    def undo(self, client, stale):
        can = self.model.can_undo

        def make(one, view):
            assert can or one.behind(self.events) or refused(one.undo)
            return (one.undo, None) if can else None

        self.act("undo", client, stale, make)

    @rule(client=clients, stale=st.booleans())
    def redo(self, client, stale):
        can = bool(self.model.undone)

        def make(one, view):
            assert can or one.behind(self.events) or refused(one.redo)
            return (one.redo, None) if can else None

        self.act("redo", client, stale, make)

    @rule(verb=st.sampled_from(["name", "background", "merge", "move", "not_face", "cut", "answer",
                                "who", "asked", "undo", "redo", "recluster"]),
          client=clients, stale=st.booleans(), some=some, i=which, j=which, yes=st.booleans(),
          waive=st.booleans())  # fmt: skip
    def anything(self, verb, client, stale, some, i, j, yes, waive):
        """Say something of any kind: of other rules, hypothesis leaves some out for a while."""
        who = (client, stale)
        sides = [yes, *(k % 2 == 0 for k in some), *[not yes] * 8][:9]
        match verb:
            case "name":
                self.name(*who, i, pick([*NAMES, ""], j))
            case "background":
                self.background(*who, some, yes)
            case "merge":
                self.merge(*who, some, j, waive, "Bo" if yes else None)
            case "move":
                self.move(*who, some, i if yes else None, waive)
            case "not_face":
                self.not_face(*who, some, yes)
            case "cut":
                self.cut(*who, i, 1 + j % 3, "before" if yes else "after")
            case "answer":
                self.answer(*who, i, some[:1] if yes else [], [j], waive)
            case "who":
                self.answer_who_it_is(*who, i, j, some[0], waive)
            case "asked":
                self.answer_what_is_asked(client, i, sides, waive)
            case "undo":
                self.undo(*who)
            case "redo":
                self.redo(*who)
            case "recluster":
                self.recluster(*who)

    @rule(client=clients, count=st.integers(1, 5))
    def undo_and_redo(self, client, count):
        done = 0
        while done < count and self.model.can_undo:
            self.act("undo", client, False, lambda one, view: (one.undo, None))
            done += 1
        for _ in range(done):
            self.act("redo", client, False, lambda one, view: (one.redo, None))
        assert self.model.can_undo or not done

    @rule(client=clients, stale=st.booleans())
    def recluster(self, client, stale):
        self.act("recluster", client, stale, lambda one, view: (one.recluster, Word("recluster")))

    def teardown(self) -> None:
        if not hasattr(self, "home"):
            return
        while self.sound and self.model.can_undo:
            self.act("undo", 0, False, lambda one, view: (one.undo, None))
        for client in self.clients:
            client.close()
        shutil.rmtree(self.home)


def answered(view: Seen, it: list[str], same: list[list[str]], different: list[list[str]]) -> Word:
    """Return what an answer says."""
    alike = {t for group in same for t in group}
    apart = {t for group in different for t in group}
    me = view.owner[it[0]]
    pins: list[tuple[int | None, frozenset[Moment]]] = []
    names = {}
    if alike:
        whole = {view.owner[t] for t in alike} - {view.owner[t] for t in apart} - {me}
        come = {t for n in whole for t in view.of(n)} | alike
        pins.append((me, view.moments({*view.of(me), *come} - apart)))
        called = {view.names[n] for n in (me, *whole) if view.names.get(n)}
        if called and not view.names.get(me):
            names = {me: min(called)}
    for group in different:
        if leaving := [t for t in group if view.owner[t] == me]:
            pins.append((None, view.moments(leaving)))
    pairs = tuple((view.moments(it), view.moments(group)) for group in different)
    return Word("answer", tuple(pins), names, different=pairs)


def pick(choices, i):
    return choices[i % len(choices)]


def picks(choices, numbers):
    """Return some of the choices, each once."""
    return list(dict.fromkeys(pick(choices, i) for i in numbers)) if choices else []


def refused(call) -> bool:
    try:
        call()
    except InputError:
        return True
    return False


def new_home() -> Path:
    return Path(tempfile.mkdtemp())


def run(machine: type[Talk], steps: int) -> Counter[str]:
    """Run a machine for so many steps, and return how often what was done."""
    machine.counted = Counter()
    so_many = settings(
        max_examples=max(1, steps // STEPS), stateful_step_count=STEPS, deadline=None,
        derandomize=True, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip
    run_state_machine_as_test(machine, settings=so_many)
    return machine.counted
