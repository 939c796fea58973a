"""Correct a cast: each method appends one event to the log and applies it."""

from __future__ import annotations

import copy
import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, Required, TypedDict

import numpy as np
from numpy.typing import NDArray

from castlist.cast.answers import Answer
from castlist.cast.current import CurrentCast
from castlist.cast.events import (
    BackgroundMark,
    Cut,
    Edit,
    Event,
    FoundTrack,
    Named,
    NotNamed,
    Pinned,
    Reversed,
)
from castlist.cast.finder import store_anchors
from castlist.cast.links import overlap_error, pairs_between
from castlist.cast.state import State
from castlist.errors import InputError

Rows = NDArray[np.int64]
_LONGEST_NAME = 200
#: Letters and symbols that are drawn as nothing: fillers of Hangul, an empty Braille cell, and a
#: note without a head.
_BLANK = "\u115f\u1160\u3164\uffa0\u2800\U0001d159"
#: Number of remaining tracks that are recorded as different from tracks that are moved away.
_WITNESSES = 3


class AnswerArguments(TypedDict, total=False):
    """An answer to one question: arguments of :meth:`Corrections.answer`."""

    one: Required[Iterable[str]]
    same: Sequence[Iterable[str]]
    different: Sequence[Iterable[str]]
    instead: Sequence[Iterable[str] | None] | None
    mixed: Sequence[Iterable[str]]


class DifferentNamesError(InputError):
    """Characters with different names cannot be merged unless the name to keep is given."""


