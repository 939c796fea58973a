"""Watch and Find in a real browser."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import time
from fractions import Fraction

import av
import numpy as np
import pytest
from typer.testing import CliRunner

from castlist.cast.corrections import Corrections
from castlist.cli.app import app
from castlist.export.timecode import frame_at, timecode
from datasets.small_videos import turn_upright, write_video
from datasets.synthetic_casts import made_video, write_film, write_folder, write_frames
from robustness.review_server import Server

#: Where to put pictures of the views, for the docs; nowhere if not given.
PICTURES = os.environ.get("CASTLIST_SCREENSHOTS")
SHOWN = "document.querySelector('video')"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A film of six people; the last is a background character."""
    folder = tmp_path_factory.mktemp("watch") / "film.cast"
    tracks = made_video(people=6, each=4)
    write_film(folder.with_name("film.mp4"), tracks)
    write_folder(folder, tracks, pictures=True)
    write_frames(folder, tracks)
    with Corrections(folder) as cast:
        for number, name in enumerate(("Anna", "Ben", "Clara"), 1):
            cast.name(number, name)
        cast.background([6])
    return folder


@pytest.fixture(scope="module")
def server(home):
    with Server(home) as running:
        yield running


@pytest.fixture(params=[(1280, 900)])
def page(browser, server, request):
    width, height = request.param
    context = browser.new_context(
        viewport={"width": width, "height": height},
        permissions=["clipboard-read", "clipboard-write"],
    )
    opened = context.new_page()
    opened.problems = []
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.on(
        "console",
        lambda said: opened.problems.append(said.text) if said.type == "error" else None,
    )
    opened.goto(server.address)
    opened.wait_for_selector("body[data-view=cast]")
    yield opened
    context.close()
    assert opened.problems == []


