"""Random actions with crashes in between: 500, and 10,000 with ``-m slow``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from castlist import InputError
from castlist.cast.corrections import Corrections
from castlist.cast.recluster import accept, propose
from datasets.synthetic_casts import made_video, write_folder
from tests.cast.test_corrections import shape

STEPS = 250
TRACKS = made_video(people=5, each=4)
IDS = [str(name) for name in TRACKS.ids]
some_tracks = st.lists(st.sampled_from(IDS), min_size=1, max_size=5, unique=True)
character = st.integers(0, 30)


class Reviewer(RuleBasedStateMachine):
    """Corrects a cast at random beside another client, with power cuts in between."""

    @initialize()
    def begin(self):
        self.home = Path(tempfile.mkdtemp())
        self.folder = write_folder(self.home / "0.cast", TRACKS)
        self.cast = Corrections(self.folder)
        self.first = shape(self.cast)

    def which(self, i):
        return self.cast.cast.characters[i % len(self.cast.cast.characters)].number

    def attempt(self, action):
        """Run an action; if it is refused, nothing may have changed."""
        if not self.cast.cast.characters:
            self.cast.undo()
        before, last = shape(self.cast), self.cast.last
        try:
            action()
        except InputError:
            assert shape(self.cast) == before
            assert self.cast.last == last
        else:
            assert self.cast.last == last + 1

    @rule(i=character, name=st.sampled_from(["Anna", "Bo", "Çe", ""]))
    def name(self, i, name):
        self.attempt(lambda: self.cast.name(self.which(i), name))

    @rule(i=character, j=character, waive=st.booleans(), name=st.sampled_from([None, "Bo"]))
    def merge(self, i, j, waive, name):
        self.attempt(
            lambda: self.cast.merge([self.which(i), self.which(j)], name=name, waive=waive)
        )

    @rule(tracks=some_tracks, to=st.one_of(st.none(), character), waive=st.booleans())
    def move(self, tracks, to, waive):
        self.attempt(
            lambda: self.cast.move(tracks, None if to is None else self.which(to), waive=waive)
        )

    @rule(tracks=some_tracks, yes=st.booleans())
    def not_face(self, tracks, yes):
        self.attempt(lambda: self.cast.not_face(tracks, yes))

    @rule(i=character, yes=st.booleans())
    def background(self, i, yes):
        self.attempt(lambda: self.cast.background([self.which(i)], yes))

    @rule(one=some_tracks, others=st.lists(some_tracks, max_size=4), same=st.integers(0, 4),
          waive=st.booleans())  # fmt: skip
    def answer(self, one, others, same, waive):
        self.attempt(lambda: self.cast.answer(one, others[:same], others[same:], waive=waive))

    @rule()
    def undo(self):
        self.attempt(self.cast.undo)

    @rule()
    def redo(self):
        self.attempt(self.cast.redo)

    @rule()
    def recluster(self):
        proposal = propose(self.cast)
        self.attempt(lambda: accept(self.cast, proposal))

    @rule()
    def crash(self):
        """Continue from the files on disk, as after a power cut."""
        saved = self.folder.with_name(f"{int(self.folder.stem) + 1}.cast")
        shutil.copytree(self.folder, saved)
        after = Corrections(saved)
        assert shape(after) == shape(self.cast)
        self.folder, self.cast = saved, after

    def teardown(self):
        if not hasattr(self, "home"):
            return
        assert shape(Corrections(self.folder)) == shape(self.cast)
        while self.cast.live:
            self.cast.undo()
        assert shape(self.cast) == self.first
        shutil.rmtree(self.home)


class PatientReviewer(Reviewer):
    """The same, for longer."""


def so_many(examples):
    return settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


Reviewer.TestCase.settings = so_many(2)
PatientReviewer.TestCase.settings = so_many(40)
TestReviewer = Reviewer.TestCase
TestPatientReviewer = pytest.mark.slow(PatientReviewer.TestCase)
