"""``castlist research``: the door to :mod:`castlist.research`, which nothing else imports."""

from importlib import import_module

import typer

#: Imported by its name: what is in it needs packages that a plain install does not have.
research: typer.Typer = import_module("castlist.research.commands").app
