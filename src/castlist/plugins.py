"""Detectors, describers and export formats that other installed packages add.

A package adds one by an entry point (``docs/plugins/README.md``). Entry points are looked up when a
name is not one of castlist's own, and imported when they are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import Any, Literal

from castlist.errors import CastlistError, first_line

Kind = Literal["detectors", "describers", "exports"]
KINDS: tuple[Kind, ...] = ("detectors", "describers", "exports")


@dataclass(frozen=True)
class Plugin:
    """An entry point of an installed package.

    Attributes
    ----------
    name : str
        Name by which users choose it.
    package : str
        Name and version of the package that adds it.
    """

    name: str
    package: str
    _entry: metadata.EntryPoint

    def load(self) -> Any:
        """Import the plugin and return its object.

        A CastlistError, with the plugin and its package, if it cannot be imported.
        """
        try:
            return self._entry.load()
        except Exception as error:  # an import runs the code of the plugin
            raise CastlistError(
                f"the plugin {self.name} of {self.package} cannot be imported "
                f"({first_line(error)}); update or uninstall that package"
            ) from error

    def open(self, *args: Any) -> Any:
        """Import the plugin and call its object.

        A CastlistError, with the plugin and its package, if this fails.
        """
        make = self.load()
        try:
            return make(*args)
        except CastlistError:
            raise
        except Exception as error:
            raise CastlistError(
                f"the plugin {self.name} of {self.package} does not work ({first_line(error)})"
            ) from error


def plugins(kind: Kind) -> dict[str, Plugin]:
    """Return the plugins of a kind by name, without importing any."""
    found: dict[str, Plugin] = {}
    for entry in metadata.entry_points(group=f"castlist.{kind}"):
        about = entry.dist
        package = "an unknown package" if about is None else f"{about.name} {about.version}"
        found.setdefault(entry.name, Plugin(entry.name, package, entry))
    return found


def version_of(kind: Kind, name: str) -> str:
    """Return the package and version of a plugin, empty if there is none of this name."""
    plugin = plugins(kind).get(name)
    return "" if plugin is None else plugin.package
