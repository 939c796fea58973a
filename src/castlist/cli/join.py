"""``castlist join``, ``castlist add`` and ``castlist remove``: casts of several videos."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from castlist.cli.common import OnRay, RayAddress, ScanModel, print_cast, progress, say, waiting
from castlist.errors import CastlistError, InputError
from castlist.io.files import printable

if TYPE_CHECKING:
    from castlist.cast.matching import NameConflict


JoinedFolder = Annotated[
    Path,
    typer.Argument(help="Joined cast folder, as made by `castlist join`.", show_default=False),
]


def join(
    casts: Annotated[
        list[Path],
        typer.Argument(help="Cast folders, as made by `castlist scan`.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the joined cast.")],
    model: ScanModel = None,
    ray: OnRay = False,
    ray_address: RayAddress = None,
) -> None:
    """Join the casts of several videos into one.

    Names and corrections are carried over. If two characters look alike and have different names,
    they stay two characters, and a message says so. With `--ray`, a large catalogue is joined on a
    Ray cluster, with the same result.

    Example: `castlist join s01e01.cast s01e02.cast -o season1.cast`
    """
    from castlist.cast.series import join as join_casts
    from castlist.cluster.linkage import complete_linkage, ray_linkage

    on_ray = ray or ray_address is not None
    link = partial(ray_linkage, address=ray_address) if on_ray else complete_linkage
    with _reported(out), waiting("joining"), redirect_stdout(sys.stderr):  # Ray's messages
        conflicts = join_casts(casts, out, link=link, model=model)
    _show(out, conflicts)


def add(
    cast: JoinedFolder,
    video: Annotated[
        Path, typer.Argument(help="Video file, or a cast folder made by `castlist scan`.",
                             show_default=False),
    ],
    model: ScanModel = None,
    describer: Annotated[
        str | None,
        typer.Option(help="The describer of the scan, if it was given a file.", show_default=False),
    ] = None,
    tracks: Annotated[
        Path | None,
        typer.Option(help="The tracks of the scan, if it was given a file.", show_default=False),
    ] = None,
) -> None:  # fmt: skip
    """Add a video to a joined cast. Existing characters stay as they are.

    A video file is scanned first, into a cast folder beside it, with the settings of its last scan
    if there was one.

    Example: `castlist add season1.cast s01e07.mp4`
    """
    from castlist.cast.series import add as add_cast

    folder = video
    if not video.is_dir():
        from castlist.pipeline.catalogue import scan_to_add

        with progress() as report:
            folder = scan_to_add(
                cast, video, describer=describer, model=model, tracks=tracks, progress=report
            )
    elif describer or model or tracks:
        raise InputError("--describer, --model and --tracks are for a video file, not for a cast")
    with _reported(cast), waiting("adding"):
        conflicts, new = add_cast(cast, folder)
    _show(cast, conflicts)
    say(f"{new} of them {'is' if new == 1 else 'are'} new")


def remove(
    cast: JoinedFolder,
    video: Annotated[
        str, typer.Argument(help="File name of the video, with or without its extension.",
                            show_default=False),
    ],
) -> None:  # fmt: skip
    """Remove a video from a joined cast. `castlist undo` restores it.

    Example: `castlist remove season1.cast s01e07`
    """
    from castlist.cast.series import remove as remove_video

    remove_video(cast, video)
    _show(cast, [])


@contextmanager
def _reported(folder: Path) -> Iterator[None]:
    """Write the report of a cast that exists already: an interrupted command may have left none."""
    from castlist.cast.corrections import Corrections
    from castlist.cast.series import AlreadyExistsError
    from castlist.report.page import report_folder

    try:
        yield
    except AlreadyExistsError:
        with suppress(InputError), closing(Corrections(folder)) as corrections:  # if it is a cast
            report_folder(corrections)
        raise


def _show(folder: Path, conflicts: Sequence[NameConflict]) -> None:
    """Print the cast, and the conflicts that the user should resolve."""
    from castlist.cast.corrections import Corrections
    from castlist.report.page import report_folder

    with closing(Corrections(folder)) as corrections:
        try:
            page = report_folder(corrections)
        except CastlistError as error:
            if not folder.is_dir():
                raise
            raise CastlistError(
                f"{folder} is complete except for its report: {error}; run `castlist report "
                f"{folder}` to write it"
            ) from error
        say(printable(str(page)))
        print_cast(corrections.cast)
    for conflict in conflicts:
        one, other = conflict.numbers
        say(printable(
            f"? {conflict}. If they are one person: castlist merge {folder} {one} {other}"
        ))  # fmt: skip
