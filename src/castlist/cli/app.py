"""All commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from castlist._version import __version__
from castlist.cli import (
    background,
    cluster,
    cut,
    describe,
    evaluate,
    export,
    finetune,
    join,
    log,
    merge,
    models,
    name,
    recluster,
    report,
    review,
    scan,
    split,
    stats,
    study,
    train,
    undo,
)

app = typer.Typer(
    name="castlist",
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


app.command("scan")(scan.scan)
app.command("join")(join.join)
app.command("add")(join.add)
app.command("remove")(join.remove)
app.command("review")(review.review)
app.command("name")(name.name)
app.command("merge")(merge.merge)
app.command("split")(split.split)
app.command("cut")(cut.cut)
app.command("background")(background.background)
app.command("undo")(undo.undo)
app.command("redo")(undo.redo)
app.command("log")(log.log)
app.command("recluster")(recluster.recluster)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("describe")(describe.describe)
app.add_typer(models.models_app, name="models")
app.command("train")(train.train)
app.command("finetune")(finetune.finetune)
app.command("cluster")(cluster.cluster)
app.command("evaluate")(evaluate.evaluate)
app.command("stats")(stats.stats)
app.command("study")(study.study)
