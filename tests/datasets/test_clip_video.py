from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest

from datasets.clip_video import Panel, Shot, compose, encode, read_truth, truth_at, write_truth

SIZE = (320, 180)
FPS = 25


@pytest.fixture(scope="module")
def video(
    portraits: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Shot], list[np.ndarray], list[float]]:
    """Six shots: the truth, the frames in grey, their times."""
    out = tmp_path_factory.mktemp("video") / "six.mp4"
    shots = compose(portraits, out, seed=1, size=SIZE, shots=6, fps=FPS)
    with av.open(str(out)) as container:
        frames = [(frame.to_ndarray(format="gray"), frame.time) for frame in container.decode()]
    return shots, [image.astype(float) for image, _ in frames], [time for _, time in frames]


def test_shots_follow_one_another_and_last_one_to_four_seconds(video) -> None:
    shots, images, times = video
    assert len(shots) == 6
    assert shots[0].start == 0
    assert all(one.end == two.start for one, two in pairwise(shots))
    assert all(1 <= shot.end - shot.start <= 4 for shot in shots)
    assert len(images) == round(shots[-1].end * FPS)
    assert images[0].shape == SIZE[::-1]
    np.testing.assert_allclose(times, np.arange(len(times)) / FPS, atol=1e-6)


def test_cuts_are_where_the_truth_says(video) -> None:
    shots, images, _ = video
    change = np.array([np.abs(b - a).mean() for a, b in pairwise(images)])
    cuts = [round(shot.start * FPS) - 1 for shot in shots[1:]]
    within = np.delete(change, cuts)
    assert change[cuts].min() > 2 * within.max()


def test_people_change_at_every_cut_and_some_share_a_shot(video) -> None:
    shots, _, _ = video
    people = [{panel.person for panel in shot.panels} for shot in shots]
    assert all(one != two for one, two in pairwise(people))
    assert [len(group) for group in people] == [len(shot.panels) for shot in shots]
    assert sum(len(group) > 1 for group in people) >= 6 / 4


def test_panels_are_in_the_frame_and_apart(video) -> None:
    shots, _, _ = video
    for shot in shots:
        covered = np.zeros(SIZE[::-1], int)
        for panel in shot.panels:
            x, y, w, h = panel.box
            assert min(x, y) >= 0
            assert x + w <= SIZE[0]
            assert y + h <= SIZE[1]
            covered[y : y + h, x : x + w] += 1
        assert covered.max() == 1


def test_a_panel_moves_and_what_is_around_it_stands_still(video) -> None:
    shots, images, times = video
    for shot in shots:
        seen = np.array([i for i, t in zip(images, times, strict=True) if truth_at([shot], t)])
        around = np.ones(SIZE[::-1], bool)
        for panel in shot.panels:
            x, y, w, h = panel.box
            # The encoder works in blocks: what is next to a panel may change with it.
            around[max(y - 16, 0) : y + h + 16, max(x - 16, 0) : x + w + 16] = False
            assert seen[:, y : y + h, x : x + w].std(axis=0).mean() > 1
        assert seen[:, around].std(axis=0).mean() < 1


def test_the_seed_decides_the_truth(portraits: Path, video, monkeypatch) -> None:
    from datasets import clip_video

    monkeypatch.setattr(clip_video, "encode", lambda *arguments: None)  # the truth needs no frames
    truths = [
        compose(portraits, Path("none.mp4"), seed=seed, size=SIZE, shots=6, fps=FPS)
        for seed in (1, 2)
    ]
    assert truths[0] == video[0]
    assert truths[1] != truths[0]


def test_a_long_video_has_what_is_promised(portraits: Path, monkeypatch) -> None:
    from datasets import clip_video

    monkeypatch.setattr(clip_video, "encode", lambda *arguments: None)
    for seed in range(5):
        shots = compose(portraits, Path("none.mp4"), seed=seed)
        assert len(shots) == 64
        assert all(1 <= shot.end - shot.start <= 4 for shot in shots)
        people = [frozenset(panel.person for panel in shot.panels) for shot in shots]
        assert all(one != two for one, two in pairwise(people))
        assert {len(group) for group in people} == {1, 2, 3}
        assert sum(len(group) > 1 for group in people) == 16
        names = [path.stem for path in portraits.glob("*.mp4")]
        assert min(sum(name in group for group in people) for name in names) >= 4


def test_truth_survives_its_file(tmp_path: Path) -> None:
    shots = [
        Shot(0.0, 1.2, (Panel("a", (0, 1, 20, 30)),)),
        Shot(1.2, 3.0, (Panel("b", (0, 0, 9, 9)), Panel("c", (10, 0, 9, 9)))),
    ]
    write_truth(shots, tmp_path / "truth.json")
    assert read_truth(tmp_path / "truth.json") == shots
    assert truth_at(shots, 1.1999999) == [("b", (0, 0, 9, 9)), ("c", (10, 0, 9, 9))]
    assert truth_at(shots, 1.19) == [("a", (0, 1, 20, 30))]
    assert truth_at(shots, 3.0) == []


def test_too_few_clips_and_odd_sides_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least two"):
        compose(tmp_path, tmp_path / "out.mp4")
    with pytest.raises(ValueError, match="even"):
        compose(tmp_path, tmp_path / "out.mp4", size=(321, 180))


def test_a_clip_filmed_on_its_side_is_shown_upright(tmp_path: Path) -> None:
    from datasets import clip_video

    bright_left = np.zeros((64, 96, 3), np.uint8)
    bright_left[:, :48] = 255
    encode(tmp_path / "side.mp4", [bright_left] * FPS, (96, 64), FPS)
    # The matrix of a video track's header: identity, made a quarter turn clockwise.
    identity, turned = (
        b"".join(int(value).to_bytes(4, "big", signed=True) for value in matrix)
        for matrix in (
            (65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30),
            (0, 65536, 0, -65536, 0, 0, 64 * 65536, 0, 1 << 30),
        )
    )
    data = (tmp_path / "side.mp4").read_bytes()
    header = data.index(b"tkhd")
    matrix = data.index(identity, header)
    (tmp_path / "side.mp4").write_bytes(data[:matrix] + turned + data[matrix + 36 :])
    clip = clip_video._clip(tmp_path / "side.mp4")
    assert (clip.width, clip.height) == (64, 96)
    image = next(clip_video._frames(clip, 0.0, 1, FPS))
    assert image[:40].min() > 200  # what was on the left is on top
    assert image[-40:].max() < 50
