from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.bench_cuts import DETECTORS, match, score, table, today
from datasets import cut_videos
from datasets.cut_videos import (
    Event,
    Stock,
    Transition,
    Truth,
    decode_small,
    make_video,
    read_truth,
)


@pytest.fixture(autouse=True)
def short(monkeypatch) -> None:
    """Short shots and small pictures: these tests make videos."""
    monkeypatch.setattr(cut_videos, "SECONDS", (0.6, 0.7))
    monkeypatch.setattr(cut_videos, "SIZES", ((160, 120),))
    monkeypatch.setattr(cut_videos, "CODECS", (("mpeg4", {"bf": "2"}, 3_000_000),))


def made(tmp_path, condition, kinds=("still", "still"), number=2):
    truth = make_video(tmp_path, condition, number, kinds=kinds)
    times, images = decode_small(tmp_path / f"{truth.name}.mp4")
    assert len(times) == truth.frames
    np.testing.assert_allclose(times, np.arange(len(times)) / truth.fps, atol=1e-3)
    assert read_truth(tmp_path / f"{truth.name}.json") == truth
    return truth, images.astype(float)


def frame(truth, moment) -> int:
    return round(moment * truth.fps)


@pytest.mark.parametrize(
    ("condition", "number"), [("colour", 1), ("grey", 0), ("dark", 4), ("saturated", 3)]
)
def test_hard_cuts_are_where_the_pictures_change(tmp_path, condition, number) -> None:
    truth, images = made(tmp_path, condition, number=number)
    assert [one.kind in ("cut", "similar") for one in truth.transitions] == [True]
    assert all(one.start == one.end for one in truth.transitions)
    change = [np.abs(two - one).mean() for one, two in pairwise(images)]
    cuts = [frame(truth, one.start) - 1 for one in truth.transitions]
    assert [np.argmax(change)] == cuts


