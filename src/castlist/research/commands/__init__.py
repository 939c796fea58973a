"""The commands of ``castlist research``."""

from __future__ import annotations

import typer

from castlist.cli.lazy import Commands

COMMANDS = Commands("castlist.research.commands", {
    "describe": (
        "describe",
        "Compute features of folders of face pictures: labelled tracks for training and scoring.",
    ),
    "train": (
        "train", "Train a model on labelled tracks with our recipe, the paper's, or another loss."
    ),
    "finetune": ("finetune", "Fine-tune a model on the tracks of a video, without labels."),
    "evaluate": ("evaluate", "Cluster labelled tracks and compare the clusters with the labels."),
    "stats": ("evaluate", "Count the characters and tracks of labelled data."),
    "study": (
        "study",
        "Compare all methods of the paper on labelled tracks, with every table and figure.",
    ),
})  # fmt: skip

app = typer.Typer(
    name="research",
    cls=COMMANDS.group(),
    help="""Train models, score them, and compare methods: the commands of research.

    Most of them need `castlist[research]`.

    Example: `castlist research train movies/ -o run`
    """,
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
)
COMMANDS.add_to(app, {"Commands": tuple(COMMANDS.table)})
