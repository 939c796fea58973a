"""From features to a cast: the result does not depend on order, names or threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from castlist import TrackSet, cluster_tracks, embed_tracks, shipped_model
from castlist.cast.cast import make_cast
from castlist.research import FinetuneSettings, finetune

FEW = FinetuneSettings(iterations=3, rate=0.03)


def video(seed, n, people, coarse):
    """Hard tracks of people who share frames; coarse features make ties and duplicates."""
    rng = np.random.default_rng(seed)
    who = rng.integers(people, size=n)
    counts = rng.integers(1, 5, n)
    track = np.repeat(np.arange(n), counts)
    own = rng.normal(size=(people, 128))[who] + rng.normal(size=(n, 128))
    feature = own[track] + 0.4 * rng.normal(size=(len(track), 128))
    if coarse:  # everybody looks like one of three
        feature = np.sign(rng.normal(size=(3, 128)))[who[track] % 3]
    feature /= np.linalg.norm(feature, axis=1, keepdims=True)
    place = np.arange(len(track)) - (np.cumsum(counts) - counts)[track]
    frame = rng.integers(0, n, n)[track] + place
    box = np.full((len(track), 4), 50.0)
    box[:, 0] = rng.integers(0, 500, n)[track]
    return TrackSet.from_faces(
        track, feature=feature.astype(np.float32), frame=frame, time=frame / 5, box=box,
        describer="SFace-TV",
    )  # fmt: skip


def cast_of(tracks, model):
    """Go the way of a scan; give what was clustered, and the characters by their tracks' rows."""
    tuned = finetune(model, tracks, FEW)
    points = embed_tracks(tracks, tuned)
    made = cluster_tracks(tracks, tuned, overlaps=True)
    cast = make_cast(tracks, made.labels, tracks.mean_features(), 60.0)
    return points, made, {
        frozenset(one.tracks.tolist()): (round(one.seconds, 6), one.background)
        for one in cast.characters
    }  # fmt: skip


@pytest.fixture(scope="module")
def model():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # small products, many of them
    yield shipped_model()
    torch.set_num_threads(threads)


@given(
    seed=st.integers(0, 10**6), n=st.integers(1, 40), people=st.integers(1, 8), coarse=st.booleans()
)
@settings(max_examples=20, deadline=None)
def test_neither_order_nor_names_change_the_cast(model, seed, n, people, coarse):
    tracks = video(seed, n, people, coarse)
    rng = np.random.default_rng([seed, 1])
    order = rng.permutation(n)
    names = rng.permutation(10 * n)[:n].astype(str)
    other = replace(tracks[order], ids=names, videos=("another name",), identity=names[::-1])
    points, made, cast = cast_of(tracks, model)
    other_points, other_made, other_cast = cast_of(other, model)
    np.testing.assert_array_equal(other_points, points[order])
    assert other_cast == {
        frozenset(np.argsort(order)[list(rows)].tolist()): what for rows, what in cast.items()
    }
    np.testing.assert_array_equal(made.merges[:, 2:], other_made.merges[:, 2:])
    for count in range(made.n_clusters, n + 1):
        one, two = made.cut_to(count)[order], other_made.cut_to(count)
        np.testing.assert_array_equal(one[:, None] == one, two[:, None] == two)


#: Prints the characters of a video, and prints of a model trained, one fine-tuned, and a large
#: clustering, on so many threads.
CHILD = """
import hashlib, json, os, sys
threads = int(sys.argv[1])
os.sched_getaffinity = lambda process: set(range(threads))  # what castlist counts cores by
import numpy as np, torch
from castlist import cluster_tracks, complete_linkage, shipped_model
from castlist.research import FinetuneSettings, SyntheticWorld, TrainSettings, finetune
from castlist.research import synthetic_tracks, train
from castlist.parallel import n_threads
from tests.cast.test_same_cast import video
torch.set_num_threads(threads)
assert (n_threads(), torch.get_num_threads()) == (threads, threads)

def printed(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()

def weights(model):
    return printed(*model.tensors().values())

world = SyntheticWorld(dim=32, who=10, how=14, loudness=1.5)
made = synthetic_tracks(40, 600, 4, world=world, seed=3)
settings = TrainSettings(hidden=(32,), embedding=16, epochs=3, batch=300, rate=0.02, freeze_b=1,
                         validation=0.2)
tracks = video(1, 200, 20, False)
tuned = finetune(shipped_model(), tracks, FinetuneSettings(iterations=20, rate=0.03))
points = np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)
print(json.dumps({
    "trained": weights(train(made, settings).model), "tuned": weights(tuned),
    "cast": cluster_tracks(tracks, tuned, overlaps=True).labels.tolist(),
    "large": printed(complete_linkage(points, 12.0).labels),
}))
"""


@pytest.mark.parametrize("counts", [(1, 4), pytest.param((1, 2, 4, 2), marks=pytest.mark.slow)])
def test_threads_do_not_change_the_cast_and_a_seed_gives_one_model(counts):
    """In fresh processes, where nothing is left of another run."""
    path = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH", "")]))
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(threads)], stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": str(threads),
                 "OPENBLAS_NUM_THREADS": str(threads), "NUMBA_NUM_THREADS": str(threads),
                 "OMP_WAIT_POLICY": "passive"},  # more threads than cores must not spin
        )
        for threads in counts
    ]  # fmt: skip
    said = [json.loads(process.communicate()[0]) for process in running]
    assert [process.returncode for process in running] == [0] * len(counts)
    for one, two in combinations(range(len(counts)), 2):
        if counts[one] == counts[two]:
            assert said[one] == said[two]
    assert len(set(said[0]["cast"])) > 5
    for one in said[1:]:
        assert (one["cast"], one["large"]) == (said[0]["cast"], said[0]["large"])
