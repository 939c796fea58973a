"""Reading castlist's pages as a browser does."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "img", "link", "br", "hr", "input"}


class Page(HTMLParser):
    """The page as a browser reads it: elements with attributes and text, and whether they close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self.open: list[int] = []
        self.feed(text)
        self.close()
        assert not self.open, "an element is not closed"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag):
        assert self.elements[self.open.pop()][0] == tag

    def handle_data(self, data):
        for i in self.open:
            self.elements[i][2].append(data)

    def find(self, tag: str, **wanted: str) -> list[tuple[dict[str, str], str]]:
        return [
            (attrs, " ".join("".join(text).split()))
            for name, attrs, text in self.elements
            if name == tag and all(attrs.get(k.rstrip("_")) == v for k, v in wanted.items())
        ]

    def texts(self, tag: str, **wanted: str) -> list[str]:
        return [text for _, text in self.find(tag, **wanted)]

    def inside(self, text: str, id_: str) -> Page:
        """Return the one article with this id as a page of its own."""
        return Page(re.search(rf'<article[^>]*id="{id_}".*?</article>', text, re.S)[0])
