"""The table of commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from castlist._version import __version__
from castlist.cli.lazy import Commands

COMMANDS = Commands("castlist.cli", {
    "open": ("open", "Open the page of a folder: scan its videos, review and join its casts."),
    "scan": ("scan", "Find the people in a video: how many there are and when each appears."),
    "join": ("join", "Join the casts of several videos into one."),
    "add": ("join", "Add a video to a joined cast. Existing characters stay as they are."),
    "remove": ("join", "Remove a video from a joined cast. `castlist undo` restores it."),
    "review": (
        "review", "Correct a cast on a web page: name, merge, split, answer questions, undo."
    ),
    "name": ("corrections", "Give a character a name, or name characters by photos."),
    "merge": ("corrections", "Merge characters that are one person."),
    "split": ("corrections", "Move tracks to a new character, or to another one."),
    "cut": ("corrections", "Cut a track that shows two people."),
    "background": ("corrections", "Mark characters as background."),
    "undo": ("corrections", "Undo the last correction."),
    "redo": ("corrections", "Redo the last correction that was undone."),
    "log": (
        "corrections",
        "List the corrections of a cast: who made them, when, and whether they were undone.",
    ),
    "recluster": ("corrections", "Cluster again and keep every correction."),
    "report": ("report", "Write the report of a cast again, with its corrections."),
    "export": ("export", "Export a cast, with its corrections, for other tools."),
    "find": ("handover", "Find the scenes in which people are seen."),
    "reel": (
        "handover",
        "Cut every scene of a person into one film, or write the scenes as clips for an editor.",
    ),
    "graph": (
        "handover",
        "Write who is seen with whom, and for how long: as a graph, or as a picture.",
    ),
    "blur": ("handover", "Cover all faces of a video but those of some people."),
    "voices": (
        "handover",
        "Match the speakers of a diarization file to characters, by the time they share.",
    ),
    "cluster": ("cluster", "Group tracks into characters, without knowing how many there are."),
    "research": (
        "research", "Train models, score them, and compare methods: the commands of research."
    ),
    "models": ("models", "List, download and verify the model weights."),
    "doctor": ("doctor", "Check this installation: versions, weights, devices and speed."),
})  # fmt: skip

#: Panel of ``castlist --help`` → its commands, in this order.
PANELS = {
    "Scan": ("open", "scan", "models", "doctor"),
    "Correct": (
        "review", "name", "merge", "split", "cut", "background", "undo", "redo", "log", "recluster",
    ),
    "Series": ("join", "add", "remove"),
    "Hand over": ("report", "export", "find", "reel", "graph", "blur", "voices"),
    "More": ("cluster", "research"),
}  # fmt: skip


app = typer.Typer(
    name="castlist",
    cls=COMMANDS.group(),
    help="Find who is in a video, without knowing how many people there are.",
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _version(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"castlist {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        if sys.stdin.isatty() and sys.stdout.isatty():
            COMMANDS.load("open").main([], "castlist open")
        else:  # a script gets help, not a server
            typer.echo(context.get_help())
            raise typer.Exit(2)


COMMANDS.add_to(app, PANELS)
