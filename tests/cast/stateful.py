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
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from castlist import InputError
from castlist.cast.corrections import Corrections
from castlist.cast.log import ConflictError
from castlist.cast.photo_matches import PhotoMatch, accept_match, open_matches, photo_matches
from castlist.cast.photos import PhotoPerson, Photos, load_photos, save_photos
from castlist.cast.questions import questions
from castlist.cast.recluster import accept, propose
from tests.cast.model import Model, Moment, Seen, Word
from tests.cast.scenes import cut_time, moments_of
from tests.cast.words import (
    answering,
    cutting,
    finding,
    marking,
    merging,
    moving,
    naming,
    not_a_face,
    not_naming,
)

STEPS = 50  # of an example
PHASES = [Phase.generate, Phase.shrink]
NAMES = ["Anna", "Bo", "Çelik", "1", "2"]


def give_photos(folder: Path) -> None:
    """Put photos of three people beside a cast, as `castlist name --from` does."""
    looks = np.eye(128, dtype=np.float32)
    people = (PhotoPerson(name, looks[k], b"", 1) for k, name in enumerate(NAMES[:3]))
    save_photos(folder, Photos("SFace", tuple(people)))


_MATCHES: dict[tuple[bool, bytes, bytes], list[PhotoMatch]] = {}


