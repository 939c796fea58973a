"""Groups of commands whose modules are imported only when a command is run.

So ``castlist`` starts fast, and its help needs nothing but this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command


@dataclass(frozen=True)
class Commands:
    """A table of commands.

    Attributes
    ----------
    package : str
        The package of their modules.
    table : dict
        Command → its module in the package, and the first line of its docstring.
    """

    package: str
    table: Mapping[str, tuple[str, str]]

    def load(self, name: str) -> Any:
        """Return a command, after importing its module."""
        function = getattr(import_module(f"{self.package}.{self.table[name][0]}"), name)
        if not isinstance(function, typer.Typer):
            alone = typer.Typer(add_completion=False, rich_markup_mode="markdown")
            alone.command(name)(function)
            function = alone
        return get_command(function)

    def add_to(self, app: typer.Typer, panels: Mapping[str, tuple[str, ...]]) -> None:
        """Add the commands to a group, by panel of its help and in this order."""
        for panel, names in panels.items():
            for name in names:
                app.command(name, help=self.table[name][1], rich_help_panel=panel)(lambda: None)

    def group(self) -> type[TyperGroup]:
        """Return the class of a group that imports a command when it is run."""

        class Group(TyperGroup):
            """Imports a command when it is run, not when commands are listed."""

            def get_params(group, context: Any) -> list[Any]:
                params = super().get_params(context)
                for param in params:
                    if param.default is None:  # Typer would import Pydantic to convert it to a bool
                        param.default = False
                return params

            def resolve_command(
                group, context: Any, words: list[str]
            ) -> tuple[str | None, Any, list[str]]:
                name, command, rest = super().resolve_command(context, words)
                return name, self.load(name) if name else command, rest

        return Group
