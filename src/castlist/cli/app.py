"""The table of commands.

The module of a command is imported only when the command is run, so that ``castlist`` starts fast.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from castlist._version import __version__

#: Command → its module and the first line of its docstring.
COMMANDS = {
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
    "describe": (
        "describe",
        "Compute features of folders of face pictures: labelled tracks for training and scoring.",
    ),
    "train": (
        "train", "Train a model on labelled tracks with our recipe, the paper's, or another loss."
    ),
    "finetune": ("finetune", "Fine-tune a model on the tracks of a video, without labels."),
    "cluster": ("cluster", "Group tracks into characters, without knowing how many there are."),
    "evaluate": ("evaluate", "Cluster labelled tracks and compare the clusters with the labels."),
    "stats": ("evaluate", "Count the characters and tracks of labelled data."),
    "study": (
        "study",
        "Compare all methods of the paper on labelled tracks, with every table and figure.",
    ),
    "models": ("models", "List, download and verify the model weights."),
    "doctor": ("doctor", "Check this installation: versions, weights, devices and speed."),
}  # fmt: skip

#: Panel of ``castlist --help`` → its commands, in this order.
PANELS = {
    "Scan": ("open", "scan", "models", "doctor"),
    "Correct": (
        "review", "name", "merge", "split", "cut", "background", "undo", "redo", "log", "recluster",
    ),
    "Series": ("join", "add", "remove"),
    "Hand over": ("report", "export", "find", "reel", "graph", "blur", "voices"),
    "Research": ("describe", "train", "finetune", "cluster", "evaluate", "stats", "study"),
}  # fmt: skip


class _Commands(TyperGroup):
    """Imports a command when it is run, not when commands are listed."""

    def get_params(self, context: Any) -> list[Any]:
        found = super().get_params(context)
        for one in found:
            if one.default is None:  # Typer would import Pydantic to convert it to a bool
                one.default = False
        return found

    def resolve_command(self, context: Any, words: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(context, words)
        return name, load(name) if name else command, rest


def load(name: str) -> Any:
    """Return a command, after importing its module."""
    found = getattr(import_module(f"castlist.cli.{COMMANDS[name][0]}"), name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        alone.command(name)(found)
        found = alone
    return get_command(found)


app = typer.Typer(
    name="castlist",
    cls=_Commands,
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
            load("open").main([], "castlist open")
        else:  # a script gets help, not a server
            typer.echo(context.get_help())
            raise typer.Exit(2)


for _panel, _names in PANELS.items():
    for _name in _names:
        app.command(_name, help=COMMANDS[_name][1], rich_help_panel=_panel)(lambda: None)
