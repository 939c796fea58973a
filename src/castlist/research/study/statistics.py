"""Statistics of labelled tracks: rows 1 to 6 of the paper's test table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from castlist.errors import InputError
from castlist.io.authors import series_of
from castlist.tracks import TrackSet


@dataclass(frozen=True)
class Statistics:
    """Number of characters and tracks of one set: all, named, and background ("unknown")."""

    name: str
    n_characters: int
    n_named: int
    n_background: int
    n_tracks: int
    n_named_tracks: int
    n_background_tracks: int

    #: Row labels in the paper.
    ROWS = ("#Ch", "#Named Ch", "#Unk Ch", "#T", "#Named T", "#Unk T")

    def values(self) -> tuple[int, ...]:
        """Return the six numbers in the paper's order."""
        return (
            self.n_characters,
            self.n_named,
            self.n_background,
            self.n_tracks,
            self.n_named_tracks,
            self.n_background_tracks,
        )


def statistics(tracks: TrackSet, name: str = "") -> Statistics:
    """Return the numbers of characters and tracks of a set; unlabelled tracks do not count."""
    tracks = tracks[tracks.labelled]
    if not len(tracks):
        of = f" of {name}" if name else ""
        raise InputError(f"no track{of} has an identity; statistics need labels")
    background = tracks.background
    return Statistics(
        name=name,
        n_characters=len(np.unique(tracks.identity)),
        n_named=len(np.unique(tracks.identity[~background])),
        n_background=len(np.unique(tracks.identity[background])),
        n_tracks=len(tracks),
        n_named_tracks=int((~background).sum()),
        n_background_tracks=int(background.sum()),
    )


def statistics_table(tracks: TrackSet) -> list[Statistics]:
    """Return the statistics of each video, of each series with several videos, and of all."""
    columns = [statistics(tracks[tracks.video == i], name) for i, name in enumerate(tracks.videos)]
    series = [series_of(name) for name in tracks.videos]
    for one in dict.fromkeys(name for name in series if name):
        videos = [i for i, name in enumerate(series) if name == one]
        if 1 < len(videos) < len(series):
            chosen = tracks[np.isin(tracks.video, videos)]
            columns.append(statistics(chosen, f"{one} ({len(videos)})"))
    if len(tracks.videos) > 1:
        columns.append(statistics(tracks, f"all ({len(tracks.videos)})"))
    return columns


def tracks_per_identity(tracks: TrackSet) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the number of tracks per identity, in descending order, and which are background."""
    tracks = tracks[tracks.labelled]
    _, first, counts = np.unique(tracks.identity, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return counts[order], tracks.background[first][order]
