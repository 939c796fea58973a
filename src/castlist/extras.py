"""Optional packages, and the extras of castlist that install them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from castlist.errors import CastlistError

#: Module → name of the package, and the extra that installs it.
_EXTRAS = {
    "torch": ("PyTorch", "research"),
    "matplotlib": ("Matplotlib", "research"),
    "numba": ("Numba", "large"),
    "sklearn": ("scikit-learn", "sklearn"),
    "pandas": ("pandas", "pandas"),
}


def installed(module: str) -> bool:
    """Return whether a package is installed."""
    try:
        return find_spec(module) is not None
    except ImportError:
        return False


def require(module: str, what: str) -> None:
    """Raise CastlistError with the extra to install if a package is not installed.

    Parameters
    ----------
    module : str
        ``torch``, ``matplotlib``, ``numba``, ``sklearn`` or ``pandas``.
    what : str
        The feature that needs it, such as "training", for the message.
    """
    try:
        import_module(module)
    except ImportError as error:
        package, extra = _EXTRAS[module]
        raise CastlistError(
            f"{what} needs {package}, which is not installed; pip install 'castlist[{extra}]'"
        ) from error
