"""The page in a real browser: actions are applied, and hold after a reload."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from castlist.cast.corrections import Corrections
from datasets.small_videos import plain, write_with_sound
from datasets.synthetic_casts import made_video, write_film, write_folder, write_frames
from robustness.review_server import Server
from tests.export.casts import note_video
from tests.programs import castlist
from tests.review.test_watch_browser import serve, until

#: Where to put pictures of the views, for the docs; nowhere if not given.
PICTURES = os.environ.get("CASTLIST_SCREENSHOTS")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Six people; the clustering has two of them in one character and one in two."""
    folder = tmp_path_factory.mktemp("made")
    tracks = made_video(people=6, each=6)
    labels = [int(who[1:]) for who in tracks.identity.tolist()]
    own = [[i for i, label in enumerate(labels) if label == k] for k in range(6)]
    for row in own[1]:
        labels[row] = 0 if row in own[1][:2] else labels[row]
    for row in own[4][:3]:
        labels[row] = 9
    write_film(folder / "film.mp4", tracks)
    write_folder(folder / "film.cast", tracks, labels, pictures=True)
    write_frames(folder / "film.cast", tracks)
    return folder


@pytest.fixture
def home(made, tmp_path):
    """A copy of the cast and its video: tests correct it."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "film.cast"


@pytest.fixture
def server(home):
    with Server(home) as running:
        yield running


@pytest.fixture
def page(browser, server):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = open_page(context, server)
    yield opened
    context.close()
    assert opened.problems == []


def open_page(context, server):
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on(
        "console",
        lambda said: page.problems.append(said.text)
        # A refusal that the page asks about is a failed request to the browser.
        if said.type == "error" and "409" not in said.text and "422" not in said.text else None,
    )  # fmt: skip
    # Whatever the page or the browser on its behalf asks for is ours.
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((f"{server.base}/", "data:", "blob:"))
        else page.problems.append(f"asked for {asked.url}"),
    )  # fmt: skip
    page.goto(server.address)
    page.wait_for_selector("body[data-view=cast]")  # scripts have run
    return page


def said(page, number):
    """Wait until the page shows the cast with this number of events."""
    page.wait_for_selector(f'body[data-last="{number}"]')


def show(page, where, view):
    page.evaluate(f"location.hash = '{where}'")
    page.wait_for_selector(f'body[data-view="{view}"]')


def select(page, *numbers):
    for number in numbers:
        page.locator(f'[data-character="{number}"] input[type=checkbox]').check()


def picture(page, name):
    if PICTURES:
        page.wait_for_timeout(800)
        page.screenshot(path=f"{PICTURES}/{name}.png")


def people(folder):
    cast = Corrections(folder)
    found = {
        one.number: set(cast.tracks.identity[one.tracks].tolist()) for one in cast.cast.characters
    }
    cast.close()
    return found


def test_name_merge_split_answer_undo_recluster_reload(page, home, server):
    picture(page, "review-cast")
    before = people(home)
    mixed = next(number for number, who in before.items() if len(who) == 2)
    pieces = [number for number, who in before.items() if who == {"p4"}]
    assert len(pieces) == 2

    # Name, by the mouse.
    select(page, mixed)
    page.locator("[data-action=name]").click()
    page.locator("dialog[open] input").fill("Anna")
    page.keyboard.press("Enter")
    said(page, 1)
    assert "Anna" in page.locator(f'[data-character="{mixed}"]').inner_text()

    # Merge the two pieces of one person.
    select(page, *pieces)
    page.locator("[data-action=merge]").click()
    said(page, 2)
    assert page.locator(f'[data-character="{pieces[1]}"]').count() == 0

    # Split what is two people: the tracks that fit worst come first.
    show(page, f"/character/{mixed}", "character")
    cards = page.locator("[data-track]")
    cards.first.wait_for()
    cast = Corrections(home)
    wrong = [str(cast.tracks.ids[row]) for row in cast.character(mixed).tracks
             if cast.tracks.identity[row] == "p1"]  # fmt: skip
    cast.close()
    assert {cards.nth(i).get_attribute("data-track") for i in range(2)} == set(wrong)
    for track in wrong:
        page.locator(f'[data-track="{track}"] input[type=checkbox]').check()
    picture(page, "review-character")
    page.locator("[data-action=split]").click()
    said(page, 3)

    # Answer questions: castlist asks whether those two tracks are the person they are.
    show(page, "/questions", "questions")
    page.locator("[data-action=yes]").wait_for()
    picture(page, "review-questions")
    for number in range(4, 30):
        if sorted(map(sorted, people(home).values())) == [[f"p{k}"] for k in range(6)]:
            break
        question = server.get("/api/questions")["questions"][0]
        for key in true_answer(home, question):
            page.keyboard.press(key)
        said(page, number)
    assert sorted(map(sorted, people(home).values())) == [[f"p{k}"] for k in range(6)]

    # Undo and redo, by keys.
    last = int(page.locator("body").get_attribute("data-last"))
    whole = people(home)
    page.keyboard.press("Control+z")
    said(page, last + 1)
    assert people(home) != whole
    page.keyboard.press("Control+Shift+z")
    said(page, last + 2)
    assert people(home) == whole

    # Cluster again: it shows first, and what was said holds.
    page.locator("[data-action=recluster]").click()
    page.locator("[data-action=start]").click()
    page.locator("dialog[open] >> text=/would (change|move)/").first.wait_for()
    take = page.locator("[data-action=accept]")
    if take.count() and take.is_visible():
        take.click()
        said(page, last + 3)
    else:
        page.keyboard.press("Escape")
    page.reload()
    page.wait_for_selector('body:not([data-view=""])')
    show(page, "/", "cast")
    titles = page.locator("[data-character]").all_inner_texts()
    assert sum("Anna" in title for title in titles) == 1
    assert len(titles) == 6
    assert people(home) == whole
    show(page, "/history", "history")
    page.locator("text=/merged 2 characters/i").first.wait_for()
    picture(page, "review-history")


def test_naming_one_person_after_another_names_each_and_merges_nobody(page, home):
    """Click a face, *Name*, type, Enter, and on to the next face: as people do."""
    before = people(home)
    numbers = [int(card.get_attribute("data-character"))
               for card in page.locator("[data-character]").all()[:3]]  # fmt: skip
    for event, (number, name) in enumerate(zip(numbers, ("Joel", "Ada", "Mia"), strict=True), 1):
        page.locator(f'[data-character="{number}"] .faces').click()
        page.locator("[data-action=name]").click()
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        said(page, event)
        assert page.locator(".card.selected").count() == 0
        assert page.locator(".actions").is_hidden()
    with Corrections(home) as cast:
        names = {number: cast.character(number).name for number in numbers}
    assert names == dict(zip(numbers, ("Joel", "Ada", "Mia"), strict=True))
    assert people(home) == before


def test_no_name_is_filled_in_for_several_characters(page, home):
    with Corrections(home) as cast:
        named, other = (who.number for who in cast.cast.characters[:2])
        cast.name(named, "Joel")
    said(page, 1)
    select(page, named)
    page.locator("[data-action=name]").click()
    assert page.locator("dialog[open] input").input_value() == "Joel"
    page.keyboard.press("Escape")
    select(page, other)
    page.locator("[data-action=name]").click()
    assert page.locator("dialog[open] input").input_value() == ""
    page.keyboard.press("Enter")  # no name: nobody is merged
    page.locator("text=No name was given.").wait_for()
    assert len(people(home)) == 7


@pytest.mark.parametrize("action", ["merge", "background"])
def test_every_action_ends_the_selection(page, action):
    numbers = [card.get_attribute("data-character")
               for card in page.locator("[data-character]").all()[:2]]  # fmt: skip
    select(page, *numbers)
    page.locator(f"[data-action={action}]").click()
    said(page, 1)
    assert page.locator(".card.selected").count() == 0


def test_what_is_selected_while_an_action_is_on_its_way_stays_selected(page, server):
    first, second = (card.get_attribute("data-character")
                     for card in page.locator("[data-character]").all()[:2])  # fmt: skip
    waiting = []
    page.route("**/api/actions", lambda route: waiting.append(route))
    select(page, first)
    page.locator("[data-action=background]").click()
    page.wait_for_timeout(100)
    select(page, second)
    waiting[0].continue_()
    said(page, 1)
    selected = page.locator(".card.selected")
    assert [card.get_attribute("data-character") for card in selected.all()] == [second]


def test_what_is_typed_is_shown_as_text(page):
    first = page.locator("[data-character]").first
    number = first.get_attribute("data-character")
    select(page, number)
    page.locator("[data-action=name]").click()
    page.locator("dialog[open] input").fill("<img src=x onerror=document.title='run'>")
    page.keyboard.press("Enter")
    said(page, 1)
    places = {"/": "cast", f"/character/{number}": "character", "/history": "history"}
    for where, view in (places | {"/questions": "questions"}).items():
        show(page, where, view)
        page.wait_for_function(
            "document.querySelector('main, body').innerText.includes('<img src=x')"
        )
        assert page.locator("img[src=x]").count() == 0
    assert page.title() != "run"


def true_answer(home, question):
    """Return the keys that answer a question correctly."""
    cast = Corrections(home)

    def who(strip):
        rows = cast.rows([track["id"] for track in strip["tracks"]])
        names = cast.tracks.identity[rows].tolist()
        return max(set(names), key=names.count)

    keys = []
    for i, doubt in enumerate(question["doubts"]):
        right = [who(one) == who(doubt) for one in doubt["ones"]]
        place = right.index(True) if any(right) else len(right)
        shown = 0 if doubt["inside"] else len(right)  # what is chosen at first; none comes last
        keys += [str(i + 1)] * ((place - shown) % (len(right) + 1))
    cast.close()
    return [*keys, "Enter"]


def test_from_the_keyboard_alone(page, home):
    page.locator("[data-character]").first.wait_for()
    first = page.locator("[data-character]").first.get_attribute("data-character")
    page.keyboard.press("/")
    page.keyboard.type("Character 1")
    page.keyboard.press("Escape")
    for _ in range(40):  # on to the first card
        focused = page.evaluate("document.activeElement.closest('[data-character]') !== null")
        if focused:
            break
        page.keyboard.press("Tab")
    assert focused
    page.keyboard.press("Space")
    assert page.locator(f'[data-character="{first}"] input[type=checkbox]').is_checked()
    page.keyboard.press("Enter")
    page.wait_for_selector('body[data-view="character"]')
    page.set_viewport_size({"width": 1280, "height": 400})
    page.keyboard.press("?")
    page.locator("dialog[open] h2").wait_for()
    assert page.locator("dialog[open]").evaluate("one => one.scrollTop") == 0  # not at its end
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0


def test_a_shared_frame_is_asked_about_and_can_be_waived(page, home):
    cast = Corrections(home)
    owners = cast.state.owner[cast.overlaps]
    one, other = owners[owners[:, 0] != owners[:, 1]][0].tolist()
    cast.close()
    select(page, one, other)
    page.locator("[data-action=merge]").click()
    page.locator("[data-action=waive]").click()
    said(page, 1)
    assert any(len(who) > 1 for who in people(home).values())


def test_two_pages_see_each_other(browser, server, page):
    context = browser.new_context()
    other = open_page(context, server)
    number = page.locator("[data-character]").first.get_attribute("data-character")
    select(page, number)
    page.locator("[data-action=name]").click()
    page.locator("dialog[open] input").fill("Zoë")
    page.keyboard.press("Enter")
    said(page, 1)
    said(other, 1)  # by itself, within seconds
    assert "Zoë" in other.locator(f'[data-character="{number}"]').inner_text()
    context.close()


def test_the_video_plays_at_the_track(page):
    number = page.locator("[data-character]").nth(2).get_attribute("data-character")
    show(page, f"/character/{number}", "character")
    card = page.locator("[data-track]").nth(1)
    card.wait_for()
    track = card.get_attribute("data-track")
    start = page.evaluate(
        "async id => (await (await fetch('/api/tracks/' + id)).json()).start", track
    )
    card.locator("[data-action=play]").click()
    page.wait_for_timeout(1500)
    time = page.evaluate("document.querySelector('video').currentTime")
    assert start - 0.3 <= time <= start + 5
    assert page.evaluate("document.querySelector('video').videoWidth") == 640


def test_the_frame_is_shown_under_the_pointer_and_at_the_focus(page):
    frame = page.locator("figure.frame")
    first = page.locator("[data-character]").first
    first.locator(".faces img").nth(2).hover()
    frame.wait_for()
    track = server_track(first.locator(".faces img").nth(2))
    assert server_track(frame.locator("img")) == track
    assert inside(page)
    assert not over(page, first)
    # The face is where the box is drawn: not as bright as the empty scene.
    face, around = page.evaluate(BRIGHTNESS)
    assert face < 215 < around
    page.mouse.move(1, 1)
    frame.wait_for(state="hidden")

    # With the keyboard: the cover's, then the others', until Escape; what is selected stays so.
    page.keyboard.press("ArrowDown")
    frame.wait_for()
    assert server_track(frame.locator("img")) == server_track(first.locator(".faces img").first)
    page.keyboard.press("Space")
    second = server_track(first.locator(".faces img").nth(1))
    page.keyboard.press("v")
    frame.locator(f'img[src="frames/{second}"]').wait_for()
    page.keyboard.press("Escape")
    frame.wait_for(state="hidden")
    assert first.locator("input[type=checkbox]").is_checked()
    page.keyboard.press("Escape")
    assert not first.locator("input[type=checkbox]").is_checked()

    # Over a dialog too.
    show(page, "/character/1", "character")
    page.locator("[data-track] input[type=checkbox]").first.check()
    page.keyboard.press("m")
    page.locator("dialog[open] [data-pick] img").first.hover()
    frame.wait_for()
    assert page.evaluate("document.querySelector('figure.frame').matches(':popover-open')")


def server_track(image):
    return image.get_attribute("src").split("/")[1]


def inside(page):
    box, size = page.locator("figure.frame").bounding_box(), page.viewport_size
    return (
        box["x"] >= 0 and box["y"] >= 0 and box["x"] + box["width"] <= size["width"]
        and box["y"] + box["height"] <= size["height"]
    )  # fmt: skip


def over(page, element):
    """Return whether the frame covers an element."""
    one, other = page.locator("figure.frame").bounding_box(), element.bounding_box()
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size]
        for at, size in (("x", "width"), ("y", "height"))
    )


#: How bright the frame is inside the box, and on the whole.
BRIGHTNESS = """() => {
  const image = document.querySelector("figure.frame img");
  const [screen, box] = [image, document.querySelector("figure.frame i")].map((e) => e.getBoundingClientRect());
  const canvas = Object.assign(document.createElement("canvas"), { width: screen.width, height: screen.height });
  const drawing = canvas.getContext("2d");
  drawing.drawImage(image, 0, 0, screen.width, screen.height);
  const mean = (x, y, w, h) => {
    const { data } = drawing.getImageData(x, y, w, h);
    return data.reduce((sum, value, i) => sum + (i % 4 < 3 ? value : 0), 0) / (data.length * 3 / 4);
  };
  return [mean(box.left - screen.left, box.top - screen.top, box.width, box.height),
    mean(0, 0, screen.width, screen.height)];
}"""  # noqa: E501


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_the_window(browser, server, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = open_page(context, server)
    for where, view in (("/", "cast"), ("/character/1", "character"), ("/questions", "questions"),
                        ("/history", "history"), ("/not-faces", "not-faces")):  # fmt: skip
        show(page, where, view)
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        picture(page, f"review-{view}-{width}-{scheme}")
    assert page.problems == []
    context.close()


def test_a_track_is_cut_and_history_shows_who_moved(page, home):
    cast = Corrections(home)
    number = cast.cast.characters[0].number
    track = str(cast.tracks.ids[cast.character(number).tracks[0]])
    cast.close()
    show(page, f"#/character/{number}", "character")
    page.locator(f'[data-track="{track}"] .pick').check()
    page.keyboard.press("k")
    page.locator("dialog[open] [data-action=after]").click()
    said(page, 1)
    page.wait_for_selector(f'[data-track="{track}b"]')
    assert page.locator(f'[data-track="{track}a"]').count() == 0  # a character of its own
    show(page, "#/history", "history")
    moved = page.locator("[data-event='1'] .move").inner_text()
    assert f"Character {number} →" in moved
    show(page, "#/questions", "questions")
    # The same answer by the keyboard and by the mouse.
    first = page.locator(".doubt").first
    first.locator(".choice").first.focus()
    page.keyboard.press("m")
    several = first.get_by_role("radio", name="several people")
    assert several.get_attribute("aria-checked") == "true"
    first.locator(".choice").first.click()
    assert several.get_attribute("aria-checked") == "false"
    several.click()
    page.locator("[data-action=done]").click()
    said(page, 2)
    show(page, "#/history", "history")
    assert "mixed" in page.locator("[data-event='2']").inner_text()


def test_a_track_is_cut_where_the_video_is_or_at_a_face(page, home):
    with Corrections(home) as cast:
        number = cast.cast.characters[0].number
        row = cast.character(number).tracks[0]
        track, (start, end) = str(cast.tracks.ids[row]), cast.tracks.spans[row].tolist()
    show(page, f"#/character/{number}", "character")
    card = page.locator(f'[data-track="{track}"]')
    here = page.locator("[data-action=cut-here]")
    assert here.is_hidden()
    card.locator("[data-action=play]").click()
    here.wait_for()
    page.evaluate(
        "time => { const v = document.querySelector('video'); v.pause(); v.currentTime = time; }",
        (start + end) / 2,
    )
    page.wait_for_selector("[data-action=cut-here]:not([disabled])")
    here.click()
    at = page.locator("dialog[open] input")
    assert float(at.input_value()) == pytest.approx((start + end) / 2, abs=0.25)
    page.keyboard.press("Escape")
    card.locator(".pick").check()
    page.keyboard.press("k")
    with Corrections(home) as cast:
        second = cast.picture_times(track)[1]
    faces = page.locator("dialog[open] [data-moment]")
    faces.last.wait_for()
    assert faces.count() == 2
    faces.last.click()
    assert float(at.input_value()) == pytest.approx(second, abs=0.01)
    page.locator("dialog[open] [data-action=before]").click()
    said(page, 1)
    assert page.locator(f'[data-track="{track}a"]').count() == 1
    with Corrections(home) as cast:
        assert cast.picture_times(f"{track}a") == [start]
        assert cast.picture_times(f"{track}b") == [second]


def test_a_video_whose_sound_begins_first_is_played_where_its_tracks_are(browser, home, tmp_path):
    """Browsers count from the start of the file, and the cast from the first picture."""
    delay = 3.0
    note_video(home, delay=delay)
    with Corrections(home) as cast:
        number = cast.cast.characters[0].number
        row = cast.character(number).tracks[-1]
        track, (start, end) = str(cast.tracks.ids[row]), cast.tracks.spans[row].tolist()
        pictures = [plain((9, 9, 9))] * round(5 * cast.cast.duration)
    film = tmp_path / "late.mp4"
    write_with_sound(film, pictures, 5, sound=len(pictures) / 5 + delay, delay=delay)
    data = film.read_bytes()
    with Server(home) as server:
        for _ in range(20):  # Chromium sometimes fails to decode after a seek on a busy machine
            context = browser.new_context()
            page = open_page(context, server)
            serve(page, data)
            played = is_played_late(page, number, track, (start, end), delay)
            problems = page.problems
            context.close()
            if played:
                break
        assert played
        assert problems == []


def is_played_late(page, number, track, span, delay):
    """Play a track, cut it and watch it; return False if the browser fails to decode the video."""
    video, cut_here = "document.querySelector('video')", "[data-action=cut-here]"
    (start, end), middle = span, sum(span) / 2

    def shows(what):
        until(page, f"!!{video}.error || ({what})")
        return page.evaluate(f"!{video}.error")

    show(page, f"#/character/{number}", "character")
    page.locator(f'[data-track="{track}"] [data-action=play]').click()
    if not shows(f"!document.querySelector('{cut_here}').hidden"):
        return False
    assert start + delay - 0.01 <= page.evaluate(f"{video}.currentTime") <= end + delay
    page.evaluate(f"to => {{ {video}.pause(); {video}.currentTime = to; }}", middle + delay)
    if not shows(f"!document.querySelector('{cut_here}').disabled"):
        return False
    page.locator(cut_here).click()
    at = float(page.locator("dialog[open] input").input_value())
    assert at == pytest.approx(middle, abs=0.25)
    page.keyboard.press("Escape")
    show(page, f"#/watch/0?t={middle}&end={middle + 0.1}", "watch")
    if not shows(f"{video}.paused && {video}.currentTime > {middle + delay - 0.3}"):
        return False
    assert page.evaluate(f"{video}.currentTime") < middle + delay + 0.5
    return True


def test_counts_agree_everywhere(page, home):
    with Corrections(home) as cast:
        numbers = [one.number for one in cast.cast.characters]
        cast.background(numbers[:2])
        cast.name(numbers[0], "Anna")  # named, and still background
        cast.name(numbers[2], "Ben")
        shown = castlist("background", home, numbers[0]).stdout
    said(page, 4)
    assert "2 of them background" in shown
    assert "2 in the background" in page.locator("#figures").inner_text()
    assert page.locator("[data-filter=background]").inner_text() == "background 2"
    assert page.locator("[data-filter=named]").inner_text() == "named 2"
    assert page.locator("[data-filter=unreviewed]").inner_text() == f"unreviewed {len(numbers) - 3}"
    assert page.locator("[data-filter=small]").is_hidden()
    page.locator("[data-filter=background]").click()
    assert page.locator(".card:visible").count() == 2
    show(page, "#/history", "history")
    line = page.locator("[data-event='1']")
    assert f"Marked Anna ({numbers[0]}) and character {numbers[1]} as background" in (
        line.inner_text()
    )
    assert line.locator(".faces img").count() == 2


def test_all_changes_of_a_clustering_can_be_read(browser, tmp_path):
    tracks = made_video(people=8, each=8, dim=128)
    labels = np.random.default_rng(0).integers(0, 20, len(tracks))
    folder = write_folder(tmp_path / "film.cast", tracks, labels, pictures=True)
    with Server(folder) as server:
        context = browser.new_context(viewport={"width": 400, "height": 500})
        page = open_page(context, server)
        page.locator("[data-action=recluster]").click()
        page.locator("[data-action=start]").click()
        accept = page.locator("[data-action=accept]")
        accept.wait_for()
        proposal = server.get("/api/recluster")["proposal"]
        assert page.locator(".changes li").count() == len(proposal["changes"]) > 20
        last = page.locator(".changes li").last
        page.locator(".changes").focus()
        page.keyboard.press("End")
        page.wait_for_timeout(300)
        list_box, row_box = page.locator(".changes").bounding_box(), last.bounding_box()
        assert row_box["y"] + row_box["height"] <= list_box["y"] + list_box["height"] + 1
        box = accept.bounding_box()  # the buttons are in view all the time
        assert 0 <= box["y"] <= 500 - box["height"]

        # That nothing would change is said once; the next time, it starts anew.
        accept.click()
        said(page, 1)
        page.locator("[data-action=recluster]").click()
        page.locator("[data-action=start]").click()
        page.get_by_text("Nothing would change").wait_for()
        page.keyboard.press("Escape")
        page.locator("[data-action=recluster]").click()
        page.locator("[data-action=start]").wait_for()
        assert page.problems == []
        context.close()


def test_a_page_says_that_the_video_was_scanned_again(page, home):
    from datasets.synthetic_casts import made_video, write_folder

    write_folder(home, made_video(rate=4, prefix="new"), pictures=True)
    page.get_by_text("The video was scanned again").wait_for()
    assert page.locator("[data-character]").count() > 0