def test_a_dissolve_mixes_both_shots_and_nothing_else_does(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(cut_videos, "_edit", lambda *_: cut_videos.Edit("dissolve", 10, 0, 10))
    truth, images = made(tmp_path, "dissolves")
    for number, one in enumerate(truth.transitions):
        first, end = frame(truth, one.start), frame(truth, one.end)
        assert (one.kind, end - first) == ("dissolve", 10)
        assert one.start == pytest.approx(truth.shots[number].end)
        assert one.end == pytest.approx(truth.shots[number + 1].start)
        old, new = images[first - 1], images[end]
        parts = [((image - old) * (new - old)).sum() for image in images[first - 1 : end + 1]]
        parts = np.array(parts) / ((new - old) ** 2).sum()
        np.testing.assert_allclose(parts, np.linspace(0, 1, 12), atol=0.08)


@pytest.mark.parametrize(("kind", "level"), [("fade", 0), ("white", 255)])
def test_a_fade_is_one_transition_through_black_or_white(
    tmp_path, monkeypatch, kind, level
) -> None:
    monkeypatch.setattr(cut_videos, "_edit", lambda *_: cut_videos.Edit(kind, 8, 3, 10))
    truth, images = made(tmp_path, "fades")
    assert [one.kind for one in truth.transitions] == [kind]
    for one in truth.transitions:
        first, end = frame(truth, one.start), frame(truth, one.end)
        assert end - first == 8 + 3 + 10
        away = np.abs(images[first - 1 : end + 1] - level).mean(axis=(1, 2, 3))
        assert np.argmin(away) in range(8, 13)
        assert away[9:12].max() < 8
        assert (np.diff(away[:10]) < 0).all()
        assert (np.diff(away[11:]) > 0).all()


def test_flashes_are_inside_shots_and_bright(tmp_path) -> None:
    truth, images = made(tmp_path, "flashes", number=3)
    flashes = [one for one in truth.events if one.kind == "flash"]
    assert flashes
    light = images.mean(axis=(1, 2, 3))
    for one in flashes:
        shot = next(s for s in truth.shots if s.start <= one.start and one.end <= s.end)
        around = light[frame(truth, shot.start) : frame(truth, shot.end)]
        assert light[frame(truth, one.start)] > np.median(around) + 10
        assert 1 <= frame(truth, one.end) - frame(truth, one.start) <= 3


@pytest.mark.parametrize("kind", ["light switch", "whip pan", "crash zoom"])
def test_what_is_sudden_in_a_shot_is_written_down(tmp_path, kind) -> None:
    truth, images = made(tmp_path, "colour", (kind,))
    assert not truth.transitions
    (event,) = truth.events
    assert event.kind == kind
    change = [np.abs(two - one).mean() for one, two in pairwise(images)]
    most = (int(np.argmax(change)) + 1) / truth.fps
    assert event.start - 0.05 <= most <= event.end + 0.05


def test_every_kind_of_take_can_be_drawn(tmp_path) -> None:
    kinds = ("talk", "handheld", "pan", "fast pan", "zoom", "walker", "exposure", "title")
    truth, _ = made(tmp_path, "colour", kinds, number=0)
    assert [shot.kind for shot in truth.shots] == list(kinds)


def test_the_seed_decides_and_splits_differ(tmp_path) -> None:
    truths = [
        make_video(tmp_path / str(n), "colour", 0, split=split, kinds=("talk",))
        for n, split in enumerate(("tune", "tune", "test"))
    ]
    assert truths[0] == truths[1]
    videos = [decode_small(tmp_path / str(n) / "colour-0.mp4")[1] for n in range(3)]
    np.testing.assert_array_equal(videos[0], videos[1])
    assert np.abs(videos[0][0].astype(float) - videos[2][0]).mean() > 10


def test_splits_share_no_clip(tmp_path) -> None:
    (tmp_path / "clips").mkdir()
    for name in "abcde":
        (tmp_path / "clips" / f"{name}.mp4").touch()
    tune, test = (Stock(tmp_path, split).clips for split in ("tune", "test"))
    assert len(tune) + len(test) == 5
    assert not set(tune) & set(test)


def test_a_boundary_stands_for_one_transition_at_most() -> None:
    cut, fade = Transition("cut", 1.0, 1.0), Transition("fade", 2.0, 3.0)
    assert match([cut, fade], [1.04, 2.9], 25) == ([], [])
    assert match([cut, fade], [1.0, 1.04, 2.2, 2.9], 25) == ([], [1.04, 2.9])
    assert match([cut, fade], [1.08, 1.79, 3.21], 25) == ([cut, fade], [1.08, 1.79, 3.21])
    assert match([cut], [1.08], 12) == ([], [])  # a frame and a half is more at 12 per second


def test_neighbouring_transitions_take_the_boundaries_that_fit_both() -> None:
    long, short = Transition("dissolve", 0.0, 2.0), Transition("cut", 0.5, 0.5)
    assert match([long, short], [0.5, 1.9], 25) == ([], [])


def test_the_table_lists_misses_and_false_alarms() -> None:
    truth = Truth(
        "colour-0", "colour", 25.0, (160, 120), "mpeg4", "colour", 100,
        (Transition("cut", 1.0, 1.0), Transition("cut", 3.0, 3.0)),
        (Event("talk", 0.0, 1.0), Event("whip pan", 1.0, 3.0), Event("pan", 3.0, 4.0)),
        (Event("whip pan", 2.0, 2.3),),
    )  # fmt: skip
    result = score([(truth, [1.0, 2.1, 3.5])])
    assert (result.recall, result.precision) == (1 / 2, 1 / 3)
    assert result.f1 == pytest.approx(0.4)
    shown = table("mine", {"colour": result}, listing=True)
    assert "missed: 1 cut; false: 1 whip pan, 1 pan" in shown
    assert "missed colour-0  3.000 s  cut" in shown
    assert "false  colour-0  2.100 s  whip pan" in shown
    assert score([(truth, [])]).precision == 1


def test_detectors_find_a_plain_cut() -> None:
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 256, (2, 90, 160, 3), np.uint8)
    frames = [(n / 25, pictures[n // 30]) for n in range(60)]
    assert today(frames) == [1.2]
    for name, detector in DETECTORS.items():
        found = detector(frames)
        assert found == [1.2] or name.startswith("histogram"), name  # its grey levels are alike
