from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def test_the_examples_of_the_api_page_run():
    result = doctest.testfile(str(DOCS / "api.md"), module_relative=False, optionflags=FLAGS)
    assert result.attempted > 40
    assert result.failed == 0


@pytest.mark.parametrize("module", ["cluster.linkage", "cluster.estimator"])
def test_the_examples_of_docstrings_run(module):
    result = doctest.testmod(importlib.import_module(f"castlist.{module}"), optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


def test_links_between_pages_lead_somewhere():
    root = DOCS.parent
    for page in [*DOCS.rglob("*.md"), *root.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
