from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

import castlist

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


def test_the_reference_has_every_public_name():
    root, public = Path(castlist.__file__).parent, []
    for package in ("", "research."):
        stub = (root / package.replace(".", "/") / "__init__.pyi").read_text("utf-8")
        names = re.findall(r"^from \.([\w.]+) import (\w+)", stub, re.M)
        public += [(f"{package}{module}", name) for module, name in names]
    listed = re.findall(
        r"^::: castlist\.([\w.]+)\.(\w+)$", (DOCS / "reference.md").read_text(), re.M
    )
    assert sorted(listed) == sorted(one for one in public if one[1] != "__version__")


def test_every_page_is_in_the_navigation_of_the_site():
    text = (DOCS.parent / "mkdocs.yml").read_text("utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert pages == set(re.findall(r"^ +- [^:]+: (\S+\.md)$", text, re.M))


def test_pages_install_from_the_clone_as_castlist_is_on_no_package_index():
    """Elsewhere castlist is named only where a page says what it will be after a release."""
    from_index = r"(?:pip|pipx|uv tool|uv pip) install (?:-\S+ )*['\"]?castlist|uvx castlist"
    root = DOCS.parent
    named = []
    for page in [*DOCS.rglob("*.md"), *DOCS.rglob("*.ipynb"), *root.glob("*.md")]:
        text = page.read_text("utf-8")
        for match in re.finditer(from_index, text):
            before = " ".join(text[max(0, match.start() - 120) : match.start()].lower().split())
            assert "after the first release" in before, f"{page.name}: {match[0]}"
            named.append(page.name)
    assert set(named) == {"README.md", "index.md", "install.md"}