class Corrections(CurrentCast):
    """The cast of a folder with its corrections, and methods to correct it.

    Every method that changes the cast appends one event to the log and returns it. Each can be
    undone. ``after`` is the number of the last event that you have seen: if there are later events
    by somebody else, nothing changes and :class:`ConflictError` is raised.
    docs/user-guide/corrections.md describes what each method covers.

    The log stays open until :meth:`close`, or until the end of a ``with`` block.

    Parameters
    ----------
    folder : path
        A folder from `castlist scan` or `castlist join`.
    who : str, optional
        The author of new events; the current user if not given.

    Examples
    --------
    >>> with Corrections("episode.cast") as cast:   # doctest: +SKIP
    ...     cast.name(1, "Anna")
    ...     cast.merge([1, 7])
    ...     cast.undo()
    """

    def name(self, which: int | str, name: str, *, after: int | None = None) -> Event:
        """Name a character; an empty name removes its name."""
        with self.lock:
            one, text = self.character(which), checked_name(name)
            pins = (self._pin(one.number, one.tracks),) if text else ()
            edit = Edit(pins=pins, names=(Named(id=one.number, name=text),))
            return self.append_event("name", edit, after)

    def not_named(self, which: int | str, name: str, *, after: int | None = None) -> Event:
        """Record that a character is not the person of a name, so that it is not asked again."""
        with self.lock:
            one, text = self.character(which), checked_name(name)
            if not text:
                raise InputError("no name given")
            said = NotNamed(id=one.number, name=text, tracks=self.anchor_numbers(one.tracks))
            return self.append_event("answer", Edit(not_named=(said,)), after)

    def background(
        self, which: Sequence[int | str], background: bool = True, *, after: int | None = None
    ) -> Event:
        """Mark characters as background, or as not background."""
        with self.lock:
            if not which:
                raise InputError("no characters given")
            found = {one.number: one for one in map(self.character, which)}.values()
            edit = Edit(
                pins=tuple(self._pin(one.number, one.tracks) for one in found),
                background=tuple(
                    BackgroundMark(id=one.number, background=background) for one in found
                ),
            )
            return self.append_event("background", edit, after)

    def merge(
        self, which: Sequence[int | str], *, name: str | None = None, waive: bool = False,
        after: int | None = None,
    ) -> Event:  # fmt: skip
        """Merge characters into the first one, which keeps its number.

        If they have different names, give the name to keep. If some of their tracks share a frame,
        :class:`OverlappingTracksError` is raised unless ``waive`` is true.
        """
        with self.lock:
            found = list({one.number: one for one in map(self.character, which)}.values())
            if len(found) < 2:
                raise InputError("merging needs at least two characters")
            names = sorted({one.name for one in found if one.name})
            if name is None and len(names) > 1:
                raise DifferentNamesError(
                    f"they have different names, {' and '.join(names)}: give the name to keep"
                )
            kept = name if name is not None else names[0] if names else None
            groups = [self.anchor_numbers(one.tracks) for one in found]
            edit = Edit(
                pins=(Pinned(id=found[0].number, tracks=tuple(n for g in groups for n in g)),),
                names=() if kept is None else (
                    Named(id=found[0].number, name=checked_name(kept)),
                ),
                same=tuple(pairwise(groups)),
                waived=self._waived([one.tracks for one in found], waive),
            )  # fmt: skip
            return self.append_event("merge", edit, after)

    def move(
        self, tracks: Iterable[str], to: int | str | None = None, *, waive: bool = False,
        after: int | None = None,
    ) -> Event:  # fmt: skip
        """Move tracks to another character, or to a new one."""
        with self.lock:
            target = self.character(to) if to is not None else None
            there = target.tracks if target else np.empty(0, np.int64)
            listed = self.rows(tracks)
            rows = np.setdiff1d(listed, there)
            if not len(rows):
                raise InputError("these tracks are already in that character")
            self._check_faces(rows)
            left = [one for one in self.cast.characters if np.isin(one.tracks, rows).any()]
            if target is None and len(left) == 1 and len(left[0].tracks) == len(rows):
                raise InputError("these tracks are already a character of their own")
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
            # Those that are there already as well: they were listed, and are to stay.
            pin = self._pin(number, listed)
            edit = Edit(pins=(pin,), different=tuple(different), waived=waived)
            return self.append_event("move", edit, after, new)

    def not_face(
        self, tracks: Iterable[str], not_face: bool = True, *, after: int | None = None
    ) -> Event:
        """Mark tracks as not a face, or as a face."""
        with self.lock:
            numbers = self.anchor_numbers(self.rows(tracks))
            edit = Edit(not_face=numbers) if not_face else Edit(face=numbers)
            return self.append_event("not_face", edit, after)

    def answer(
        self, one: Iterable[str], same: Sequence[Iterable[str]] = (),
        different: Sequence[Iterable[str]] = (),
        instead: Sequence[Iterable[str] | None] | None = None, *,
        mixed: Sequence[Iterable[str]] = (), waive: bool = False, after: int | None = None,
    ) -> Event:  # fmt: skip
        """Answer a question: which groups of tracks show the same person as one group.

        The characters of ``same`` are merged into that of ``one``; tracks of ``different`` leave
        it.

        Parameters
        ----------
        one : track ids
            The group that the question is about.
        same, different : sequences of track ids
            The groups it was compared with.
        instead : sequence of track ids or None, optional
            For each group of ``different``, tracks of the character that it belongs to. They are
            pinned there like the group; other tracks of that character are not.
        mixed : sequences of track ids
            Groups that show several people, so that there is no answer for them.
        waive : bool
            Allow tracks that share a frame to be one person.
        after : int, optional
            Number of the last event that you have seen.
        """
        arguments = AnswerArguments(
            one=one, same=same, different=different, instead=instead, mixed=mixed
        )
        return self.answers([arguments], waive=waive, after=after)

    def answers(
        self, answers: Sequence[AnswerArguments], *, waive: bool = False, after: int | None = None
    ) -> Event:
        """Answer several questions in one event, which is undone as a whole.

        Parameters
        ----------
        answers : sequence of dict
            Arguments of :meth:`answer`, ``one`` and others as needed. Each applies to
            the cast as changed by those before it.
        waive : bool
            Allow tracks that share a frame to be one person.
        after : int, optional
            Number of the last event that you have seen.
        """
        with self.lock:
            if not answers:
                raise InputError("the answer compares no tracks")
            state = copy.deepcopy(self.state)
            first = self._new_ids(1)[0]
            new = itertools.count(first)
            edits = []
            for one in answers:
                answer = self._answer(state, one)
                pieces = answer.pieces()
                waived = tuple(pair for some in pieces for pair in self._waived(some, waive))
                answer.apply(new)
                edits.append(self._edit(answer, waived))
            return self.append_event("answer", Edit.of(edits), after, list(range(first, next(new))))

    def _answer(self, state: State, arguments: AnswerArguments) -> Answer:
        """Return an answer with its consequences for a state."""
        different = arguments.get("different", ())
        instead = arguments.get("instead")
        if instead is None:
            instead = [None] * len(different)
        if len(instead) != len(different):
            raise InputError(
                "`instead` needs one entry per group of `different`: track ids or None"
            )
        answer = Answer(
            state,
            self.rows(arguments["one"]),
            same=[self.rows(rows) for rows in arguments.get("same", ())],
            different=[self.rows(rows) for rows in different],
            mixed=[self.rows(rows) for rows in arguments.get("mixed", ())],
            instead=[self.rows(rows) if rows else np.empty(0, np.int64) for rows in instead],
        )
        self._check_faces(answer.all_tracks)
        answer.check()
        return answer

    def _edit(self, answer: Answer, waived: tuple[tuple[int, int], ...]) -> Edit:
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
        """Cut a track that shows two people into two tracks.

        Parameters
        ----------
        track : str
            Its id.
        at : float
            Seconds. The first face at or after this time is the first of the second part.
        keep : {"before", "after"}
            The part that stays in its character; the other becomes a new character.
        after : int, optional
            Number of the last event that you have seen.
        """
        with self.lock:
            if keep not in ("before", "after"):
                raise InputError(f"keep must be “before” or “after”, not {keep!r}")
            row = int(self.rows([track])[0])
            self._check_faces(np.array([row]))
            at = round(float(at), 3)
            if not self.cut_tracks.place_of(row, at):
                begin, end = self.tracks.time[self.tracks.offsets[row : row + 2] - [0, 1]].tolist()
                raise InputError(
                    f"track {track!r} has faces from {begin:.2f} to {end:.2f} s; give a time in "
                    "between, so that both parts have some"
                )
            (whole,) = self.anchor_numbers(np.array([row]))
            made = self.cut_tracks.cut(row, at)
            parts = store_anchors(
                self.log,
                made,
                [row, row + 1],
                self.scanned,
                made.mean_features(self.whole_features),
            )
            new = self._new_ids(1)
            stays, goes = parts if keep == "before" else parts[::-1]
            edit = Edit(
                cuts=(Cut(track=whole, at=at),),
                pins=(
                    Pinned(id=int(self.state.owner[row]), tracks=(stays,)),
                    Pinned(id=new[0], tracks=(goes,)),
                ),
                different=(((stays,), (goes,)),),
            )
            return self.append_event("cut", edit, after, new)

    def found(self, anchor: int, track: str, *, after: int | None = None) -> Event:
        """Identify a track as one that an event refers to; ``lost`` lists the anchors."""
        with self.lock:
            if anchor not in {one.number for one in self.lost}:
                raise InputError(f"no lost track has the number {anchor}")
            (number,) = self.anchor_numbers(self.rows([track]))
            return self.append_event("found", FoundTrack(anchor=anchor, track=number), after)

    def undo(self, *, after: int | None = None) -> Event:
        """Undo the last correction in effect; return the event that was undone."""
        with self.lock:
            if not self.undoable:
                raise InputError("nothing to undo")
            return self._reverse("undo", self.undoable, after)

    def redo(self, *, after: int | None = None) -> Event:
        """Redo the event that was undone last; return it."""
        with self.lock:
            if not self.undone:
                raise InputError("nothing to redo")
            return self._reverse("redo", self.undone[0], after)

    def _reverse(self, kind: str, event: Event, after: int | None) -> Event:
        self.append_event(kind, Reversed(event=event.number), after)
        return event

    def _pin(self, number: int, rows: Rows) -> Pinned:
        return Pinned(id=number, tracks=self.anchor_numbers(rows))

    def _new_ids(self, count: int) -> list[int]:
        """Return ids for new characters; the event that creates them takes them."""
        first = self.log.next_id(self.next_id)
        return list(range(first, first + count))

    def _check_faces(self, rows: Rows) -> None:
        """Raise InputError if tracks are marked as not a face."""
        faceless = rows[self.state.not_face[rows]]
        if len(faceless):
            raise InputError(
                f"{self.folder}: track {str(self.tracks.ids[faceless[0]])!r} is marked as not a "
                "face; mark it as a face first"
            )

    def _least_alike(self, rows: Rows, others: Rows) -> Rows:
        """Return the tracks that are least similar to others: certainly another person.

        The rest may show the same person, if a character was two people and only some of the
        tracks of one are moved away.
        """
        alike = self.points[rows] @ self.points[others].mean(axis=0)
        return rows[np.argsort(alike, kind="stable")[:_WITNESSES]]

    def _waived(self, groups: Sequence[Rows], waive: bool) -> tuple[tuple[int, int], ...]:
        """Return the pairs that share a frame and would become one person, if that is waived."""
        pairs = pairs_between(list(groups), self.overlaps, self.state.waived)
        if pairs and not waive:
            raise overlap_error(self.tracks, pairs)
        return tuple((a, b) for a, b in (self.anchor_numbers(np.array(pair)) for pair in pairs))


def checked_name(name: str) -> str:
    """Return a name as it is stored: one line, stripped; it is empty or has a visible character.

    Only an empty name is no name: of one that looks empty nobody knows what was meant.
    """
    typed, name = name, " ".join(unicodedata.normalize("NFC", name).split())
    if len(name) > _LONGEST_NAME:
        raise InputError(f"a name has at most {_LONGEST_NAME} characters, not {len(name)}")
    kinds = [(letter, unicodedata.category(letter)) for letter in name]
    if any(kind in ("Cc", "Cs") for _, kind in kinds):
        raise InputError("a name cannot contain control characters")
    if typed and not any(kind[0] in "LNPS" and letter not in _BLANK for letter, kind in kinds):
        raise InputError(f"a name needs a visible character, and {typed!r} has none")
    return name