def until(page, expression, seconds=30):
    """Wait until a JavaScript expression is true; the page's policy forbids playwright's way."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(30)


def watch(page, where="0", frames=True):
    page.evaluate(f"location.hash = '#/watch/{where}'")
    page.wait_for_selector("body[data-view=watch]")
    page.wait_for_selector(".lane-names [role=option]")
    if frames:
        until(page, f"{SHOWN}.readyState >= 2")


def settled(page, seconds):
    """Wait until the video shows a time and its boxes."""
    until(
        page,
        f"!{SHOWN}.seeking && {SHOWN}.paused && Math.abs({SHOWN}.currentTime - {seconds}) < 0.3",
    )
    page.wait_for_timeout(150)


def boxes_in_the_picture(page):
    """Return the drawn boxes by title, in pixels of the picture as scanned (640 × 360)."""
    return page.evaluate("""() => {
      const video = document.querySelector("video");
      const frame = video.getBoundingClientRect();
      const scale = Math.min(frame.width / video.videoWidth, frame.height / video.videoHeight);
      const left = frame.left + (frame.width - video.videoWidth * scale) / 2;
      const top = frame.top + (frame.height - video.videoHeight * scale) / 2;
      const [x, y] = [640 / (video.videoWidth * scale), 360 / (video.videoHeight * scale)];
      return Object.fromEntries([...document.querySelectorAll(".face-box:not([hidden])")].map((box) => {
        const at = box.getBoundingClientRect();
        return [box.innerText, [(at.left - left) * x, (at.top - top) * y, at.width * x, at.height * y]];
      }));
    }""")  # noqa: E501


def boxes_of_the_tracks(home, seconds):
    """Return the boxes at a time, interpolated between the faces of each track."""
    found = {}
    with Corrections(home) as cast:
        tracks = cast.tracks
        for one in cast.cast.characters:
            for row in one.tracks:
                faces = slice(tracks.offsets[row], tracks.offsets[row + 1])
                start, end = tracks.spans[row]
                if start <= seconds < end:
                    times = tracks.time[faces]
                    found[one.title] = [
                        np.interp(seconds, times, side) for side in tracks.box[faces].T
                    ]
    return found


def appearances(home, title):
    with Corrections(home) as cast:
        spans = cast.tracks.spans[cast.character(title).tracks]
    return sorted(spans.tolist())


def shown_time(page):
    """Return the time of the frame that is shown."""
    return page.evaluate(
        f"""() => new Promise((resolve) => {{
          const video = {SHOWN};
          video.requestVideoFrameCallback((_, {{ mediaTime }}) => resolve(mediaTime));
          video.currentTime = video.currentTime + 1e-5;
        }})"""
    )


@pytest.mark.parametrize("page", [(1280, 900), (400, 800)], indirect=True)
def test_boxes_are_where_the_faces_are(page, home):
    start, _end = appearances(home, "Anna")[1]
    watch(page, f"0?t={start + 0.9}&end={start + 1.1}")
    settled(page, start + 1.1)
    for size in (None, {"width": 900, "height": 500}):  # and after the window has another size
        if size:
            page.set_viewport_size(size)
            page.wait_for_timeout(100)
        found = boxes_in_the_picture(page)
        truth = boxes_of_the_tracks(home, shown_time(page))
        assert set(found) == set(truth)
        assert "Anna" in found
        for title, box in truth.items():
            assert found[title] == pytest.approx(box, abs=1.5)


def test_boxes_follow_the_video_while_it_plays(page, home):
    start, end = appearances(home, "Ben")[0]
    watch(page, f"0?t={start}&end={end}")
    until(page, f"!{SHOWN}.paused && {SHOWN}.currentTime > {start + 0.3}")
    drawn = page.evaluate("""() => new Promise((resolve) => {
      const video = document.querySelector("video");
      const made = [];
      const look = (_, { mediaTime }) => requestAnimationFrame(() => {
        const box = [...document.querySelectorAll(".face-box:not([hidden])")].find((one) => one.innerText === "Ben");
        made.push([mediaTime, box && parseFloat(box.style.top) * 3.6]);
        if (made.length < 4) video.requestVideoFrameCallback(look);
        else resolve(made);
      });
      video.requestVideoFrameCallback(look);
    })""")  # noqa: E501
    for at, top in drawn:
        assert top == pytest.approx(boxes_of_the_tracks(home, at)["Ben"][1], abs=1)
    assert drawn[-1][1] > drawn[0][1]  # they move
    until(page, f"{SHOWN}.paused")
    assert page.evaluate(f"{SHOWN}.currentTime") == pytest.approx(end, abs=0.3)


def test_an_interval_is_played_by_a_click(page, home, server):
    watch(page)
    line = server.get("/api/timeline/0")
    row = [one["title"] for one in line["characters"]].index("Clara")
    start, end, _ = line["characters"][row]["spans"][2]
    canvas = page.locator(".lanes canvas").bounding_box()
    side = page.locator(".lane-names").bounding_box()["width"]
    scale = (canvas["width"] - side - 8) / line["duration"]
    page.mouse.click(
        canvas["x"] + side + (start + end) / 2 * scale, canvas["y"] + 26 + 34 * row + 17
    )
    until(page, f"!{SHOWN}.paused")
    assert start - 0.05 <= page.evaluate(f"{SHOWN}.currentTime") <= start + 1
    page.wait_for_selector(".lane-names [aria-selected=true]:has-text('Clara')")
    settled(page, end)
    if PICTURES:
        page.keyboard.press("p")
        page.wait_for_timeout(800)
        page.screenshot(path=f"{PICTURES}/watch.png")


def test_keys_move_between_people_appearances_and_frames(page, home):
    watch(page)
    with Corrections(home) as cast:  # the first picture is the cover, as on the cards
        number = page.locator(".lane-names [role=option]").first.get_attribute("data-row")
        cover = cast.tracks.ids[cast.shown(cast.character(int(number)).tracks, 5)[0][0]]
    assert page.locator(".lane-names img").first.get_attribute("src") == f"faces/{cover}/0"
    people = page.locator(".lane-names")
    people.focus()
    names = page.locator(".lane-names [role=option]").all_inner_texts()
    page.keyboard.press("ArrowDown")
    title = names[1].splitlines()[0]
    page.wait_for_selector(f".lane-names [aria-selected=true]:has-text('{title}')")
    label = page.evaluate(
        "document.getElementById("
        "document.querySelector('.lane-names').getAttribute('aria-activedescendant')).ariaLabel"
    )
    spans = appearances(home, title)
    assert label.startswith(f"{title}, appears {len(spans)} times, 0:")

    for start, _ in [span for span in spans if span[0] > 0.05][:2]:
        page.keyboard.press("n")
        settled(page, start)
        assert code(page) == timecode(frame_at(start, Fraction(25)), Fraction(25), False)
    page.keyboard.press("p")
    settled(page, next(span for span in spans if span[0] > 0.05)[0])

    # The film has five frames per second; the rate of the tracks is 25.
    before = shown_time(page)
    for _ in range(6):
        page.keyboard.press(".")
        until(page, f"!{SHOWN}.seeking")
        page.wait_for_timeout(60)
    assert shown_time(page) > before
    later = shown_time(page)
    page.keyboard.press(",")
    until(page, f"!{SHOWN}.seeking")
    page.wait_for_timeout(60)
    assert shown_time(page) == pytest.approx(later - 0.2, abs=1e-3)

    page.keyboard.press("t")
    assert code(page) in page.locator("#status").inner_text()
    assert "On screen: " in page.locator("#status").inner_text()
    page.keyboard.press("Space")
    until(page, f"!{SHOWN}.paused")
    page.keyboard.press("Space")
    until(page, f"{SHOWN}.paused")


def code(page):
    return page.locator(".timecode").inner_text()


def test_background_characters_are_folded_at_the_end(page):
    watch(page, frames=False)
    options = page.locator(".lane-names [role=option]:not([hidden])")
    assert options.count() == 6
    assert "1 background character" in options.last.inner_text()
    options.last.click()
    page.wait_for_selector(".lane-names [data-row='6']")
    assert (
        page.locator(".lane-names [role=option]:not([hidden])")
        .last.inner_text()
        .startswith("Background 6")
    )


def test_zooming_keeps_the_time_at_the_pointer_and_scrolls(page):
    watch(page, frames=False)
    lanes = page.locator(".lanes")
    box = lanes.bounding_box()
    assert lanes.evaluate("e => e.scrollWidth - e.clientWidth") == 0
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 100)
    page.keyboard.down("Control")
    for _ in range(4):
        page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    until(page, "document.querySelector('.lanes').scrollLeft > 100")
    page.keyboard.press("0")
    until(page, "(e => e.scrollWidth === e.clientWidth)(document.querySelector('.lanes'))")


def test_time_codes_equal_those_of_exports(page):
    frames = [0, 1, 29, 30, 1798, 1799, 1800, 1801, 17981, 17982, 107891, 107892, 2589407]
    for over, under, drop in ((25, 1, False), (24000, 1001, False), (30000, 1001, True),
                              (60000, 1001, True), (30000, 1001, False)):  # fmt: skip
        made = page.evaluate(
            """async ([frames, rate, drop]) => {
              const { timecode } = await import("./js/timecode.js");
              return frames.map((frame) => timecode((frame * rate[1]) / rate[0], rate, drop));
            }""",
            [frames, [over, under], drop],
        )
        assert made == [timecode(frame, Fraction(over, under), drop) for frame in frames]


def serve(page, data):
    """Let the browser get other bytes as the video."""

    def answer(route):
        first = int(route.request.headers.get("range", "bytes=0-")[6:].split("-")[0])
        headers = {
            "content-type": "video/mp4", "accept-ranges": "bytes",
            "content-range": f"bytes {first}-{len(data) - 1}/{len(data)}",
        }  # fmt: skip
        route.fulfill(status=206, headers=headers, body=data[first:])

    page.route("**/video/0", answer)


def test_frames_are_shown_where_the_video_cannot_be_played(page, home):
    serve(page, b"no video" * 100)
    watch(page, frames=False)
    page.get_by_text("The browser cannot play this video").wait_for()
    page.keyboard.press("n")
    until(page, "document.querySelector('.still').naturalWidth > 0")
    page.locator(".face-box:not([hidden])").first.wait_for()
    chosen = page.locator(".lane-names [aria-selected=true] b").inner_text()
    start = next(span[0] for span in appearances(home, chosen) if span[0] > 0.05)
    assert code(page) == timecode(frame_at(start, Fraction(25)), Fraction(25), False)
    assert set(page.locator(".face-box:not([hidden])").all_inner_texts()) == set(
        boxes_of_the_tracks(home, start + 0.01)
    )


def test_a_video_that_begins_late_has_its_boxes_in_place(page, tmp_path):
    """The first frame is the cast's time 0, whatever time the file gives it."""
    pictures = [np.full((360, 640, 3), 10 * k, np.uint8) for k in range(20)]
    times = [0.4 + k / 5 for k in range(20)]
    film = write_video(tmp_path / "late.mp4", pictures, 5, codec="libx264", times=times)
    serve(page, film.read_bytes())
    watch(page, "0?t=0&end=0.3")
    until(page, f"{SHOWN}.currentTime > 0.4 && {SHOWN}.paused && !{SHOWN}.seeking")
    shown = shown_time(page)
    assert shown >= 0.4  # of the file
    page.wait_for_timeout(100)
    assert code(page) == timecode(frame_at(shown - 0.4, Fraction(25)), Fraction(25), False)


