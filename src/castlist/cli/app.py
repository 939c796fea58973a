"""All commands, put together.

A command's file is imported when the command is given, so that none waits for what others need.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from castlist._version import __version__

#: Commands in the order of the help: the file of each, and the first line of its docstring.
COMMANDS = {
    "scan": ("scan", "Find out who is in a video: how many people, who appears when."),
    "join": ("join", "Make one cast of several videos: who is who across them."),
    "add": ("join", "Put one more video into a joined cast; nobody who is there changes."),
    "remove": ("join", "Take a video out of a joined cast; `castlist undo` puts it back."),
    "review": (
        "review", "Correct a cast on a web page: name, merge, split, answer questions, undo."
    ),
    "name": ("name", "Give a character a name."),
    "merge": ("merge", "Say that characters are one person."),
    "split": ("split", "Make tracks a character of their own, or move them to another."),
    "cut": ("cut", "Cut a track that shows two people."),
    "background": ("background", "Say that characters are background."),
    "undo": ("undo", "Take back what was said last."),
    "redo": ("undo", "Do again what was undone last."),
    "log": ("log", "Print what was said of a cast: who, when, what, and whether it holds."),
    "recluster": (
        "recluster", "Cluster again with what was said: the same person, different people, names."
    ),
    "report": ("report", "Write the report of a cast again, with what was corrected."),
    "export": (
        "export", "Write a cast, as corrected, for other tools: who is seen when, and where."
    ),
    "describe": (
        "describe",
        "Describe folders of face pictures: labelled tracks, to train and to measure with.",
    ),
    "train": (
        "train",
        "Train a model on labelled tracks: by our recipe, by the paper's, or with a rival's loss.",
    ),
    "finetune": (
        "finetune", "Make a model cast-specific on the tracks of a video, without labels."
    ),
    "cluster": ("cluster", "Group tracks into characters; nobody says how many."),
    "evaluate": ("evaluate", "Cluster labelled tracks and compare with the truth."),
    "stats": ("stats", "Count the characters and tracks of labelled data."),
    "study": (
        "study",
        "Compare all methods of the paper on labelled tracks: every table and figure, on one page.",
    ),
    "models": ("models", "List the model weights, or fetch and verify them."),
}  # fmt: skip


class _Commands(TyperGroup):
    """Lists commands by their first lines, and imports the one that is given."""

    def get_help_option(self, context: Any) -> Any:
        option = super().get_help_option(context)
        if option is not None:
            option.default = False  # for None, Typer loads Pydantic to make it a bool
        return option

    def resolve_command(self, context: Any, words: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(context, words)
        return name, load(name) if name else command, rest


def load(name: str) -> Any:
    """Import a command."""
    found = getattr(import_module(f"castlist.cli.{COMMANDS[name][0]}"), name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
        alone.command(name)(found)
        found = alone
    return get_command(found)


app = typer.Typer(
    name="castlist",
    cls=_Commands,
    help="Who is in this video, when nobody knows how many people are?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"castlist {__version__}")
        raise typer.Exit


for _name, (_, _line) in COMMANDS.items():
    app.command(_name, help=_line)(lambda: None)
