"""``castlist join`` and ``castlist add``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from castlist.cli.common import OnRay, RayAddress, print_cast, progress, waiting
from castlist.errors import CastlistError, InputError
from castlist.io.files import printable

if TYPE_CHECKING:
    from castlist.cast.matching import NameConflict


def join(
    casts: Annotated[
        list[Path], typer.Argument(help="Folders that `castlist scan` made.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the joined cast.")],
    ray: OnRay = False,
    ray_address: RayAddress = None,
) -> None:
    """Make one cast of several videos: who is who across them.

    Names and corrections are carried over. Where names say otherwise than faces, the two stay two
    characters, and it is said so. A catalogue can be joined on a Ray cluster (`--ray`), with the
    same result.

    Example: `castlist join s01e01.cast s01e02.cast -o season1.cast`
    """
    from castlist.cast.series import join as join_casts
    from castlist.cluster.linkage import complete_linkage, ray_linkage

    on_ray = ray or ray_address is not None
    link = partial(ray_linkage, address=ray_address) if on_ray else complete_linkage
    with _reported(out), waiting("joining"), redirect_stdout(sys.stderr):  # where Ray tells
        conflicts = join_casts(casts, out, link=link)
    _show(out, conflicts)


def add(
    cast: Annotated[
        Path, typer.Argument(help="The folder that `castlist join` made.", show_default=False)
    ],
    video: Annotated[
        Path, typer.Argument(help="A video, or a folder that `castlist scan` made of one.",
                             show_default=False),
    ],
) -> None:  # fmt: skip
    """Put one more video into a joined cast; nobody who is there changes.

    A video is scanned first, into its own folder beside it: with the settings of an earlier scan
    of it, if there was one.

    Example: `castlist add season1.cast s01e07.mp4`
    """
    from castlist.cast.series import add as add_cast

    folder = video
    if not video.is_dir():
        from castlist.pipeline.again import scan_to_add

        with progress() as report:
            folder = scan_to_add(cast, video, progress=report)
    with _reported(cast), waiting("adding"):
        conflicts, new = add_cast(cast, folder)
    _show(cast, conflicts)
    typer.echo(f"{new} of them {'is' if new == 1 else 'are'} new")


def remove(
    cast: Annotated[
        Path, typer.Argument(help="The folder that `castlist join` made.", show_default=False)
    ],
    video: Annotated[
        str, typer.Argument(help="The video: its name, with or without its ending.",
                            show_default=False),
    ],
) -> None:  # fmt: skip
    """Take a video out of a joined cast; `castlist undo` puts it back.

    Example: `castlist remove season1.cast s01e07`
    """
    from castlist.cast.series import remove as remove_video

    remove_video(cast, video)
    _show(cast, [])


@contextmanager
def _reported(folder: Path) -> Iterator[None]:
    """If it is there already, see that its page is, too: it is written last, and may be missing."""
    from castlist.cast.corrections import Corrections
    from castlist.cast.series import AlreadyExistsError
    from castlist.report.folder import report_folder

    try:
        yield
    except AlreadyExistsError:
        with suppress(InputError), closing(Corrections(folder)) as corrections:  # no cast at all
            report_folder(corrections)
        raise


def _show(folder: Path, conflicts: Sequence[NameConflict]) -> None:
    """Print the cast, and what a person should decide."""
    from castlist.cast.corrections import Corrections
    from castlist.report.folder import report_folder

    corrections = Corrections(folder)
    try:
        page = report_folder(corrections)
    except CastlistError as error:
        raise CastlistError(
            f"{folder} is whole, but for its report: {error}; `castlist report {folder}` makes it"
        ) from error
    typer.echo(printable(str(page)))
    print_cast(corrections.cast)
    corrections.close()
    for conflict in conflicts:
        one, other = conflict.numbers
        typer.echo(printable(
            f"? {conflict}. If they are one person: castlist merge {folder} {one} {other}"
        ))  # fmt: skip