@pytest.mark.parametrize("how", ["turned", "squeezed"])
def test_boxes_are_in_place_on_a_turned_or_squeezed_picture(page, home, tmp_path, how):
    """The scan's size is that of the picture as shown, as is the browser's."""
    film = tmp_path / "film.mp4"
    if how == "turned":
        write_video(film, [np.full((640, 360, 3), 99, np.uint8)] * 25, 5, codec="libx264")
        turn_upright(film, 1)
    else:
        with av.open(str(film), "w") as container:
            stream = container.add_stream("libx264", rate=5)
            stream.width, stream.height, stream.pix_fmt = 320, 360, "yuv420p"
            stream.codec_context.sample_aspect_ratio = 2
            frame = av.VideoFrame.from_ndarray(np.full((360, 320, 3), 99, np.uint8), "bgr24")
            packets = [packet for _ in range(25) for packet in stream.encode(frame)]
            for packet in [*packets, *stream.encode(None)]:
                container.mux(packet)
    serve(page, film.read_bytes())
    watch(page, "0?t=3.2&end=3.3")
    settled(page, 3.3)
    size = page.evaluate(f"[{SHOWN}.videoWidth, {SHOWN}.videoHeight]")
    assert size == [640, 360]
    truth = boxes_of_the_tracks(home, shown_time(page))
    found = boxes_in_the_picture(page)
    assert len(found) == 2
    for title, box in truth.items():
        assert found[title] == pytest.approx(box, abs=1.5)


