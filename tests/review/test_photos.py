"""Questions from photos on the page."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from castlist.cast.corrections import Corrections
from castlist.cast.photos import PHOTOS, PhotoPerson, Photos, load_photos, save_photos
from castlist.video.pictures import as_jpeg
from datasets.synthetic_casts import drawn_face, made_video, write_folder
from robustness.review_server import Server
from tests.review.test_browser import open_page, said, show


@pytest.fixture
def home(tmp_path):
    """Four people in the video, photos of two of them and of a stranger."""
    tracks = made_video(dim=128)
    folder = write_folder(tmp_path / "film.cast", tracks, pictures=True)
    people = []
    for name, axis in (("Anna", 0), ("Ben", 1), ("Stranger", 90)):
        face = as_jpeg(drawn_face(f"p{axis}", 3, 224))
        people.append(PhotoPerson(name, np.eye(128, dtype=np.float32)[axis], face, 1))
    save_photos(folder, Photos(tracks.describer, tuple(people)))
    return folder


@pytest.fixture
def server(home):
    with Server(home) as running:
        yield running


def test_the_server_asks_shows_photos_and_removes_them(server, home):
    asked = server.get("/api/photos")
    found = {one["person"]: one for one in asked["questions"]}
    assert found.keys() == {"Anna", "Ben"}
    assert asked["people"] == 3
    status, headers, content = server.ask(f"/photos/{found['Ben']['photo']}")
    assert (status, headers["content-type"]) == (200, "image/jpeg")
    assert cv2.imdecode(np.frombuffer(content, np.uint8), 1).shape == (224, 224, 3)
    assert server.ask("/photos/3")[0] == 404
    assert server.ask("/photos/0", token=None)[0] == 403
    assert server.ask("/photos/-1")[0] == 422
    refused = {"kind": "not_named", "after": 0, "characters": [found["Ben"]["number"]]}
    assert server.ask("/api/actions", refused)[0] == 422  # no name
    assert server.ask("/api/actions", {**refused, "name": "Ben"})[0] == 200
    assert [one["person"] for one in server.get("/api/photos")["questions"]] == ["Anna"]
    (home / PHOTOS).write_text("{}")
    assert "damaged" in server.get("/api/photos")["error"]
    assert server.ask("/photos/0")[0] == 422
    assert server.ask("/api/photos/remove", {})[0] == 200
    assert load_photos(home) is None
    assert server.get("/api/photos") == {"last": 1, "people": 0, "error": "", "questions": []}


def test_answers_by_key_and_mouse(browser, server, home):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = open_page(context, server)
    show(page, "#/questions", "questions")
    heading = page.locator(".question h2")
    first = heading.inner_text().removeprefix("Is this ").removesuffix("?")
    assert first in ("Anna", "Ben")
    shown = page.locator(".likeness figure > img")
    assert shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 224
    assert page.locator(".likeness .faces img").count() == 5
    page.keyboard.press("y")
    said(page, 1)
    with Corrections(home) as cast:
        assert cast.character(first).tracks.size == 5
    second = heading.inner_text().removeprefix("Is this ").removesuffix("?")
    assert {first, second} == {"Anna", "Ben"}
    page.locator("[data-action=no]").click()
    said(page, 2)
    page.wait_for_selector("text=No questions are left")
    page.locator("[data-action=undo]").click()
    said(page, 3)
    assert heading.inner_text() == f"Is this {second}?"
    page.keyboard.press("s")
    page.locator("[data-action=remove-photos]").click()
    page.wait_for_selector("text=The copies of the photos were removed")
    assert not (home / PHOTOS).exists()
    assert page.problems == []
    context.close()
