"""Whole scans, of videos composed from portraits or of one colour."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

import castlist.pipeline.scan
from castlist import BallModel, CastlistError, InputError, read_tracks, save_model
from castlist.cast.cast_file import RUN
from castlist.cast.corrections import Corrections
from castlist.cast.folder import CAST, FACES, POINTS, REPORT, TRACKS
from castlist.parallel import set_threads
from castlist.pipeline.scan import PARTS, scan
from castlist.pipeline.scan_settings import ScanSettings
from castlist.video.frames import open_video
from castlist.video.tracking_settings import TrackingSettings
from datasets.small_videos import plain, write_video


@pytest.fixture(scope="module")
def sample(portraits, tmp_path_factory):
    """Six shots of four people, two of them with two people side by side, and the truth."""
    from datasets.clip_video import compose

    path = tmp_path_factory.mktemp("sample") / "Folge 1 é.mp4"
    return path, compose(portraits, path, seed=5, size=(640, 360), shots=6)


@pytest.fixture(scope="module")
def scanned(sample):
    return scan(sample[0])


def files(folder: Path) -> dict[str, bytes]:
    """Return what a scan made, but for how long it took and the way to the video."""
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    run = json.loads(found.pop(RUN))
    run["video"].pop("path")
    for stage in run["stages"].values():
        stage.pop("seconds"), stage.pop("resumed_at", None)
    return {**found, RUN: json.dumps(run).encode()}


def test_everything_is_in_the_folder(sample, scanned):
    path, shots = sample
    assert scanned.folder == path.with_suffix(".cast")
    assert {p.name for p in scanned.folder.iterdir()} == {
        TRACKS, CAST, POINTS, RUN, REPORT, FACES,
    }  # fmt: skip
    panels = sum(len(shot.panels) for shot in shots)
    people = {panel.person for shot in shots for panel in shot.panels}
    assert len(scanned.cast.tracks) == panels
    assert len(scanned.cast.characters) == len(people)
    counts = scanned.run["counts"]
    assert (counts["shots"], counts["characters"]) == (len(shots), len(people))
    page = (scanned.folder / REPORT).read_text("utf-8")
    assert page.count("data:image/jpeg") >= len(people)
    assert "Folge 1 é.mp4" in page


def test_tracks_are_where_people_are(sample, scanned):
    tracks = scanned.cast.tracks
    faces = tracks.track_of_face
    for shot in sample[1]:
        for panel in shot.panels:
            x, y, w, h = panel.box
            middle = tracks.box[:, :2] + tracks.box[:, 2:] / 2
            inside = (tracks.time >= shot.start) & (tracks.time < shot.end)
            inside &= (middle[:, 0] >= x) & (middle[:, 0] < x + w)
            inside &= (middle[:, 1] >= y) & (middle[:, 1] < y + h)
            assert len(np.unique(faces[inside])) == 1


def test_people_in_one_frame_are_not_one_character(scanned):
    labels = scanned.cast.labels()
    pairs = scanned.cast.tracks.overlaps()
    assert len(pairs)
    assert (labels[pairs[:, 0]] != labels[pairs[:, 1]]).all()


def test_a_second_run_does_nothing_again(sample, scanned):
    before = {p: p.stat().st_mtime_ns for p in scanned.folder.rglob("*")}
    told = []
    again = scan(sample[0], progress=lambda *what: told.append(what))
    assert {p: p.stat().st_mtime_ns for p in scanned.folder.rglob("*")} == before
    assert not told
    assert [c.title for c in again.cast.characters] == [c.title for c in scanned.cast.characters]


def test_only_what_a_setting_matters_for_is_done_again(sample, scanned, tmp_path):
    folder = tmp_path / "copy.cast"
    shutil.copytree(scanned.folder, folder)
    tracks = (folder / TRACKS).stat().st_mtime_ns
    few = scan(sample[0], folder, ScanSettings(max_characters=3))
    overlapping = few.cast.labels()[few.cast.tracks.overlaps()]
    assert len(few.cast.characters) == 3
    assert (overlapping[:, 0] != overlapping[:, 1]).all()
    assert (folder / TRACKS).stat().st_mtime_ns == tracks
    many = scan(sample[0], folder, ScanSettings(min_characters=7))
    assert len(many.cast.characters) == 7
    exact = scan(sample[0], folder, ScanSettings(n_characters=5))
    assert len(exact.cast.characters) == 5
    slow = scan(sample[0], folder, ScanSettings(tracking=TrackingSettings(sample_rate=2)))
    assert (folder / TRACKS).stat().st_mtime_ns != tracks
    assert slow.run["counts"]["pictures"] < scanned.run["counts"]["pictures"]


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_any_number_of_threads_gives_the_same_folder(sample, scanned, tmp_path, threads):
    set_threads(threads)
    try:
        other = scan(sample[0], tmp_path / "other.cast")
    finally:
        set_threads(None)
    assert files(other.folder) == files(scanned.folder)


@pytest.mark.posix
def test_a_scan_killed_half_way_ends_as_if_it_had_not_been(sample, scanned, tmp_path):
    folder = tmp_path / "killed.cast"
    code = "import sys, castlist.pipeline.scan as s; s._SECONDS_PER_PART = 0; s.scan(*sys.argv[1:])"
    kills = 0
    for _ in range(2):
        run = subprocess.Popen([sys.executable, "-c", code, str(sample[0]), str(folder)])
        parts = len(list((folder / PARTS).glob("*.npz")))
        while run.poll() is None:
            if len(list((folder / PARTS).glob("*.npz"))) > parts + 1:
                run.send_signal(signal.SIGKILL)
                kills += 1
                run.wait()
                break
            time.sleep(0.02)
    assert kills
    done = scan(sample[0], folder)
    assert done.run["stages"]["tracking faces"]["resumed_at"] > 0
    assert files(folder) == files(scanned.folder)


def test_parts_of_a_scan_killed_while_it_removed_them_are_gone(tmp_path):
    path = write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))] * 10)
    folder = scan(path).folder
    before = files(folder)
    (folder / PARTS).mkdir()
    (folder / PARTS / "000001.npz").write_bytes(b"")
    scan(path)
    assert files(folder) == before


def test_people_who_dissolve_into_each_other_are_two_tracks(clips, tmp_path):
    def frames(name, count):
        with open_video(clips / f"{name}.mp4") as video:
            return [f.image() for f, _ in zip(video.frames(), range(count), strict=False)]

    first, second = frames("d10", 75), frames("d11", 75)
    mix = [np.asarray((1 - k / 25) * a + k / 25 * b, np.uint8)
           for k, (a, b) in enumerate(zip(first[50:], second[:25], strict=True))]  # fmt: skip
    path = write_video(tmp_path / "dissolve.mp4", first[:50] + mix + second[25:])
    found = scan(path)
    assert found.run["counts"]["shots"] == 2
    assert len(found.cast.tracks) == len(found.cast.characters) == 2
    first, second = found.cast.tracks.offsets[1] - 1, found.cast.tracks.offsets[1]
    assert 2 <= found.cast.tracks.time[first] < found.cast.tracks.time[second] <= 3.2


def test_a_stage_begun_anew_is_not_taken_for_done(sample, scanned, tmp_path, monkeypatch):
    folder = tmp_path / "copy.cast"
    shutil.copytree(scanned.folder, folder)
    with monkeypatch.context() as patched:
        patched.setattr("castlist.pipeline.scan.track_shots", None)  # the second scan fails at once
        with pytest.raises(TypeError):
            scan(sample[0], folder, ScanSettings(tracking=TrackingSettings(sample_rate=2)))
    again = scan(sample[0], folder)
    assert again.report.read_text("utf-8").count("data:image/jpeg") >= 4
    assert files(folder) == files(scanned.folder)


def test_an_open_cast_is_whole_until_the_new_scan_is(sample, scanned, tmp_path, monkeypatch):
    """While tracks are grouped, the old scan is there with its own pictures; then it is said."""
    folder = tmp_path / "copy.cast"
    shutil.copytree(scanned.folder, folder)
    page = Corrections(folder)
    track = str(page.tracks.ids[0])
    version, faces = page.version, page.pictures_of(track)[0].read_bytes()
    real = castlist.pipeline.scan.embed_tracks
    seen = []

    def grouping(*given):
        page.refresh()
        assert page.has_pictures(track)
        assert page.pictures_of(track)[0].read_bytes() == faces
        page.name(1, "Anna")
        with Corrections(folder) as another:  # who opens it now sees the old one, too
            assert another.tracks.ids.tolist() == page.tracks.ids.tolist()
        seen.append(page.version)
        return real(*given)

    monkeypatch.setattr(castlist.pipeline.scan, "embed_tracks", grouping)
    scan(sample[0], folder, ScanSettings(tracking=TrackingSettings(sample_rate=2)))
    assert seen == [version + 1]  # one event, and no other scan
    assert not page.has_pictures(track)
    page.refresh()
    assert page.version > seen[0] + 1
    assert page.character("Anna").number == 1
    assert page.has_pictures(str(page.tracks.ids[0]))


def test_a_damaged_file_of_a_cast_is_made_again(sample, scanned, tmp_path):
    folder = tmp_path / "copy.cast"
    shutil.copytree(scanned.folder, folder)
    (folder / CAST).write_text("{")
    assert files(scan(sample[0], folder).folder) == files(scanned.folder)
    (folder / TRACKS).write_bytes((folder / TRACKS).read_bytes()[:2000])
    assert files(scan(sample[0], folder).folder) == files(scanned.folder)


def test_what_an_earlier_version_did_not_note_of_a_video_is_noted_without_tracking(tmp_path):
    video = write_video(tmp_path / "v.mkv", [plain((9, 9, 9))] * 5, aspect=Fraction(2))
    folder = scan(video).folder
    run = json.loads((folder / RUN).read_text("utf-8"))
    assert (run["video"]["size"], run["video"].pop("stored_size")) == ([64, 24], [64, 48])
    (folder / RUN).write_text(json.dumps(run), "utf-8")
    told = []
    scan(video, progress=lambda *what: told.append(what))
    assert not told
    again = json.loads((folder / RUN).read_text("utf-8"))
    assert again["video"] == {**run["video"], "stored_size": [64, 48]}
    assert {**again, "video": 0} == {**run, "video": 0}


def test_a_model_that_does_not_fit_is_told_before_watching(sample, tmp_path):
    save_model(BallModel((256, 64), describer="SE-ResNet50-256"), tmp_path / "m.safetensors")
    told = []
    with pytest.raises(InputError, match="needs features of SE-ResNet50-256"):
        scan(sample[0], tmp_path / "x.cast", ScanSettings(model=tmp_path / "m.safetensors"),
             progress=lambda *what: told.append(what))  # fmt: skip
    assert not told


def test_a_name_that_is_not_utf8(tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.mp4"))
    write_video(tmp_path / "v.mp4", [plain((90, 90, 90), (320, 180))] * 5).rename(path)
    assert scan(path).run["video"]["name"] == "caf?.mp4"
    assert scan(path).cast.characters == ()


@pytest.mark.parametrize("n", [1, 40])
def test_no_faces_is_an_answer(tmp_path, n):
    path = write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))] * n)
    found = scan(path)
    assert found.cast.characters == ()
    assert found.run["counts"]["pictures"] == (1 if n == 1 else 8)
    assert "No faces were found" in found.report.read_text("utf-8")
    assert len(read_tracks(found.folder / TRACKS)) == 0
    assert scan(path).cast.characters == ()


def test_a_video_is_as_long_as_it_is_whatever_the_file_says(tmp_path):
    images = [plain((90, 90, 90), (320, 180))] * 40
    path = write_video(tmp_path / "grey.h264", images, codec="libx264")
    with open_video(path) as video:
        assert video.duration == 0
    for _ in range(2):  # the second time it is not watched again
        found = scan(path)
        assert found.cast.duration == found.run["video"]["duration"] == pytest.approx(1.6)
    run = json.loads((found.folder / RUN).read_text("utf-8"))
    run["stages"]["tracking faces"]["end"] = "long"  # as nobody notes it
    (found.folder / RUN).write_text(json.dumps(run), "utf-8")
    assert scan(path).cast.duration == pytest.approx(1.6)


def test_one_face_in_one_frame(tmp_path, portraits):
    with open_video(portraits / "guido.mp4") as video:
        image = next(video.frames()).image()
    found = scan(write_video(tmp_path / "one.mp4", [image]))
    assert len(found.cast.characters) == 1
    assert len(found.cast.tracks) == 1


def test_a_full_disk_is_told_and_nothing_half_written_is_left(tmp_path):
    path = write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))] * 10)
    folder = tmp_path / "grey.cast"
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from castlist.cli import main\n"
        "import castlist.pipeline.scan\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))\n"
        f"sys.argv = ['castlist', 'scan', {str(path)!r}]\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert done.returncode == 2, done.stderr
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr
    assert not [p for p in folder.rglob("*") if p.name.endswith(".part")]
    assert not (folder / REPORT).exists()
    assert scan(path).cast.characters == ()  # with room again, all is well


@pytest.mark.parametrize("last", [False, True])
def test_a_folder_removed_meanwhile_is_not_taken_for_scanned(tmp_path, last):
    path = write_video(tmp_path / "grey.mp4", [plain((90, 90, 90), (320, 180))] * 10)
    folder = tmp_path / "grey.cast"

    def removing(stage, done, total):
        if stage == "tracking faces" and last == (done == total):
            shutil.rmtree(folder, ignore_errors=True)

    with pytest.raises(CastlistError, match="grey.cast.* (removed|gone|missing)"):
        scan(path, progress=removing)
    scan(path)
    scan(path, tmp_path / "other.cast")
    assert files(folder) == files(tmp_path / "other.cast")


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"n_characters": 0}, "at least 1"), ({"n_characters": 3, "max_characters": 4}, "not both"),
     ({"min_characters": 5, "max_characters": 4}, "greater than")],
)  # fmt: skip
def test_settings_that_cannot_be(settings, says):
    with pytest.raises(InputError, match=says):
        ScanSettings(**settings)


def test_a_folder_that_is_a_file(tmp_path):
    path = write_video(tmp_path / "v.mp4", [plain((9, 9, 9))])
    (tmp_path / "v.cast").write_text("mine")
    with pytest.raises(CastlistError, match="is a file"):
        scan(path)


def test_a_scan_resumes_at_a_cut_and_never_in_a_dissolve(tmp_path, monkeypatch):
    """A dissolve is found by what is before it, which a scan that begins in it does not see."""
    scenes = np.random.default_rng(0).integers(0, 256, (3, 5, 8, 3), np.uint8)
    first, second, third = (cv2.resize(one, (320, 180)) for one in scenes)
    ways = np.arange(1, 20) / 20
    mix = [np.asarray((1 - way) * first + way * second, np.uint8) for way in ways]
    images = [*[first] * 40, *mix, *[second] * 40, *[third] * 30]
    path = write_video(tmp_path / "v.mp4", images)
    monkeypatch.setattr(castlist.pipeline.scan, "_SECONDS_PER_PART", -1)
    places = set()

    def note(stage, done, total):
        for part in (path.with_suffix(".cast") / PARTS).glob("*.npz"):
            about = json.loads(str(np.load(part)["about"]))
            if about["resume_point"] is not None:
                places.add(about["resume_point"]["number"])

    assert scan(path, progress=note).run["counts"]["shots"] == 3
    assert places == {99}  # where the third picture begins
