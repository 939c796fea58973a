"""Correcting a cast: each verb appends one event to the log, and the cast follows from it."""

from __future__ import annotations

import copy
import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, Required, TypedDict

import numpy as np
from numpy.typing import NDArray

from castlist.cast.anchors import store_anchors
from castlist.cast.answers import Answer
from castlist.cast.current import CurrentCast
from castlist.cast.events import (
    BackgroundMark,
    Cut,
    Edit,
    Event,
    FoundTrack,
    Named,
    Pinned,
    Reversed,
)
from castlist.cast.links import overlap_error, pairs_between
from castlist.cast.state import State
from castlist.errors import InputError

Rows = NDArray[np.int64]
_LONGEST_NAME = 200
#: Tracks of those left behind that stand for them when some are taken out.
_WITNESSES = 3


class AnswerArguments(TypedDict, total=False):
    """What an answer says: arguments of :meth:`Corrections.answer`."""

    one: Required[Iterable[str]]
    same: Sequence[Iterable[str]]
    different: Sequence[Iterable[str]]
    instead: Sequence[Iterable[str] | None] | None
    mixed: Sequence[Iterable[str]]


class DifferentNamesError(InputError):
    """Characters with two names were to be merged, and nobody said which to keep."""


class Corrections(CurrentCast):
    """The cast of a folder, as corrected so far, and ways to correct it.

    Every method that changes it appends one event to the log, returns it, and can be undone.
    ``after`` is the number of the last event that was seen by who asks for the change; if somebody
    else said something since, nothing happens and :class:`ConflictError` is raised.
    docs/corrections.md says what each of them covers.

    Parameters
    ----------
    folder : path
        What `castlist scan` or `castlist join` made.
    who : str, optional
        In whose name; the user's if not given.

    Examples
    --------
    >>> cast = Corrections("episode.cast")      # doctest: +SKIP
    >>> cast.name(1, "Anna")                    # doctest: +SKIP
    >>> cast.merge([1, 7])                      # doctest: +SKIP
    >>> cast.undo()                             # doctest: +SKIP
    """

    def name(self, which: int | str, name: str, *, after: int | None = None) -> Event:
        """Give a character a name; an empty one takes it away."""
        with self.lock:
            one, text = self.character(which), checked_name(name)
            pins = (self._pin(one.number, one.tracks),) if text else ()
            words = Edit(pins=pins, names=(Named(id=one.number, name=text),))
            return self.append_event("name", words, after)

    def background(
        self, which: Sequence[int | str], background: bool = True, *, after: int | None = None
    ) -> Event:
        """Mark characters as background, or as not."""
        with self.lock:
            if not which:
                raise InputError("no characters were given")
            found = {one.number: one for one in map(self.character, which)}.values()
            words = Edit(
                pins=tuple(self._pin(one.number, one.tracks) for one in found),
                background=tuple(
                    BackgroundMark(id=one.number, background=background) for one in found
                ),
            )
            return self.append_event("background", words, after)

    def merge(
        self, which: Sequence[int | str], *, name: str | None = None, waive: bool = False,
        after: int | None = None,
    ) -> Event:  # fmt: skip
        """Make characters one: the first keeps its number.

        Where they have different names, the one to keep must be given.
        """
        with self.lock:
            found = list({one.number: one for one in map(self.character, which)}.values())
            if len(found) < 2:
                raise InputError("two characters at least are needed to merge")
            names = sorted({one.name for one in found if one.name})
            if name is None and len(names) > 1:
                raise DifferentNamesError(
                    f"they are called {' and '.join(names)}: say which name to keep"
                )
            kept = name if name is not None else names[0] if names else None
            groups = [self.anchor_numbers(one.tracks) for one in found]
            words = Edit(
                pins=(Pinned(id=found[0].number, tracks=tuple(n for g in groups for n in g)),),
                names=() if kept is None else (
                    Named(id=found[0].number, name=checked_name(kept)),
                ),
                same=tuple(pairwise(groups)),
                waived=self._waived([one.tracks for one in found], waive),
            )  # fmt: skip
            return self.append_event("merge", words, after)

    def move(
        self, tracks: Iterable[str], to: int | str | None = None, *, waive: bool = False,
        after: int | None = None,
    ) -> Event:  # fmt: skip
        """Move tracks to another character, or to a new one."""
        with self.lock:
            target = self.character(to) if to is not None else None
            there = target.tracks if target else np.empty(0, np.int64)
            rows = np.setdiff1d(self.rows(tracks), there)
            if not len(rows):
                raise InputError("these tracks are there already")
            self._check_faces(rows)
            left = [one for one in self.cast.characters if np.isin(one.tracks, rows).any()]
            if target is None and len(left) == 1 and len(left[0].tracks) == len(rows):
                raise InputError("these tracks are a character of their own already")
            different = []
            for one in left:
                gone, rest = np.intersect1d(one.tracks, rows), np.setdiff1d(one.tracks, rows)
                if len(rest):
                    away = self._least_alike(rest, gone)
                    different.append((self.anchor_numbers(gone), self.anchor_numbers(away)))
            apart = [np.intersect1d(one.tracks, rows) for one in left]
            waived = self._waived([*apart, there], waive)
            new = [] if target else self._new_ids(1)
            number = target.number if target else new[0]
            words = Edit(pins=(self._pin(number, rows),), different=tuple(different), waived=waived)
            return self.append_event("move", words, after, new)

    def not_face(
        self, tracks: Iterable[str], not_face: bool = True, *, after: int | None = None
    ) -> Event:
        """Say that tracks show no face, or that they do."""
        with self.lock:
            numbers = self.anchor_numbers(self.rows(tracks))
            words = Edit(not_face=numbers) if not_face else Edit(face=numbers)
            return self.append_event("not_face", words, after)

    def answer(
        self, one: Iterable[str], same: Sequence[Iterable[str]] = (),
        different: Sequence[Iterable[str]] = (),
        instead: Sequence[Iterable[str] | None] | None = None, *,
        mixed: Sequence[Iterable[str]] = (), waive: bool = False, after: int | None = None,
    ) -> Event:  # fmt: skip
        """Answer a question: which of several others are the same person as one, and which not.

        The characters of ``same`` come to that of ``one``; tracks of ``different`` leave it.

        Parameters
        ----------
        one : track ids
            Who was asked about.
        same, different : sequences of track ids
            Those it was compared with.
        instead : sequence of track ids or None, optional
            For each of ``different``, tracks of whom it is.
        mixed : sequences of track ids
            Tracks that show several people, so that there is no answer for them.
        waive : bool
            Also if tracks share a frame.
        after : int, optional
            Number of the last event that was seen.
        """
        said = AnswerArguments(
            one=one, same=same, different=different, instead=instead, mixed=mixed
        )
        return self.answers([said], waive=waive, after=after)

    def answers(
        self, said: Sequence[AnswerArguments], *, waive: bool = False, after: int | None = None
    ) -> Event:
        """Answer several questions at once: one event, which is undone at once.

        Parameters
        ----------
        said : sequence of dict
            What each of them says: arguments of :meth:`answer`, ``one`` and others as needed. Each
            is an answer about the cast as those before it leave it.
        waive : bool
            Also if tracks share a frame.
        after : int, optional
            Number of the last event that was seen.
        """
        with self.lock:
            if not said:
                raise InputError("nobody was compared")
            state = copy.deepcopy(self.state)
            first = self._new_ids(1)[0]
            new = itertools.count(first)
            words = []
            for one in said:
                answer = self._answer(state, one)
                pieces = answer.pieces()
                waived = tuple(pair for some in pieces for pair in self._waived(some, waive))
                answer.apply(new)
                words.append(self._words(answer, waived))
            return self.append_event("answer", Edit.of(words), after, list(range(first, next(new))))

    def _answer(self, state: State, said: AnswerArguments) -> Answer:
        """Work out what an answer says on a state."""
        different = said.get("different", ())
        instead = said.get("instead")
        if instead is None:
            instead = [None] * len(different)
        if len(instead) != len(different):
            raise InputError("say of each that is different who it is instead, or None")
        answer = Answer(
            state,
            self.rows(said["one"]),
            same=[self.rows(rows) for rows in said.get("same", ())],
            different=[self.rows(rows) for rows in different],
            mixed=[self.rows(rows) for rows in said.get("mixed", ())],
            instead=[self.rows(rows) if rows else np.empty(0, np.int64) for rows in instead],
        )
        self._check_faces(answer.everybody)
        answer.check()
        return answer

    def _words(self, answer: Answer, waived: tuple[tuple[int, int], ...]) -> Edit:
        find = self.anchor_numbers
        return Edit(
            pins=tuple(self._pin(number, rows) for number, rows in answer.pins),
            names=tuple(Named(id=number, name=name) for number, name in answer.names),
            different=tuple((find(answer.one), find(rows)) for rows in answer.different),
            same=tuple((find(a), find(b)) for a, b in answer.compared),
            checked=find(answer.checked),
            mixed=tuple(find(rows) for rows in answer.mixed),
            waived=waived,
        )

    def cut(
        self, track: str, at: float, *, keep: Literal["before", "after"] = "before",
        after: int | None = None,
    ) -> Event:  # fmt: skip
        """Cut a track at a time, because two people are in it.

        Parameters
        ----------
        track : str
            Its id.
        at : float
            Seconds: the first face from then on is the first of the second part.
        keep : {"before", "after"}
            The part that stays in its character; the other becomes a new one.
        after : int, optional
            Number of the last event that was seen.
        """
        with self.lock:
            if keep not in ("before", "after"):
                raise InputError(f"the part to keep is “before” or “after”, not {keep!r}")
            row = int(self.rows([track])[0])
            self._check_faces(np.array([row]))
            at = round(float(at), 3)
            if not self.cut_tracks.place_of(row, at):
                begin, end = self.tracks.time[self.tracks.offsets[row : row + 2] - [0, 1]].tolist()
                raise InputError(
                    f"track {track!r} has its faces from {begin:.2f} to {end:.2f} s; give a time "
                    "in between, so that some are on either side"
                )
            (whole,) = self.anchor_numbers(np.array([row]))
            made = self.cut_tracks.cut(row, at)
            parts = store_anchors(
                self.log, made, [row, row + 1], self.scanned.scans, made.looks(self.whole_looks)
            )
            new = self._new_ids(1)
            stays, goes = parts if keep == "before" else parts[::-1]
            words = Edit(
                cuts=(Cut(track=whole, at=at),),
                pins=(
                    Pinned(id=int(self.state.owner[row]), tracks=(stays,)),
                    Pinned(id=new[0], tracks=(goes,)),
                ),
                different=(((stays,), (goes,)),),
            )
            return self.append_event("cut", words, after, new)

    def found(self, anchor: int, track: str, *, after: int | None = None) -> Event:
        """Say that a track is the one that an event speaks of; ``lost`` has the anchors."""
        with self.lock:
            if anchor not in {one.number for one in self.lost}:
                raise InputError(f"there is no lost track with the number {anchor}")
            (number,) = self.anchor_numbers(self.rows([track]))
            return self.append_event("found", FoundTrack(anchor=anchor, track=number), after)

    def undo(self, *, after: int | None = None) -> Event:
        """Take back the last correction that holds; return the event that was undone."""
        with self.lock:
            if not self.undoable:
                raise InputError("there is nothing to undo")
            return self._reverse("undo", self.undoable, after)

    def redo(self, *, after: int | None = None) -> Event:
        """Do again what was undone last; return the event that holds again."""
        with self.lock:
            if not self.undone:
                raise InputError("there is nothing to redo")
            return self._reverse("redo", self.undone[0], after)

    def _reverse(self, kind: str, event: Event, after: int | None) -> Event:
        self.append_event(kind, Reversed(event=event.number), after)
        return event

    def _pin(self, number: int, rows: Rows) -> Pinned:
        return Pinned(id=number, tracks=self.anchor_numbers(rows))

    def _new_ids(self, count: int) -> list[int]:
        """Return ids for new characters; they are taken with the event that makes them."""
        first = self.log.next_id(self.next_id)
        return list(range(first, first + count))

    def _check_faces(self, rows: Rows) -> None:
        """Refuse tracks that are marked as not a face."""
        faceless = rows[self.state.not_face[rows]]
        if len(faceless):
            raise InputError(
                f"{self.folder}: track {str(self.tracks.ids[faceless[0]])!r} is marked as not a "
                "face; mark it as a face first"
            )

    def _least_alike(self, rows: Rows, others: Rows) -> Rows:
        """Return the tracks that resemble some others least: surely not the same person.

        More of them may be, where a character was two people and only some tracks are taken out.
        """
        alike = self.points[rows] @ self.points[others].mean(axis=0)
        return rows[np.argsort(alike, kind="stable")[:_WITNESSES]]

    def _waived(self, groups: Sequence[Rows], waive: bool) -> tuple[tuple[int, int], ...]:
        """Return the pairs that share a frame and would now be one person, if that is waived."""
        pairs = pairs_between(list(groups), self.overlaps, self.state.waived)
        if pairs and not waive:
            raise overlap_error(self.tracks, pairs)
        return tuple((a, b) for a, b in (self.anchor_numbers(np.array(pair)) for pair in pairs))


def checked_name(name: str) -> str:
    """Return a name as it is kept: one line, no blanks around it, something to be seen."""
    typed, name = name, " ".join(unicodedata.normalize("NFC", name).split())
    if len(name) > _LONGEST_NAME:
        raise InputError(f"a name has at most {_LONGEST_NAME} letters, not {len(name)}")
    kinds = [unicodedata.category(letter) for letter in name]
    if any(kind in ("Cc", "Cs") for kind in kinds):
        raise InputError("a name is plain text, without control characters")
    if name and not any(kind[0] in "LNPS" for kind in kinds):
        raise InputError(f"a name needs a letter that can be seen, and {typed!r} has none")
    return name
