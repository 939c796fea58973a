"""Valid files for ``fuzz.py``, made by castlist's own writers; each is attacked in turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scipy.io import savemat

from castlist import (
    BallModel,
    Corrections,
    TrackSet,
    accept,
    complete_linkage,
    propose,
    save_model,
    write_tracks,
)
from castlist.cast.cast import make_cast
from castlist.cast.cast_file import RUN, save_cast
from castlist.cast.episodes import BALLS
from castlist.cast.folder import CAST, CORRECTIONS, EPISODES, LABELS, POINTS, TRACKS, write_points
from castlist.cast.series import join
from castlist.research import synthetic_tracks
from castlist.research.training.run_folder import Run
from castlist.video.checkpoint import Checkpoint
from castlist.video.sampling import ResumePoint
from castlist.video.shot_tracking import DescribedTrack, TrackedShot
from castlist.video.shots import SIGNATURE_LENGTH


def _video_tracks(seed: int = 0, dim: int = 128, people: int = 3) -> TrackSet:
    rng = np.random.default_rng(seed)
    track = np.repeat(np.arange(2 * people), 3)
    who = np.eye(dim)[track % people] + 0.05 * rng.normal(size=(len(track), dim))
    frame = 5 * np.arange(len(track))
    frame[3:6] = frame[:3]  # two of them at once
    return TrackSet.from_faces(
        [f"{t + 1:05d}" for t in track.tolist()], feature=who.astype(np.float32), frame=frame,
        time=frame / 25, box=np.tile([9.0, 8, 70, 80], (len(track), 1)), shot=track // 2,
        score=np.ones(len(track)), video="film.mp4", describer="SFace",
    )  # fmt: skip


def parquet(home: Path) -> list[Path]:
    made = synthetic_tracks(3, 6, 2)
    write_tracks(home / "half.parquet", made, half=True)
    write_tracks(home / "film.parquet", _video_tracks(dim=8))
    return [home / "half.parquet", home / "film.parquet"]


def authors(*attacked: str) -> Callable[[Path], list[Path]]:
    def make(home: Path) -> list[Path]:
        names = {"7": "sheldon", "11": "unknown_1", "14": "leonard"}
        for part in ("ids", "tracks", "features/bbt_s01e01"):
            (home / part).mkdir(parents=True)
        lines = ["CVHCI_TRACKLABELS_V1", *(f"{track} {name}" for track, name in names.items()), ""]
        (home / "ids/bbt_s01e01.ids").write_text("\n".join(lines))
        columns = ("x", "y", "w", "h", "frames", "timestamps", "trackerId")
        records = np.empty(3, [(name, object) for name in columns])
        for i, track in enumerate(names):
            np.save(home / f"features/bbt_s01e01/{track}.npy", np.eye(4)[: 1 + i])
            column = np.arange(1 + i, dtype=np.float64)[:, None]
            records[i] = (*[column] * 6, np.uint16(int(track)))
        savemat(home / "tracks/bbt_s01e01.facetracks.mat", {"FaceTracks": records[None]})
        return [home / name for name in attacked]

    return make


def model(home: Path) -> list[Path]:
    for name, rounds in (("a", 0), ("b", 2)):
        model = BallModel([6, 8, 6], residual=rounds > 0, rounds=rounds, describer="SFace")
        model.settings, model.validation = {"seed": 1}, {"nmi": 0.5}
        save_model(model, home / f"{name}.safetensors")
    return [home / "a.safetensors", home / "b.safetensors"]


FINGERPRINT = {"settings": {"seed": 0, "batch": 7}, "data": "x"}


def state(home: Path) -> list[Path]:
    parts = [{"linears.0.weight": np.zeros((2, 3)), "b_hat": np.array(0.1)} for _ in range(3)]
    Run.open(home, FINGERPRINT).save([{"collapsed": False, "nmi": 0.5}], *parts)
    return [home / "state.safetensors"]


def checkpoint(home: Path) -> list[Path]:
    layers = ((8, 6), (4, 8))
    weights = {f"linears.{i}.weight": torch.randn(*s) for i, s in enumerate(layers)}
    weights |= {f"linears.{i}.bias": torch.zeros(s[0]) for i, s in enumerate(layers)}
    value = {
        "model_state": weights, "criterion_state": {"ctrd.h_bias": torch.tensor(0.1)}, "epoch": 127,
    }  # fmt: skip
    torch.save(value, home / "a.pth.tar")
    torch.save(value, home / "b.pth.tar", _use_new_zipfile_serialization=False)
    return [home / "a.pth.tar", home / "b.pth.tar"]


def vggface2(home: Path) -> list[Path]:
    value = {
        "conv1/7x7_s2.weight": torch.zeros(4, 3, 7, 7),
        "module.classifier.bias": torch.ones(2),
    }
    torch.save(value, home / "a.pth")
    torch.save({"state_dict": value}, home / "b.pth")
    return [home / "a.pth", home / "b.pth"]


_PLAN = """title = "a study"
seeds = [0, 1]
methods = ["ball", "base", "mine"]
finetune_iterations = 60
[train]
tracks = "train.parquet"
validation = "train.parquet"
[[test]]
name = "films"
tracks = ["train.parquet"]
validation = "train.parquet"
combined = {all = "*"}
paper = true
faces = "."
gallery = ["film"]
[method.mine]
like = "ball"
key = "ball"
finetune = true
hidden = [8, 8]
epochs = 3
alpha = 4.0
[ablation.width]
of = "ball"
wide = {embedding = 99}
other = {tracks = "train.parquet", batch = 7}
"""


def plan(home: Path) -> list[Path]:
    write_tracks(home / "train.parquet", synthetic_tracks(3, 6, 2))
    (home / "study.toml").write_text(_PLAN, "utf-8")
    return [home / "study.toml"]


def mot(home: Path) -> list[Path]:
    rows = [f"{f},{t},{10 * t},5,20,30,1,-1,-1,-1" for t in (1, 2) for f in range(1, 6)]
    (home / "mot.txt").write_text("\n".join(rows))
    return [home / "mot.txt"]


def speech(home: Path) -> list[Path]:
    """Write a diarization and subtitles of both kinds, and the cast that they are about."""
    _write_cast(home / "film.cast")
    turns = [f"SPEAKER film 1 {t} 1.5 <NA> <NA> s{t % 2} <NA> <NA>" for t in range(4)]
    (home / "talk.rttm").write_text("\n".join(turns))
    cues = "00:00:0{0}{1}000 --> 00:00:0{0}{1}900\nHello.\n"
    (home / "in.srt").write_text("\n".join(cues.format(t, ",") for t in range(4)))
    (home / "in.vtt").write_text("\n".join(["WEBVTT\n", *(cues.format(t, ".") for t in range(4))]))
    return [home / name for name in ("talk.rttm", "in.srt", "in.vtt")]


def cvat(home: Path) -> list[Path]:
    box = '<box frame="{}" outside="{}" keyframe="1" xtl="1.5" ytl="5" xbr="30" ybr="40"/>'
    tracks = "".join(
        f'<track id="{t}" label="Anna" task_id="1">{box.format(0, 0)}{box.format(9, t)}</track>'
        for t in range(2)
    )
    text = f'<?xml version="1.0"?><annotations><version>1.1</version>{tracks}</annotations>'
    (home / "cvat.xml").write_text(text, "utf-8")
    return [home / "cvat.xml"]


def _write_cast(folder: Path, seed: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    tracks = _video_tracks(seed)
    points = tracks.mean_features()
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    labels = complete_linkage(points, 0.5).labels
    write_tracks(folder / TRACKS, tracks)
    write_points(folder, points)
    save_cast(make_cast(tracks, labels, points, 5.0), folder / CAST, {"threshold": 0.5})
    run = {
        "castlist": "1", "counts": {"shots": 3},
        "stages": {"tracking faces": {"fingerprint": "x", "seconds": 1}},
        "video": {"name": "film.mp4", "path": "../film.mp4", "duration": 5.0, "size": [640, 360],
                  "rate": 25.0},
        "settings": {"model": "shipped", "tracking": {"sample_rate": 5.0}},
    }  # fmt: skip
    (folder / RUN).write_text(json.dumps(run), "utf-8")
    return folder


def _say(folder: Path) -> None:
    with Corrections(folder) as said:
        ids = said.tracks.ids.tolist()
        said.name(1, "Anna")
        said.move([ids[-1]], to=None)
        said.not_face([ids[1]])
        said.background([2])
        accept(said, propose(said))
        said.name(1, "Zoë")
        said.undo()
        said.log._open().execute("PRAGMA journal_mode = DELETE")


def cast(home: Path) -> list[Path]:
    _write_cast(home)
    return [home / name for name in (CAST, RUN, TRACKS, POINTS)]


def log(home: Path) -> list[Path]:
    _write_cast(home)
    _say(home)
    return [home / CORRECTIONS]


def joined(home: Path) -> list[Path]:
    films = [_write_cast(home / f"film{i}", i) for i in range(2)]
    _say(films[0])
    join(films, home / "all")
    episode = sorted((home / "all" / EPISODES).iterdir())[0]
    return [
        *(home / "all" / name for name in (RUN, CAST, BALLS)),
        *(episode / name for name in (LABELS, POINTS, TRACKS)),
    ]


def parts(home: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    track = DescribedTrack(
        shot=0, end=0.8, number=np.arange(4), time=np.arange(4) / 5, score=np.ones(4, np.float32),
        box=np.tile(np.array([9, 8, 70, 80], np.float32), (4, 1)), described=np.array([1, 3]),
        features=rng.normal(size=(2, 3)).astype(np.float32), pictures=[],
        ends=rng.normal(0, 40, (2, SIGNATURE_LENGTH)).astype(np.float16),
    )  # fmt: skip
    parts = Checkpoint(home / "parts")
    for k in range(2):
        parts.add([TrackedShot([track], ResumePoint(1.0 + k, 25, 1), 0.9, 5)])
    return sorted((home / "parts").glob("*.npz"))


def describer(home: Path) -> list[Path]:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    weight = numpy_helper.from_array(np.eye(3, 4, dtype=np.float32), "weight")
    graph = helper.make_graph(
        [helper.make_node("GlobalAveragePool", ["face"], ["mean"]),
         helper.make_node("Flatten", ["mean"], ["flat"]),
         helper.make_node("MatMul", ["flat", "weight"], ["feature"])],
        "mean",
        [helper.make_tensor_value_info("face", TensorProto.FLOAT, ["n", 3, 112, 112])],
        [helper.make_tensor_value_info("feature", TensorProto.FLOAT, ["n", 4])],
        [weight],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, home / "describer.onnx")
    return [home / "describer.onnx"]
