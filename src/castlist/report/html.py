"""What pages are made of: files that come with castlist, the house style, pictures inside."""

from __future__ import annotations

from base64 import b64encode
from importlib import resources

from markupsafe import Markup


def text_of(package: str, name: str) -> str:
    """Return a text file that lies beside a package's modules."""
    return resources.files(package).joinpath(name).read_text("utf-8")


def style(package: str, name: str) -> Markup:
    """Return the style of a page: what all pages share, then its own."""
    return Markup(text_of("castlist.report", "base.css") + text_of(package, name))


def picture_uri(data: bytes, kind: str = "jpeg") -> str:
    """Return a picture as an address that holds it."""
    return f"data:image/{kind};base64,{b64encode(data).decode()}"
