"""Every package is pinned, on dependencies.md, and under a licence that anybody can use."""

from __future__ import annotations

import sys
from importlib import metadata, util

import dependencies
import installed
import pytest
from dependencies import PAGE, complaints, rows
from installed import GROUPS, Package, allowed, packages, pins

from castlist.video.weights import DEFAULTS, REGISTRY

#: Other systems, and PyTorch with CUDA, install packages that are not on the page.
as_on_the_page = pytest.mark.skipif(
    sys.platform != "linux" or util.find_spec("triton") is not None,
    reason="the page is of Linux with PyTorch for the processor",
)


@pytest.fixture(scope="module")
def listed():
    return rows(PAGE.read_text("utf-8"))


@as_on_the_page
def test_what_is_installed_is_pinned_and_on_the_page(listed):
    here = {}
    for group in GROUPS:
        try:
            here |= packages([group])
        except metadata.PackageNotFoundError:
            assert group == "bench", f"[{group}] is not installed whole"
    assert len(here) > 80
    assert complaints(here, listed, pins()) == []


@as_on_the_page
def test_the_page_is_the_one_that_is_written():
    """All of it, but for which packages of [bench] ask for one: those need not be here."""
    text, pinned = PAGE.read_text("utf-8"), pins()
    assert dependencies.INSIDE in text
    found = packages([group for group in GROUPS if group != "bench"])
    for name, one in found.items():
        row = f"| {name} | {pinned[name]} | {one.licence} |"
        if one.direct is not None:
            row += f" {dependencies._use(one)} |"
        assert f"\n{row}" in text, "python scripts/dependencies.py"


def test_weights_are_on_the_page():
    text = PAGE.read_text("utf-8")
    for line in dependencies._weights():
        assert line in text, "python scripts/dependencies.py"
    assert all(one.sha256 in text and one.licence in text for one in REGISTRY.values())
    assert all(REGISTRY[name].commercial for name in DEFAULTS)


@pytest.mark.parametrize("licence", ["CC-BY-NC-SA-4.0", "AGPL-3.0-only", "unknown"])
def test_a_newcomer_is_complained_about(licence, listed, tmp_path, monkeypatch):
    info = tmp_path / "newcomer-1.0.dist-info"
    info.mkdir()
    about = f"Metadata-Version: 2.4\nName: newcomer\nVersion: 1.0\nLicense-Expression: {licence}\n"
    (info / "METADATA").write_text(f"{about}Requires-Dist: numpy; extra == 'more'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(installed, "requirements", lambda group: ["newcomer[more]>=1"])
    found = packages([""])
    assert set(found) == {"newcomer", "numpy"}
    assert complaints(found, listed, pins()) == ["newcomer is installed and not on the page"]
    with_it = {**listed, "newcomer": found["newcomer"]}
    assert complaints(found, with_it, pins()) == [
        "newcomer is on the page and not pinned",
        f"newcomer: {licence} may not be in castlist itself",
    ]


def test_pins_and_licences_that_changed_are_complained_about(listed):
    moved = {**pins(), "numpy": "0.1"}
    assert complaints({}, listed, moved) == [
        f"numpy: the page says {listed['numpy'].version}, the pin 0.1"
    ]
    other = Package("numpy", pins()["numpy"], "MIT", "")
    (said,) = complaints({"numpy": other}, listed, pins())
    assert said.endswith("the package MIT")


def test_licences_that_may_be_where():
    assert allowed("MIT")
    assert allowed("MPL-2.0 AND MIT")
    assert allowed("BSD-2-Clause OR GPL-2.0-or-later")
    assert not allowed("MIT AND GPL-3.0-or-later")
    assert not allowed("GPL-3.0-or-later", "dev")
    assert allowed("GPL-3.0-or-later", "bench")
    assert not allowed("CC-BY-NC-4.0", "bench")
    assert not allowed("")
