"""The report in a real browser: a cover shows its whole frame, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

from castlist.cast.cast import Cast
from castlist.io.pictures import Cover
from castlist.report.page import write_report
from castlist.video.pictures import as_jpeg, frame_view
from datasets.synthetic_casts import drawn_face
from tests.report.test_page import character, tracks_at


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Two characters with frames, and one without."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    people = tuple(character(k + 1, [k], background=k == 1) for k in range(3))
    cast = Cast(tracks_at((0, 10), (20, 30), (40, 50)), people, 60.0)
    frame = frame_view(np.full((360, 640, 3), 90, np.uint8))
    write_report(
        cast, lambda k: [as_jpeg(drawn_face(f"p{k}", k))], path,
        frames=lambda k: (frame, Cover(0.5, 5.0 + k, (0.25, 0.5, 0.1, 0.2))) if k < 2 else None,
    )  # fmt: skip
    return path.as_uri()


def opened(browser, report, **options):
    context = browser.new_context(viewport={"width": 1000, "height": 700}, **options)
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda said: page.problems.append(said.text))
    page.goto(report)
    return page


def layout(page):
    return page.evaluate(
        "[...document.querySelectorAll('article, .faces *')]"
        ".map((one) => Object.values(one.getBoundingClientRect().toJSON()))"
    )


def test_by_pointer_and_keyboard(browser, report):
    page = opened(browser, report)
    frame, covers = page.locator("figure.frame"), page.locator(".cover")
    assert covers.count() == 2
    before = layout(page)
    covers.first.hover()
    frame.wait_for()
    assert frame.locator("figcaption").inner_text() == "0:05"
    shown, faces = frame.bounding_box(), page.locator(".faces").first.bounding_box()
    assert shown["x"] >= faces["x"] + faces["width"]
    box, screen = (frame.locator(one).bounding_box() for one in ("i", "img"))
    assert box["x"] - screen["x"] == pytest.approx(0.25 * screen["width"], abs=1)
    assert box["width"] == pytest.approx(0.1 * screen["width"], abs=1)
    assert layout(page) == before
    page.mouse.move(1, 1)
    frame.wait_for(state="hidden")

    page.keyboard.press("Tab")  # on to the background's link, and to the first cover
    page.keyboard.press("Tab")
    frame.wait_for()
    assert covers.first.get_attribute("aria-expanded") == "true"
    assert layout(page) == before
    page.emulate_media(media="print")
    assert not frame.is_visible()
    page.emulate_media(media="screen")
    page.keyboard.press("Escape")
    frame.wait_for(state="hidden")
    page.keyboard.press("Enter")
    frame.wait_for()
    page.keyboard.press("Tab")
    frame.wait_for(state="hidden")
    assert page.problems == []
    page.context.close()


def test_by_touch(browser, report):
    page = opened(browser, report, has_touch=True)
    page.set_viewport_size({"width": 380, "height": 700})
    frame = page.locator("figure.frame")
    page.locator(".cover").first.tap()
    frame.wait_for()
    assert frame.bounding_box()["width"] <= 380
    page.locator(".cover").first.tap()
    frame.wait_for(state="hidden")
    page.locator(".cover").nth(1).tap()
    frame.wait_for()
    page.locator("h1").tap()
    frame.wait_for(state="hidden")
    assert page.evaluate("document.documentElement.scrollWidth") <= 380
    page.context.close()


def test_without_a_script_it_is_a_picture(browser, report):
    page = opened(browser, report, java_script_enabled=False)
    assert page.locator("figure.frame").count() == 0
    assert page.locator(".cover").first.get_attribute("role") is None
    assert page.locator(".cover img").first.is_visible()
    page.context.close()
