"""The library in a real browser, and the whole way from a video to a reel."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import numpy as np
import pytest

from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.video.frames import open_video
from datasets.small_videos import write_video
from datasets.synthetic_casts import made_video, write_film, write_folder
from robustness.review_server import Server

#: Where to put pictures of the page, for the docs; nowhere if not given.
PICTURES = os.environ.get("CASTLIST_SCREENSHOTS")
#: Takes the folder of the test out of the text of a page.
SHORTEN = """path => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(path, "");
}"""


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
    with opened(browser, server) as running:
        yield running


@contextmanager
def opened(browser, server):
    """Open the library; at the end, fail if the page had an error or asked another server."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.address)
    page.wait_for_selector(".card")
    yield page
    context.close()
    assert problems == []
    assert [url for url in asked if not url.startswith((f"{server.base}/", "blob:"))] == []


def test_from_an_unknown_video_to_a_reel(browser, portraits, tmp_path):
    """Open a folder with one video, scan, name two people, find them together, export a reel."""
    home = tmp_path / "videos"
    home.mkdir()
    film = write_duet(home / "Folge 1 é.mp4", portraits)
    with Server(home, command="open") as server, opened(browser, server) as page:
        card = page.locator(".card")
        assert card.count() == 1
        assert "not scanned" in card.inner_text()
        page.locator(".poster img").wait_for()
        page.evaluate("document.querySelector('.poster img').decode()")

        # Scan it, by the keyboard alone.
        page.keyboard.press("ArrowDown")
        page.keyboard.press("s")
        page.locator("dialog[open]").wait_for()
        page.keyboard.press("Enter")
        page.locator('.card[data-state="scanning"] progress').wait_for()
        assert "1 scan in the queue" in page.locator(".queue").inner_text()
        page.reload()  # the queue is the server's
        page.locator('.card[data-state="scanned"]').wait_for(timeout=120_000)
        assert page.locator(".queue").is_hidden()
        assert "2 characters" in card.inner_text()

        # The cast opens at an address of its own. Name both people.
        card.get_by_role("link", name="Open").click()
        page.wait_for_selector('body[data-view="cast"]')
        assert "/casts/" in page.url
        for k, name in enumerate(("Katherine", "Guido")):
            page.locator("[data-character] .faces img").first.wait_for()
            page.locator("[data-character] input[type=checkbox]").nth(k).check()
            page.locator("[data-action=name]").click()
            page.locator("dialog[open] input").fill(name)
            page.keyboard.press("Enter")
            page.locator(f'body[data-last="{k + 1}"]').wait_for()

        # Find where they are together, and watch it.
        page.get_by_role("link", name="Find").click()
        field = page.get_by_role("combobox", name="People")
        for name in ("Kath", "Gui"):
            field.fill(name)
            page.keyboard.press("Enter")
        scene = page.locator("a.scene")
        scene.wait_for()
        assert scene.count() == 1
        assert set(scene.locator(".seen").inner_text().split(", ")) == {"Katherine", "Guido"}
        scene.click()
        page.wait_for_selector('body[data-view="watch"]')
        page.locator("video").wait_for()

        # Export a reel of it.
        page.get_by_role("link", name="Export").click()
        page.locator("#export-what").select_option("reel")
        for name in ("Katherine", "Guido"):
            page.locator('[data-add="people"]').click()
            page.locator("dialog[open]").get_by_text(name).first.click()
        page.locator("[data-action=export]").click()
        page.locator(".events a[download]").wait_for(timeout=60_000)

        page.get_by_role("link", name="Library").click()
        page.locator('.card[data-state="corrected"]').wait_for()
    with Corrections(film.with_suffix(".cast")) as cast:
        assert {one.name for one in cast.cast.characters} == {"Katherine", "Guido"}
    (reel,) = (path for path in home.glob("*.mp4") if path != film)
    with open_video(reel) as made:
        assert made.duration == pytest.approx(2, abs=0.3)  # both are seen from second 2 to 4


def write_duet(path, portraits):
    """Write a film: two seconds of one person, two of two, two of the other."""
    people = []
    for name in ("katherine", "guido"):
        with open_video(portraits / f"{name}.mp4") as clip:
            people.append([frame.image()[:360, :320] for frame in clip.frames(0)][:50])
    size = np.minimum(*(frames[0].shape for frames in people))
    one, other = ([frame[: size[0], : size[1]] for frame in frames] for frames in people)
    dark = np.zeros_like(one[0])
    rows = [*((a, dark) for a in one), *zip(one, other, strict=True), *((dark, b) for b in other)]
    images = (np.ascontiguousarray(np.hstack(row)) for row in rows)
    return write_video(path, images, codec="libx264", g="25", sc_threshold="0")


def test_states_of_videos_on_the_cards(browser, tmp_path):
    home = tmp_path / "Show"
    home.mkdir()
    for seed, name in enumerate(("s01e01", "s01e02", "s01e03")):
        tracks = made_video(seed=seed)
        write_film(home / f"{name}.mp4", tracks)
        if name != "s01e03":
            folder = write_folder(home / f"{name}.cast", tracks, pictures=True)
            run = (folder / RUN).read_text("utf-8").replace("film.mp4", f"{name}.mp4")
            (folder / RUN).write_text(run, "utf-8")
    with Corrections(home / "s01e01.cast") as cast:
        cast.name(cast.cast.characters[0].number, "Anna")
    (home / "s01e04.mp4").write_text("not a video")
    with Server(home, command="open") as server, opened(browser, server) as page:
        for state in ("corrected", "scanned", "new", "unreadable"):
            page.locator(f'.card[data-state="{state}"]').wait_for()
        assert "is the file complete?" in page.locator('[data-state="unreadable"]').inner_text()
        page.locator(".poster img").nth(2).wait_for()
        if PICTURES:
            page.evaluate(SHORTEN, f"{tmp_path}/")
            page.set_viewport_size({"width": 1280, "height": 620})
            page.wait_for_timeout(500)
            page.screenshot(path=f"{PICTURES}/library.png")


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
