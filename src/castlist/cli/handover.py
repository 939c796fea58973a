"""``castlist find``, ``reel``, ``graph``, ``blur`` and ``voices``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from castlist.cli.common import CastFolder, Json, print_json, print_table, progress, say
from castlist.errors import InputError, counted

People = Annotated[
    list[str], typer.Argument(help="Numbers or names of characters.", show_default=False)
]
Gap = Annotated[
    float,
    typer.Option(min=0, help="Seconds. Appearances of one person that are at most this far apart "
                 "count as one, so that people shown in turn are together."),
]  # fmt: skip
Without = Annotated[
    list[str] | None, typer.Option(help="Characters who must not be seen; may be repeated.")
]


class _To(StrEnum):
    """Formats of a reel for editors."""

    OTIO = "otio"
    EDL = "edl"
    FCPXML = "fcpxml"
    PREMIERE = "premiere"


class _Cover(StrEnum):
    """What a face becomes."""

    SOLID = "solid"
    BLUR = "blur"


def find(
    cast: CastFolder,
    people: People,
    together: Annotated[
        bool, typer.Option("--together/--any", help="All of them at once, or at least one.")
    ] = True,
    without: Without = None,
    gap: Gap = 0.0,
    shortest: Annotated[float, typer.Option(min=0, help="Leave out shorter scenes (s).")] = 0.0,
    video: Annotated[
        str | None, typer.Option(help="Look only in this video, of a cast of several.")
    ] = None,
    json: Json = False,
) -> None:
    """Find the scenes in which people are seen.

    Example: `castlist find season1.cast Anna Ben --together --gap 3`
    """
    from castlist.cast.corrections import Corrections
    from castlist.export.timeline import number_of, timelines
    from castlist.format import clock
    from castlist.handover.scenes import Mode, SceneSettings, find_scenes

    with Corrections(cast) as corrections:
        every = timelines(corrections)
        scenes = find_scenes(
            corrections, people, Mode.TOGETHER if together else Mode.ANY,
            without=without or (), settings=SceneSettings(gap=gap, shortest=shortest),
            among=every if video is None else [every[number_of(every, video, cast)]],
        )  # fmt: skip
    if json:
        print_json([one.to_json() for one in scenes])
        return
    rows = [
        [one.video, clock(one.start), clock(one.end), f"{one.seconds:.1f}", ", ".join(one.people)]
        for one in scenes
    ]
    print_table(["video", "from", "to", "seconds", "seen"], rows)
    total = sum(one.seconds for one in scenes)
    say(f"\n{counted(len(scenes), 'scene')}, {total:.1f} s")


def reel(
    cast: CastFolder,
    person: Annotated[str, typer.Argument(help="Number or name.", show_default=False)],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The film, or the file of --to.", show_default=False)
    ],
    together: Annotated[
        list[str] | None, typer.Option(help="Only scenes with this character too; repeatable.")
    ] = None,
    without: Without = None,
    pad: Annotated[float, typer.Option(min=0, help="Seconds added at both ends.")] = 0.0,
    gap: Gap = 0.0,
    exact: Annotated[
        bool,
        typer.Option(help="Encode again, so that scenes begin and end at their own frames. "
                     "Otherwise they are copied from the key frame before."),
    ] = False,
    to: Annotated[
        _To | None, typer.Option(help="Write clips for an editor instead of a film.")
    ] = None,
) -> None:  # fmt: skip
    """Cut every scene of a person into one film, or write the scenes as clips for an editor.

    Example: `castlist reel season1.cast Anna -o anna.mp4 --pad 1`, or for Final Cut
    `castlist reel season1.cast Anna --together Ben --to fcpxml -o anna.fcpxml`
    """
    from castlist.cast.corrections import Corrections
    from castlist.handover.output import seconds_before, write_reel_of
    from castlist.handover.scenes import SceneSettings
    from castlist.io.files import printable

    with Corrections(cast) as corrections, progress() as report:
        scenes, seconds = write_reel_of(
            corrections, [person, *(together or ())], out, without=without or (),
            settings=SceneSettings(gap=gap, pad=pad), to=to, exact=exact, progress=report,
        )  # fmt: skip
    say(f"{printable(str(out))}: {counted(len(scenes), 'scene')}, {seconds:.1f} s")
    if not exact and (more := seconds_before(scenes, seconds)) >= 1:
        say(
            f"{more:.1f} s of it are before the scenes, from key frames on; use --exact to "
            "leave them out"
        )


def graph(
    cast: CastFolder,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A .graphml or .svg file.", show_default=False)
    ],
    gap: Gap = 0.0,
) -> None:
    """Write who is seen with whom, and for how long: as a graph, or as a picture.

    Example: `castlist graph season1.cast -o cast.graphml`
    """
    from castlist.cast.corrections import Corrections
    from castlist.handover.output import write_graph
    from castlist.io.files import printable

    with Corrections(cast) as corrections:
        found = write_graph(corrections, out, gap)
    characters, pairs = counted(len(found.labels), "character"), counted(len(found.shared), "pair")
    say(f"{printable(str(out))}: {characters}, {pairs} seen together")


def blur(
    cast: CastFolder,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The new video: .mp4, .mov, .mkv.",
                           show_default=False)
    ],
    all_but: Annotated[
        list[str] | None, typer.Option(help="A character who stays visible; may be repeated.")
    ] = None,
    video: Annotated[
        str | None, typer.Option(help="Which video, for a cast of several.")
    ] = None,
    cover: Annotated[
        _Cover,
        typer.Option(help="What a face becomes: one colour, or coarse cells, in which networks can "
                     "still recognise some faces."),
    ] = _Cover.SOLID,
) -> None:  # fmt: skip
    """Cover all faces of a video but those of some people.

    A face that was not found is not covered. The stretches to check by eye are listed.

    Example: `castlist blur episode.cast --all-but Anna -o out.mp4`
    """
    from castlist.cast.corrections import Corrections
    from castlist.format import clock_in_tenths
    from castlist.handover.blur import Cover, write_blurred
    from castlist.io.files import printable

    with Corrections(cast) as corrections, progress() as report:
        unsure = write_blurred(
            corrections, out, visible=all_but or (), video=video, cover=Cover(cover),
            progress=report,
        )  # fmt: skip
    say(f"{printable(str(out))}\n\nA face that was not found is not covered.")
    if unsure:
        say("Check these stretches:\n")
        print_table(
            ["from", "to", "why"],
            [[clock_in_tenths(one.start), clock_in_tenths(one.end), one.why] for one in unsure],
        )


def voices(
    cast: CastFolder,
    rttm: Annotated[Path, typer.Argument(help="A diarization file (RTTM).", show_default=False)],
    subtitles: Annotated[
        Path | None, typer.Option(help="Subtitles (.srt, .vtt) to add names to.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the named subtitles go.")
    ] = None,
    json: Json = False,
) -> None:
    """Match the speakers of a diarization file to characters, by the time they share.

    Example: `castlist voices episode.cast talk.rttm --subtitles in.srt -o named.srt`
    """
    from dataclasses import asdict

    from castlist.cast.corrections import Corrections
    from castlist.handover.voices import match_voices, named_subtitles, read_rttm
    from castlist.io.files import printable, write_lines
    from castlist.io.output_guard import check_file

    if (subtitles is None) != (out is None):
        raise InputError("name subtitles and where they go together (--subtitles, --out)")
    speech = read_rttm(rttm)
    with Corrections(cast) as corrections:
        found = match_voices(corrections, speech)
    if json:
        print_json([asdict(one) for one in found])
    else:
        rows = [
            [one.speaker, f"{one.seconds:.1f}", one.label if one.character else "nobody",
             f"{100 * one.share:.0f} %", f"{100 * one.second:.0f} %"]
            for one in found
        ]  # fmt: skip
        print_table(["speaker", "seconds", "character", "seen meanwhile", "second best"], rows)
    if subtitles is not None and out is not None:
        if len(speech) > 1:
            raise InputError(f"{rttm} is about {len(speech)} files, and subtitles are of one")
        check_file(out, subtitles.suffix.lower())
        (spoken,) = speech.values()
        write_lines(out, [named_subtitles(subtitles, found, spoken)])
        say(f"\n{printable(str(out))}", err=json)
