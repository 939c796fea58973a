"""Correcting a cast: what a person says goes into the log, and the cast follows from it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from castlist.cast.corrected import Corrected
from castlist.cast.log import Event
from castlist.cast.waivers import pairs_between, refusal
from castlist.errors import InputError

_LONGEST_NAME = 200
#: Tracks of those left behind that stand for them when some are taken out.
_WITNESSES = 3


class Corrections(Corrected):
    """The cast of a folder, as corrected so far, and ways to correct it.

    Every method that changes it appends one event to the log and can be undone. ``after`` is the
    number of the last event that was seen by who asks for the change; if somebody else said
    something since, nothing happens and :class:`ChangedMeanwhile` is raised.

    Parameters
    ----------
    folder : path
        What `castlist scan` made.
    who : str, optional
        In whose name; the user's if not given.

    Examples
    --------
    >>> cast = Corrections("episode.cast")      # doctest: +SKIP
    >>> cast.name(1, "Anna")                    # doctest: +SKIP
    >>> cast.merge([1, 7])                      # doctest: +SKIP
    >>> cast.undo()                             # doctest: +SKIP
    """

    def name(self, which: int | str, name: str, *, after: int | None = None) -> None:
        """Give a character a name; an empty one takes it away."""
        with self.lock:
            self.say("name", {"who": self._who(which), "name": checked_name(name)}, after)

    def background(
        self, which: Sequence[int | str], background: bool = True, *, after: int | None = None
    ) -> None:
        """Say that characters are background, or that they are not."""
        with self.lock:
            if not which:
                raise InputError("no characters were given")
            body = {"who": [self._who(one) for one in which], "background": background}
            self.say("background", body, after)

    def merge(
        self, which: Sequence[int | str], *, name: str | None = None, waive: bool = False,
        after: int | None = None,
    ) -> None:  # fmt: skip
        """Say that characters are one person: the first keeps its number.

        Where they have different names, the one to keep must be given.
        """
        with self.lock:
            found = [self.character(one) for one in which]
            if len({one.number for one in found}) < 2:
                raise InputError("two characters at least are needed to merge")
            names = sorted({one.name for one in found if one.name})
            if name is None and len(names) > 1:
                raise InputError(
                    f"they are called {' and '.join(names)}; say with --name which to keep"
                )
            body: dict[str, Any] = {"who": [self._remember(one.tracks) for one in found]}
            body["waived"] = self._waivers([one.tracks for one in found], waive)
            if name is not None or names:
                body["name"] = checked_name(name if name is not None else names[0])
            self.say("merge", body, after)

    def move(
        self, tracks: Iterable[str], to: int | str | None = None, *, waive: bool = False,
        after: int | None = None,
    ) -> None:  # fmt: skip
        """Say that tracks belong to another character, or to a new one."""
        with self.lock:
            target = self.character(to).tracks if to is not None else np.empty(0, np.int64)
            rows = np.setdiff1d(self.rows(tracks), target)
            if not len(rows):
                raise InputError("these tracks are there already")
            faceless = rows[self.state.not_face[rows]]
            if len(faceless):
                raise InputError(
                    f"{self.folder}: track {str(self.tracks.ids[faceless[0]])!r} is marked as not "
                    f"a face; `castlist undo {self.folder}` takes that back if it was said last, "
                    f"and “A face after all” on the page of `castlist review {self.folder}` at "
                    "any time"
                )
            rest = [
                np.setdiff1d(one.tracks, rows)
                for one in self.cast.characters
                if np.isin(one.tracks, rows).any() and not np.isin(one.tracks, target).any()
            ]
            if to is None and len(rest) == 1 and not len(rest[0]):
                raise InputError("these tracks are a character of their own already")
            owner = self.state.owner[rows]
            apart = [rows[owner == one] for one in np.unique(owner)]
            away = np.concatenate([self._least_alike(one, rows) for one in rest] or [rows[:0]])
            body = {
                "tracks": self._remember(rows), "to": self._remember(target),
                "away": self._remember(away), "waived": self._waivers([*apart, target], waive),
            }  # fmt: skip
            self.say("move", body, after)

    def not_face(
        self, tracks: Iterable[str], not_face: bool = True, *, after: int | None = None
    ) -> None:
        """Say that tracks show no face, or that they do."""
        with self.lock:
            body = {"tracks": self._remember(self.rows(tracks)), "not_face": not_face}
            self.say("not_face", body, after)

    def answer(
        self, one: Iterable[str], same: Sequence[Iterable[str]] = (),
        different: Sequence[Iterable[str]] = (),
        instead: Sequence[Iterable[str] | None] | None = None, *,
        waive: bool = False, after: int | None = None,
    ) -> None:  # fmt: skip
        """Answer a question: which of several others are the same person as one, and which not.

        Characters of ``same`` come to that of ``one``; tracks of ``different`` leave it.

        Parameters
        ----------
        one : track ids
            Who was asked about.
        same, different : sequences of track ids
            Those it was compared with.
        instead : sequence of track ids or None, optional
            For each of ``different``, tracks of who it is instead, if that was said.
        waive : bool
            Also if they share a frame.
        after : int, optional
            The last event that was seen.
        """
        with self.lock:
            me = self.rows(one)
            alike, others = ([self.rows(rows) for rows in said] for said in (same, different))
            if not alike and not others:
                raise InputError("nobody was compared")
            whom = [None] * len(others) if instead is None else list(instead)
            if len(whom) != len(others):
                raise InputError("who it is instead is said of each that is different, or of none")
            targets = [me[:0] if who is None else self.rows(who) for who in whom]
            everybody = np.concatenate([me, *alike, *others])
            if len(np.unique(everybody)) < len(everybody) or any(
                np.isin(rows, everybody).any() for rows in targets
            ):
                raise InputError("a track cannot be on two sides of a question")
            labels = np.where(self.state.not_face, -1, self.state.owner)
            mine = np.unique(labels[me])
            if any(np.isin(labels[rows], mine).any() for rows in targets):
                raise InputError("who it is instead cannot be the one it is not")
            for k, rows in enumerate(others):  # they leave, each for itself
                labels[rows[np.isin(labels[rows], mine)]] = -2 - k
            waived = self._joined(labels, [me, *alike], waive)
            for rows, target in zip(others, targets, strict=True):
                if len(target):
                    waived += self._joined(labels, [target, rows], waive)
            body: dict[str, Any] = {
                "one": self._remember(me),
                "same": [self._remember(rows) for rows in alike],
                "different": [self._remember(rows) for rows in others],
                "instead": [self._remember(rows) for rows in targets],
                "waived": waived,
            }
            self.say("answer", body, after)

    def undo(self, *, after: int | None = None) -> Event:
        """Take back the last action that holds."""
        with self.lock:
            if not self.live:
                raise InputError("there is nothing to undo")
            return self._take("undo", self.live[-1], after)

    def redo(self, *, after: int | None = None) -> Event:
        """Do again what was undone last."""
        with self.lock:
            if not self.undone:
                raise InputError("there is nothing to redo")
            return self._take("redo", self.undone[0], after)

    def _take(self, kind: str, event: Event, after: int | None) -> Event:
        self.say(kind, {"event": event.number}, after)
        return event

    def _who(self, which: int | str) -> list[int]:
        return self._remember(self.character(which).tracks)

    def _least_alike(self, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tracks that resemble some others least: surely not the same person.

        More of them may be, where a character was two people and only some tracks are taken out.
        """
        alike = self.points[rows] @ self.points[others].mean(axis=0)
        return rows[np.argsort(alike, kind="stable")[:_WITNESSES]]

    def _joined(
        self, labels: NDArray[np.int64], groups: list[NDArray[np.int64]], waive: bool
    ) -> list[list[int]]:
        """Check that the characters of some tracks can be one; return what is waived for it."""
        owners = [np.setdiff1d(labels[rows], [-1]) for rows in groups]
        found = {self.state.names.get(n, "") for own in owners for n in own.tolist()}
        if len(names := sorted(found - {""})) > 1:
            raise InputError(f"they are called {' and '.join(names)}: merge them instead")
        return self._waivers([np.flatnonzero(np.isin(labels, own)) for own in owners], waive)

    def _waivers(self, groups: list[NDArray[np.int64]], waive: bool) -> list[list[int]]:
        """Return the pairs that share a frame and would now be one person."""
        pairs = pairs_between(groups, self.overlaps, self.state.waived)
        if pairs and not waive:
            raise refusal(self.tracks, pairs)
        return [self._remember(np.array(pair)) for pair in pairs]


def checked_name(name: str) -> str:
    """Return a name as it is kept: one line, no blanks around it."""
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if len(name) > _LONGEST_NAME:
        raise InputError(f"a name has at most {_LONGEST_NAME} letters, not {len(name)}")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in name):
        raise InputError("a name is plain text, without control characters")
    return name
