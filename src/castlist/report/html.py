"""What the HTML pages share: packaged files, the style and embedded pictures."""

from __future__ import annotations

from base64 import b64encode
from importlib import resources

from markupsafe import Markup


def text_of(package: str, name: str) -> str:
    """Return the text of a file in a package."""
    return resources.files(package).joinpath(name).read_text("utf-8")


def style(package: str, name: str) -> Markup:
    """Return the style of a page: the shared style, then its own."""
    return Markup(text_of("castlist.report", "base.css") + text_of(package, name))


def picture_uri(data: bytes, kind: str = "jpeg") -> str:
    """Return a picture as a data URI."""
    return f"data:image/{kind};base64,{b64encode(data).decode()}"