def matches(cast: Corrections) -> list[PhotoMatch]:
    """Return who looks like the photos; the same faces in the same characters only once."""
    photos = load_photos(cast.folder)
    known = bool(photos), cast.mean_features.tobytes(), cast.state.labels.tobytes()
    if known not in _MATCHES:
        _MATCHES[known] = photo_matches(cast, photos) if photos else []
    return _MATCHES[known]


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

    def of(rows) -> frozenset[str]:
        return frozenset(ids[row] for row in rows)

    alike = matches(cast)
    return Seen(
        {name: moments_of(cast.tracks, row) for row, name in enumerate(ids)},
        dict(zip(ids, cast.keys(), strict=True)), owner,
        dict(zip(ids, state.base.tolist(), strict=True)),
        dict(zip(ids, state.pin.tolist(), strict=True)), not_face,
        {id: name for id, name in state.names.items() if name}, dict(state.background),
        frozenset(
            of((i, j)) for a, b in state.different_pairs() for i in a.tolist() for j in b.tolist()
        ),
        frozenset(map(of, state.waived)),
        frozenset(of(rows.tolist()) for rows in state.mixed),
        frozenset((name, of(rows.tolist())) for name, rows in state.not_named if len(rows)),
        {one.number: f"{one.anchor.scan} {one.anchor.track}" for one in cast.lost},
        frozenset((one.character, one.name) for one in alike),
        frozenset((one.character, one.name) for one in open_matches(cast, alike)),
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

    def called(self, name: str) -> list[int]:
        """Return the characters of a name, in the order in which they are listed."""
        return [one.number for one in self.cast.cast.characters if one.name == name]

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

    def is_in_photo(self, number: int, name: str) -> None:
        accept_match(self.cast, PhotoMatch(0, name, number, 1.0))

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
few = st.lists(st.integers(0, 50), max_size=2)


class Talk(RuleBasedStateMachine):
    """Says things in the name of two people; a subclass makes the cast and the clients."""

    counted: ClassVar[Counter[str]] = Counter()
    splits = True  # whether clustering again takes characters apart

    def begin(self, home: Path) -> None:
        self.home = home
        self.model = Model()
        self.clients: list[PythonClient] = []
        self.sound = False  # between two steps, if nothing was found wrong
        self.clock = 0

    def opened(self, folder: Path) -> None:
        self.folder = folder
        self.events = 0
        give_photos(folder)
        self.now = self.fresh()
        self.clients = self.client_pair(folder)

    def client_pair(self, folder: Path) -> list[PythonClient]:
        return [PythonClient(folder, who) for who in ("Eva", "Ida")]

    def fresh(self) -> Seen:
        """Return the cast as a new process would read it."""
        with Corrections(self.folder) as cast:
            self.events = cast.last
            return seen(cast)

    def tick(self) -> int:
        """Return the time: a number that grows whenever something is said."""
        self.clock += 1
        return self.clock

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
            self.model.say(replace(word, number=self.events, when=self.tick()))
            self.model.check_ids(before, self.now)
            if kind == "recluster":
                self.model.check_machine(before, self.now, self.splits)
            else:
                self.model.check_person(before, self.now)
        self.settle()
        one.look(self.now, self.model)

    def by_machine(self, before: Seen, splits: bool) -> None:
        """See what a scan or one more video made of the cast."""
        self.model.check_machine(before, self.now, splits)
        self.settle()

    # The verbs

    @rule(client=clients, stale=st.booleans(), i=which, name=st.sampled_from([*NAMES, ""]))
    def name(self, client, stale, i, name):
        def make(one, view):
            if not view.faces:
                return None
            number = pick(view.shown, i)
            return lambda: one.name(number, name), naming(view, number, name)

        self.act("name", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=which, name=st.sampled_from(NAMES))
    def not_named(self, client, stale, i, name):
        def make(one, view):
            if not view.faces:
                return None
            number = pick(view.shown, i)
            return lambda: one.not_named(number, name), not_naming(view, number, name)

        self.act("not_named", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=which, yes=st.booleans())
    def answer_a_photo(self, client, stale, i, yes):
        """Say whether a character is the person in a photo, as it is asked."""

        def make(one, view):
            if not view.asked:
                return None
            number, name = pick(sorted(view.asked), i)
            if not yes:
                return lambda: one.not_named(number, name), not_naming(view, number, name)
            called = one.called(name)
            word = (merging(view, [called[0], number], name, False) if called
                    else naming(view, number, name))  # fmt: skip
            return lambda: one.is_in_photo(number, name), word

        self.act("photo", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some, yes=st.booleans())
    def background(self, client, stale, i, yes):
        def make(one, view):
            if not view.faces:
                return None
            numbers = picks(view.shown, i)
            return lambda: one.background(numbers, yes), marking(view, numbers, yes)

        self.act("background", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some, j=which, waive=st.booleans(),
          name=st.sampled_from([None, "Bo"]))  # fmt: skip
    def merge(self, client, stale, i, j, waive, name):
        def make(one, view):
            if not view.faces:
                return None
            numbers = picks(view.shown, [j, *i])
            word = merging(view, numbers, name, waive)
            return lambda: one.merge(numbers, name=name, waive=waive), word

        self.act("merge", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some, to=st.none() | which, waive=st.booleans())
    def move(self, client, stale, i, to, waive):
        def make(one, view):
            if not view.faces:
                return None
            tracks = picks(view.faces, i)
            target = None if to is None else pick(view.shown, to)
            word = moving(view, tracks, target, waive)
            return lambda: one.move(tracks, target, waive=waive), word

        self.act("move", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some, yes=st.booleans())
    def not_face(self, client, stale, i, yes):
        def make(one, view):
            tracks = picks(sorted(view.tracks) if yes else sorted(view.not_face), i)
            if not tracks or len(tracks) == len(view.faces):
                return None
            return lambda: one.not_face(tracks, yes), not_a_face(view, tracks, yes)

        self.act("not_face", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=which, tenth=st.integers(1, 9),
          keep=st.sampled_from(["before", "after"]))  # fmt: skip
    def cut(self, client, stale, i, tenth, keep):
        def make(one, view):
            if not view.faces:
                return None
            track = pick(view.faces, i)
            video, face, _ = min(view.tracks[track])
            at: Moment = (video, face, tenth)
            word = cutting(view, track, at, keep)
            return lambda: one.cut(track, cut_time(at), keep=keep), word

        self.act("cut", client, stale, make)

    @rule(client=clients, stale=st.booleans(), asked=which, same=few, different=few, instead=few,
          mixed=few, waive=st.booleans())  # fmt: skip
    def answer(self, client, stale, asked, same, different, instead, mixed, waive):
        def make(one, view):
            if not view.faces:
                return None
            it = [pick(view.faces, asked)]
            groups = [[[t] for t in picks(view.faces, some)] for some in (same, different, mixed)]
            homes = [[pick(view.faces, k)] for k in instead][: len(groups[1])]
            said = groups[0], groups[1], [*homes, *[None] * (len(groups[1]) - len(homes))]
            word = answering(view, it, *said, groups[2], waive)
            return lambda: one.answer(it, *said, mixed=groups[2], waive=waive), word

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
            word = answering(view, it, same, different, waive=waive)
            return lambda: one.answer(it, same, different, waive=waive), word

        self.act("answer", client, False, make)

    @rule(client=clients, stale=st.booleans(), asked=which, other=some, instead=some,
          waive=st.booleans())  # fmt: skip
    def answer_who_it_is(self, client, stale, asked, other, instead, waive):
        """Some tracks are not the character they are in, but another one."""

        def make(one, view):
            if not view.faces:
                return None
            it = pick(view.faces, asked)
            me = view.owner[it]
            beside = [t for t in view.of(me) if t != it]
            others = [t for t in view.faces if view.owner[t] != me]
            if not beside or not others:
                return None
            moved = picks(beside, other)
            home = picks(view.of(view.owner[pick(others, instead[0])]), instead)
            word = answering(view, [it], [], [moved], [home], waive=waive)
            return lambda: one.answer([it], [], [moved], [home], waive=waive), word

        self.act("instead", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=some)
    def answer_mixed(self, client, stale, i):
        def make(one, view):
            if not view.faces:
                return None
            asked, *others = picks(view.faces, i)
            if not others:
                return None
            word = answering(view, [asked], mixed=[others])
            return lambda: one.answer([asked], mixed=[others]), word

        self.act("mixed", client, stale, make)

    @rule(client=clients, stale=st.booleans(), i=which, j=which)
    def found(self, client, stale, i, j):
        def make(one, view):
            if not view.lost:
                return None
            number, track = pick(sorted(view.lost), i), pick(sorted(view.tracks), j)
            key = view.lost[number]
            word = finding(view, (key, self.model.tracks.get(key, frozenset())), track)
            return lambda: one.found(number, track), word

        self.act("found", client, stale, make)

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

    @rule(verb=st.sampled_from(["name", "not_named", "photo", "background", "merge", "move",
                                "not_face", "cut", "answer", "who", "asked", "mixed", "found",
                                "undo", "redo", "recluster"]),
          client=clients, stale=st.booleans(), some=some, i=which, j=which, yes=st.booleans(),
          waive=st.booleans())  # fmt: skip
    def anything(self, verb, client, stale, some, i, j, yes, waive):
        """Say something of any kind: of other rules, hypothesis leaves some out for a while."""
        who = (client, stale)
        sides = [yes, *(k % 2 == 0 for k in some), *[not yes] * 8][:9]
        match verb:
            case "name":
                self.name(*who, i, pick([*NAMES, ""], j))
            case "not_named":
                self.not_named(*who, i, pick(NAMES, j))
            case "photo":
                self.answer_a_photo(*who, i, yes)
            case "background":
                self.background(*who, some, yes)
            case "merge":
                self.merge(*who, some, j, waive, "Bo" if yes else None)
            case "move":
                self.move(*who, some, i if yes else None, waive)
            case "not_face":
                self.not_face(*who, some, yes)
            case "cut":
                self.cut(*who, i, 1 + j % 9, "before" if yes else "after")
            case "answer":
                self.answer(*who, i, some[:1] if yes else [], [j], some[1:2], some[2:3], waive)
            case "who":
                self.answer_who_it_is(*who, i, [j], some, waive)
            case "asked":
                self.answer_what_is_asked(client, i, sides, waive)
            case "mixed":
                self.answer_mixed(*who, some)
            case "found":
                self.found(*who, i, j)
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


def run(machine: type[Talk], steps: int, number: int | None = None) -> Counter[str]:
    """Run a machine for so many steps, and return how often what was done.

    The same seed draws the same steps; without one, they depend on the machine.
    """
    machine.counted = Counter()
    _MATCHES.clear()
    so_many = settings(
        max_examples=max(1, steps // STEPS), stateful_step_count=STEPS, deadline=None,
        derandomize=number is None, database=None, suppress_health_check=list(HealthCheck),
        phases=PHASES, report_multiple_bugs=False,
    )  # fmt: skip
    drawn = machine if number is None else seed(number)(machine)
    run_state_machine_as_test(drawn, settings=so_many)
    return machine.counted
