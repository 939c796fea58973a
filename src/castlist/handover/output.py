"""Write reels and graphs to files: what the command line and the review page share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from castlist.cast.current import CurrentCast
from castlist.errors import InputError
from castlist.export.timeline import one_line, timelines
from castlist.handover.edit_list import EDIT_LISTS, cuts_of
from castlist.handover.graph import CastGraph, cast_graph, graphml_lines, svg_lines
from castlist.handover.reel import clips_of, write_reel
from castlist.handover.scenes import Mode, Scene, SceneSettings, find_scenes
from castlist.io.files import write_lines
from castlist.io.output_guard import check_file
from castlist.progress import Progress, silent

GRAPHS = {".graphml": graphml_lines, ".svg": svg_lines}


def write_reel_of(
    cast: CurrentCast, people: Sequence[int | str], out: Path, *,
    without: Sequence[int | str] = (), settings: SceneSettings | None = None,
    to: str | None = None, exact: bool = False, progress: Progress = silent,
) -> tuple[list[Scene], float]:  # fmt: skip
    """Write the scenes of people as a film, or as clips for an editor.

    Parameters
    ----------
    cast : Corrections
        The cast of a folder.
    people, without : sequences of int or str
        Characters who must all be seen, and those who must not.
    out : Path
        The file.
    settings : SceneSettings, optional
        How scenes are made of appearances.
    to : str, optional
        A key of ``EDIT_LISTS``; a film if not given.
    exact : bool
        For a film: encode again, so that scenes begin and end at their own frames.
    progress : callable
        Called with the stage, the number of scenes done and the total.

    Returns
    -------
    scenes : list of Scene
        The scenes.
    seconds : float
        The length of the film, or of all scenes.
    """
    scenes = find_scenes(cast, people, Mode.TOGETHER, without=without, settings=settings)
    titles = [cast.character(one).title for one in people]
    if not scenes:
        raise InputError(f"{' and '.join(titles)}: no scene was found")
    if to is None:
        return scenes, write_reel(clips_of(cast, scenes), out, exact=exact, progress=progress)
    suffix, write = EDIT_LISTS[to]
    check_file(out, suffix)
    cuts, rate = cuts_of(timelines(cast), scenes)
    write_lines(out, write(cuts, rate, one_line(" and ".join(titles))))
    return scenes, sum(one.seconds for one in scenes)


def seconds_before(scenes: Sequence[Scene], seconds: float) -> float:
    """Return how much of a film is not in its scenes, as it was copied from key frames before."""
    return max(0.0, seconds - sum(one.seconds for one in scenes))


def write_graph(cast: CurrentCast, out: Path, gap: float = 0.0) -> CastGraph:
    """Write who is seen with whom as GraphML or SVG, by the suffix of the file; return it."""
    suffix = out.suffix.lower()
    if suffix not in GRAPHS:
        raise InputError(f"{out}: write a graph as {' or '.join(GRAPHS)}")
    check_file(out, suffix)
    found = cast_graph(cast, gap)
    write_lines(out, GRAPHS[suffix](found))
    return found