def test_scenes_are_found_and_played(page, home, server):
    page.evaluate("location.hash = '#/find'")
    page.wait_for_selector("body[data-view=find]")
    page.keyboard.press("/")
    for name in ("Anna", "Ben"):  # by the keyboard alone
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        page.wait_for_selector(f".chip >> text={name}")
    expected = told(home, "Anna", "Ben", "--together")
    assert len(expected) == 4
    assert listed(page, len(expected)) == [
        [timecode(frame_at(one[side], Fraction(25)), Fraction(25), False)
         for side in ("start", "end")]
        for one in expected
    ]  # fmt: skip
    assert page.locator(".scene").first.locator("img").count() == 2
    page.locator("[data-action=command]").click()
    page.locator("text=The command was copied.").wait_for()
    words = shlex.split(page.evaluate("navigator.clipboard.readText()"))
    assert words == ["castlist", "find", str(home.resolve()), "Anna", "Ben", "--together"]
    page.locator("[data-action=csv]").click()
    page.locator("text=The list was copied.").wait_for()
    rows = list(csv.DictReader(io.StringIO(page.evaluate("navigator.clipboard.readText()"))))
    assert [float(row["start"]) for row in rows] == [one["start"] for one in expected]
    if PICTURES:
        page.wait_for_timeout(800)
        page.screenshot(path=f"{PICTURES}/find.png")

    page.locator(".scene").nth(1).click()
    page.wait_for_selector("body[data-view=watch]")
    start, end = expected[1]["start"], expected[1]["end"]
    until(page, f"!{SHOWN}.paused && {SHOWN}.currentTime > {start}")
    assert page.evaluate(f"{SHOWN}.currentTime") < end
    page.go_back()  # with what was asked
    page.wait_for_selector("body[data-view=find]")
    assert listed(page, 4)
    assert page.evaluate(f"{SHOWN} === null")


def test_any_without_and_gap_as_the_command_line_has_them(page, home):
    page.evaluate("location.hash = '#/find?people=1&people=3&mode=any&without=4'")
    expected = told(home, "1", "3", "--any", "--without", "4")
    assert listed(page, len(expected))
    page.locator("[data-mode=together]").click()
    assert listed(page, 0) == []
    page.get_by_text("There is no such scene").wait_for()
    page.locator("[data-chip='4'] button").click()
    page.locator("input[name=gap]").fill("9")
    expected = told(home, "1", "3", "--gap", "9")
    assert expected
    assert listed(page, len(expected))
    page.locator("input[name=shortest]").fill("99")
    assert listed(page, 0) == []


def told(home, *words):
    result = CliRunner().invoke(app, ["find", str(home), *words, "--json"])
    return json.loads(result.stdout)


def listed(page, number):
    """Wait for a number of scenes; return their time codes."""
    page.wait_for_selector("body[data-view=find] main[aria-busy=false]")
    heading = f"document.querySelector('.found h2').innerText.startsWith('{number} scene')"
    until(page, f"{heading} && document.querySelectorAll('.scene').length === {number}")
    return [text.split(" – ") for text in page.locator(".scene .times").all_inner_texts()]


@pytest.mark.parametrize("page", [(1280, 900), (400, 800)], indirect=True)
def test_nothing_overflows_the_window(page):
    width = page.viewport_size["width"]
    for where in ("watch", "find?people=1&people=2&mode=any"):
        page.evaluate(f"location.hash = '#/{where}'")
        page.wait_for_selector(f"body[data-view={where.split('?')[0]}]")
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
