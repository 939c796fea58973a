from __future__ import annotations

import json
import os

import pytest

from castlist import InputError
from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.folder import FACES
from castlist.cast.video_files import file_facts, find_video
from castlist.library.contents import key_of
from castlist.review.app import cast_app
from castlist.review.files import SafeJSONResponse, match_video, playable, videos_to_play
from castlist.video.fingerprint import fingerprint
from castlist.video.frames import open_video
from datasets.small_videos import plain, write_video
from datasets.synthetic_casts import made_video, write_folder
from robustness.review_server import Server
from tests.export.casts import note_video
from tests.programs import castlist
from tests.video.test_fingerprint import film


@pytest.mark.posix
def test_only_videos_are_played(tmp_path):
    film = write_video(tmp_path / "film.mp4", [plain((9, 9, 9))])
    assert playable(film) == film
    (tmp_path / "secret.txt").write_text("secret\n" * 200)  # FFmpeg has a way to show it
    (tmp_path / "key.mp4").write_text("-----BEGIN KEY-----\n" * 200)
    (tmp_path / "face.png").write_bytes(b"\x89PNG")
    os.mkfifo(tmp_path / "pipe.mp4")
    for name in ("secret.txt", "key.mp4", "face.png", "pipe.mp4", "gone.mp4"):
        assert playable(tmp_path / name) is None, name
    assert playable(None) is None


def test_a_given_video_is_matched_by_its_name(tmp_path):
    film = write_video(tmp_path / "e2.mp4", [plain((9, 9, 9))])
    films = [{"name": "e1.mp4"}, {"name": "e2.mp4"}]
    cast = tmp_path / "x.cast"
    assert match_video(film, cast, films) == 1
    assert match_video(film, cast, films[:1]) == 0
    with pytest.raises(InputError, match="3 videos, and 2 of them are called e2.mp4"):
        match_video(film, cast, [*films, films[1]])
    for name in ("text.txt", "text.mp4"):
        (tmp_path / name).write_text("no video\n" * 200)
        with pytest.raises(InputError, match=name):
            match_video(tmp_path / name, cast, films[:1])


@pytest.mark.parametrize("path", ["/etc/passwd", "/dev/zero", "x" * 5000])
def test_a_path_in_the_folder_that_is_no_video_is_not_played(tmp_path, path):
    folder = write_folder(tmp_path / "film.cast", made_video())
    run = json.loads((folder / RUN).read_text())
    run["video"] |= {"path": path, "name": path}
    (folder / RUN).write_text(json.dumps(run))
    cast = Corrections(folder)
    assert playable(find_video(cast.scanned)) is None
    cast.close()


def test_another_film_in_the_place_of_the_video_is_not_played(tmp_path, monkeypatch):
    folder = write_folder(tmp_path / "film.cast", made_video())
    video = film(tmp_path / "film.mp4", [0, 1])
    with open_video(video) as opened:
        known = fingerprint(opened).to_json()
    note_video(folder, **file_facts(video), fingerprint=known)
    with Corrections(folder) as cast:
        assert videos_to_play(cast.scanned) == ([video], [""])
    film(video, [2, 3])
    why = f"{video} is not the video that was scanned into {folder}: its frame at 0:00 is different"
    monkeypatch.setenv("CASTLIST_STATE", str(tmp_path / "state"))
    casts = f"/casts/{key_of(folder, tmp_path)}"
    for served, base in (
        (Server(folder), ""), (Server(tmp_path, command="open"), casts),
    ):  # fmt: skip
        with served as server:
            line = server.get(f"{base}/api/timeline/0")
            assert not line["playable"]
            assert line["wrong"].startswith(why)
            assert server.ask(f"{base}/video/0")[0] == 404
    done = castlist("review", folder, "--video", video, code=2)
    assert why in " ".join(done.stderr.split())


def test_a_missing_or_unreadable_file_is_404(home, tmp_path):
    folder = write_folder(tmp_path / "film.cast", made_video(), pictures=True)
    film = tmp_path / "film.mp4"
    os.link(home.with_name("film.mp4"), film)
    told = tmp_path / "told"
    with told.open("wb") as stderr, Server(folder, stderr=stderr) as server:
        assert server.ask("/video/0", Range="bytes=0-9")[0] == 206
        film.unlink()
        assert server.ask("/video/0")[0] == 404
        film.mkdir()
        assert server.ask("/video/0", Range="bytes=0-9")[0] == 404
        picture = folder / FACES / "0000_0.jpg"
        assert server.ask("/faces/0000/0")[0] == 200
        content = (folder / FACES / "0000_1.jpg").read_bytes()
        picture.unlink()
        picture.symlink_to("/proc/self/mem")  # a file by all signs, and nothing to read at 0
        assert server.ask("/faces/0000/0")[::2] == (200, content)  # the next picture
        (folder / FACES / "0000_1.jpg").write_text("no picture")
        status, _, content = server.ask("/faces/0000/0")
        assert status == 404
        assert json.loads(content)["error"] == "Not Found"
    assert told.read_text() == ""


def test_a_lone_surrogate_becomes_a_question_mark():
    assert json.loads(SafeJSONResponse({"name": "\udc80é<"}).body) == {"name": "?é<"}
    routes = [route for route in cast_app(None).routes if getattr(route, "path", "") == "/api/cast"]
    assert [route.response_class for route in routes] == [SafeJSONResponse]
