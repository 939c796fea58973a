"""The library in a real browser: open a folder with one video, scan it, and open its cast."""

from __future__ import annotations

import os
import shutil

import pytest

from castlist.cast.corrections import Corrections
from robustness.review_server import Server

#: Where to put pictures of the page, for the docs; nowhere if not given.
PICTURES = os.environ.get("CASTLIST_SCREENSHOTS")


@pytest.fixture
def home(portraits, tmp_path):
    """A folder with one video of one person, three seconds long."""
    (tmp_path / "videos").mkdir()
    shutil.copy(portraits / "katherine.mp4", tmp_path / "videos" / "Folge 1 é.mp4")
    return tmp_path / "videos"


@pytest.fixture
def server(home):
    with Server(home, command="open") as running:
        yield running


@pytest.fixture
def page(browser, server):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    problems = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    asked = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(server.address)
    opened.wait_for_selector(".card")
    yield opened
    context.close()
    assert problems == []
    assert [url for url in asked if not url.startswith(f"{server.base}/")] == []


def test_open_scan_wait_review_and_back(page, home, server):
    card = page.locator(".card")
    assert card.count() == 1
    assert "not scanned" in card.inner_text()
    page.locator(".poster img").wait_for()
    page.evaluate("document.querySelector('.poster img').decode()")
    assert page.evaluate("document.querySelector('.poster img').naturalWidth") == 270

    # Scan it, by the keyboard alone.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("s")
    page.locator("dialog[open] input").first.fill("1")
    page.keyboard.press("Enter")
    page.locator('.card[data-state="scanning"] progress').wait_for()
    assert "1 scan in the queue" in page.locator(".queue").inner_text()
    page.reload()  # the queue is the server's
    page.locator('.card[data-state="scanned"]').wait_for(timeout=60_000)
    assert page.locator(".queue").is_hidden()
    assert "1 character" in card.inner_text()

    # The cast opens at an address of its own, and is corrected there.
    card.get_by_role("link", name="Open").click()
    page.wait_for_selector('body[data-view="cast"]')
    assert "/casts/" in page.url
    page.locator("[data-character] .faces img").first.wait_for()
    page.evaluate("document.querySelector('.faces img').decode()")  # or it fails
    page.locator("[data-character] input[type=checkbox]").first.check()
    page.locator("[data-action=name]").click()
    page.locator("dialog[open] input").fill("Katherine")
    page.keyboard.press("Enter")
    page.wait_for_selector('body[data-last="1"]')
    page.get_by_role("link", name="Library").click()
    page.locator('.card[data-state="corrected"]').wait_for()
    with Corrections(home / "Folge 1 é.cast") as cast:
        assert [one.name for one in cast.cast.characters] == ["Katherine"]


def test_search_filter_select_and_names_for_screen_readers(page, home):
    for name in ("b2", "b10", "c"):
        shutil.copy(home / "Folge 1 é.mp4", home / f"{name}.mp4")
    shown = page.locator(".card:visible")
    page.locator(".card:nth-child(4)").wait_for()
    assert [shown.nth(k).locator("h3").inner_text() for k in range(4)] == [
        "b2.mp4", "b10.mp4", "c.mp4", "Folge 1 é.mp4",
    ]  # fmt: skip
    page.keyboard.press("/")
    page.keyboard.type("B")
    assert shown.count() == 2
    page.keyboard.press("Escape")
    assert shown.count() == 4
    page.get_by_role("checkbox", name="b10.mp4, not scanned").check()
    assert "1 item selected" in page.locator(".actions").inner_text()
    page.get_by_role("checkbox", name="c.mp4, not scanned").focus()
    page.keyboard.press("Control+a")
    assert "4 items selected" in page.locator(".actions").inner_text()
    assert page.locator(".actions [data-action=pause]").is_disabled()
    page.keyboard.press("s")
    page.locator("dialog[open] h2", has_text="Scan 4 videos").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert page.locator(".actions").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_on_a_phone(browser, server, scheme):
    context = browser.new_context(viewport={"width": 400, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.goto(server.address)
    page.wait_for_selector(".card")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    context.close()
