from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest
import torch

from castlist import CollapseWarning, InputError, TrackSet, complete_linkage, load_model, nmi
from castlist.io.lock import LOCK, locked
from castlist.model.model_file import read_tensors, write_tensors
from castlist.research import (
    TrainSettings,
    choose_threshold,
    curve,
    evaluate_tracks,
    split_identities,
    train,
)
from castlist.research.training.run_folder import Run
from castlist.research.training.train import _draw_identities
from castlist.research.training.train_settings import LOSS_NAMES

SETTINGS = TrainSettings(
    hidden=(32,), embedding=16, epochs=12, batch=300, rate=0.02, freeze_b=2, validation=0.2, seed=1
)


def test_it_learns_people_it_never_saw(made):
    result = train(made, replace(SETTINGS, epochs=60))
    split = split_identities(made, 0.2, seed=1)
    unseen = made[split.validation]
    found = evaluate_tracks(unseen, result.model).scores
    raw = curve(unseen.identity, complete_linkage(unseen.mean_features()).merges)
    assert found.nmi == pytest.approx(result.model.validation["nmi"])
    assert found.nmi > 0.9
    assert found.nmi > raw.nmi.max() + 0.1
    assert abs(found.n_clusters - found.n_characters) <= 2
    best = max(result.history, key=lambda record: record["nmi"])
    assert result.model.validation == best
    assert not any(record["collapsed"] for record in result.history)


@pytest.mark.parametrize("loss", [name for name in LOSS_NAMES if name != "ball"])
def test_every_rival_learns_and_gets_the_threshold_of_the_true_number(made, loss):
    # The text's scale, 1 / (N |C_k|), makes the prototypical loss a slow one.
    epochs = 60 if loss == "prototypical" else 30
    result = train(made, replace(SETTINGS, epochs=epochs, loss=loss))
    model, best = result.model, max(result.history, key=lambda record: record["nmi"])
    assert result.history[-1]["loss"] < 0.6 * result.history[0]["loss"]
    assert best["nmi"] > result.history[0]["nmi"]
    unseen = made[split_identities(made, 0.2, seed=1).validation]
    raw = complete_linkage(unseen.mean_features()).cut_to(12)
    assert best["nmi"] > nmi(unseen.identity, raw) + 0.05
    assert model.normalise == LOSS_NAMES[loss]
    assert model.settings["normalise"] == LOSS_NAMES[loss]
    assert model.threshold == model.operating == choose_threshold(model, unseen, by="count")
    found = evaluate_tracks(unseen, model).scores
    kept = model.validation
    assert found.n_clusters == best["n_clusters"] == kept["operating_clusters"] == 12
    assert found.nmi == pytest.approx(best["nmi"])
    assert (kept["operating_nmi"], kept["operating_wcp"]) == pytest.approx((found.nmi, found.wcp))
    seen = made[split_identities(made, 0.2, seed=1).train]
    assert kept["train_threshold"] == choose_threshold(model, seen, by="count")
    assert not any(record["collapsed"] for record in result.history)


def test_the_training_tracks_of_a_threshold_are_drawn_by_identity():
    identity = np.repeat([f"person {i:04d}" for i in range(1001)], [4000] + [5] * 1000)
    drawn = _draw_identities(identity, seed=0)
    assert len(drawn) == 3000
    assert len(np.unique(drawn)) == 3000
    names, counts = np.unique(identity[drawn], return_counts=True)
    assert (counts == 5).sum() >= len(names) - 2  # whole identities, but the largest and the last
    assert counts.max() <= 1500
    assert names[-1] > "person 0900"  # not the first in the alphabet
    assert not np.array_equal(drawn, _draw_identities(identity, seed=1))


@pytest.mark.parametrize(("loss", "value"), [("ldml", "beta"), ("contrastive", "margin")])
def test_a_rivals_value_is_trained_as_b_is(made, loss, value):
    frozen = train(made, replace(SETTINGS, epochs=4, loss=loss)).history
    start = frozen[0][value]
    assert [record[value] == pytest.approx(start) for record in frozen[:2]] == [True, True]
    assert frozen[3][value] != pytest.approx(start, abs=1e-6)
    still = train(made, replace(SETTINGS, epochs=4, loss=loss, rate_b=0)).history
    assert still[3][value] == pytest.approx(start)


def test_only_some_epochs_are_validated_and_the_last_is(made):
    result = train(made, replace(SETTINGS, epochs=8, validate_every=3))
    validated = [record["epoch"] for record in result.history if record["nmi"] is not None]
    assert validated == [2, 5, 7]
    assert result.model.validation["epoch"] in validated
    assert result.history[0]["n_clusters"] is None
    every = train(made, replace(SETTINGS, epochs=8))
    assert [r["loss"] for r in result.history] == [r["loss"] for r in every.history]
    assert [result.history[i]["nmi"] for i in validated] == [
        every.history[i]["nmi"] for i in validated
    ]


def test_weight_decay_makes_smaller_weights(made):
    def size(**change):
        model = train(made, replace(SETTINGS, epochs=3, **change)).model
        return sum(np.square(one).sum() for one in (*model.weights, *model.biases))

    assert size(weight_decay=0.05) < 0.9 * size()


@pytest.mark.parametrize("loss", ["ball", "ldml"])
def test_given_videos_are_validated_apart(made, loss):
    split = split_identities(made, 0.2, seed=1)
    held = made[split.validation]
    parts = [held[np.arange(len(held)) % 3 == k] for k in range(3)]
    parts = [replace(part, videos=(f"video {k}",)) for k, part in enumerate(parts)]
    result = train(
        made[split.train],
        replace(SETTINGS, epochs=3, loss=loss),
        validation=TrackSet.join(parts),
    )
    model, kept = result.model, result.model.validation
    scores = [evaluate_tracks(part, model).scores for part in parts]
    assert kept["n_characters"] == sum(one.n_characters for one in scores)
    names = ("n_clusters", "nmi", "wcp")
    if loss == "ldml":  # at τ; the epoch is chosen at each video's own number
        names = ("operating_clusters", "operating_nmi", "operating_wcp")
        known = [len(np.unique(part.identity)) for part in parts]
        at_counts = [
            evaluate_tracks(part, model, n_characters=k).scores
            for part, k in zip(parts, known, strict=True)
        ]
        assert kept["n_clusters"] == kept["operating_clusters"] == sum(known)
        assert kept["nmi"] == pytest.approx(np.mean([one.nmi for one in at_counts]))
    assert kept[names[0]] == sum(one.n_clusters for one in scores)
    assert kept[names[1]] == pytest.approx(np.mean([one.nmi for one in scores]))
    assert kept[names[2]] == pytest.approx(np.mean([one.wcp for one in scores]))


def test_videos_of_one_person_each_are_validated_together(made):
    split = split_identities(made, 0.2, seed=1)
    held = made[split.validation]
    alone = [held[held.identity == name] for name in np.unique(held.identity)]
    alone = [replace(part, videos=(str(part.identity[0]),)) for part in alone]
    settings = replace(SETTINGS, epochs=1, loss="triplet")
    together = train(made[split.train], settings, validation=TrackSet.join(alone))
    assert together.model.validation["nmi"] == pytest.approx(
        train(made, settings).model.validation["nmi"]
    )


def test_a_rival_needs_two_people_to_validate_on(made):
    split = split_identities(made, 0.2, seed=1)
    held = made[split.validation]
    one = held[held.identity == held.identity[0]]
    with pytest.raises(InputError, match="choosing a threshold requires .* of at least two people"):
        train(made[split.train], replace(SETTINGS, loss="triplet"), validation=one)


def test_half_of_a_tracks_faces_can_be_trained_on(made):
    short = replace(SETTINGS, epochs=2)
    one, half = train(made, short), train(made, replace(short, average_half=True))
    assert one.history[0]["loss"] != half.history[0]["loss"]


def test_the_schedule_is_the_papers(made):
    history = train(made, replace(SETTINGS, decay_every=5, decay=0.5)).history
    start = history[0]["b"]
    assert [record["b"] == start for record in history[:4]] == [True, True, False, False]
    assert [record["rate"] for record in history] == pytest.approx(
        [0.02] * 5 + [0.01] * 5 + [0.005] * 2
    )


def test_the_same_seed_gives_the_same_model_and_leaves_the_callers_randomness(made):
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    first = train(made, replace(SETTINGS, epochs=3))
    assert torch.equal(torch.random.get_rng_state(), before)
    second = train(made, replace(SETTINGS, epochs=3))
    for name, value in first.model.tensors().items():
        np.testing.assert_array_equal(value, second.model.tensors()[name])
    other = train(made, replace(SETTINGS, epochs=3, seed=2))
    assert other.model.b != first.model.b


class Killed(Exception):
    pass


def timeless(history):
    return [{key: record[key] for key in record if "seconds" not in key} for record in history]


@pytest.mark.parametrize(
    ("loss", "after"),
    # The first epochs have no momentum of b̂, β or m̂ yet; the later ones have.
    [("ball", 1), *((name, 4) for name in LOSS_NAMES)],
)
def test_a_killed_run_goes_on_from_its_last_epoch(made, tmp_path, loss, after):
    settings = replace(SETTINGS, epochs=6, loss=loss)
    whole = train(made, settings)

    def kill(stage, done, total):
        if done == after:
            raise Killed

    with pytest.raises(Killed):
        train(made, settings, run=tmp_path, progress=kill)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert len(log) == after
    seen = []
    resumed = train(made, settings, run=tmp_path, progress=lambda _, done, __: seen.append(done))
    assert timeless(resumed.history) == timeless(whole.history)  # β and m are in there
    assert resumed.model.threshold == whole.model.threshold
    assert seen == list(range(after, 7))
    for name, value in whole.model.tensors().items():
        np.testing.assert_array_equal(value, resumed.model.tensors()[name])
    saved = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        saved.embed(made.mean_features()), whole.model.embed(made.mean_features())
    )
    assert saved.settings["seed"] == 1
    assert saved.describer == "made"
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in log] == list(range(6))
    assert {"loss", "b", "n_clusters", "nmi", "wcp"} <= set(log[0])
    assert ({"similar", "dissimilar", "nearest_other"} <= set(log[0])) == (loss == "ball")
    assert saved.settings["loss"] == loss
    assert saved.threshold == whole.model.threshold


def test_a_run_whose_folder_is_no_text_goes_on(made, tmp_path):
    folder, short = tmp_path / os.fsdecode(b"run\xff"), replace(SETTINGS, epochs=1)
    first, again = (train(made, short, run=folder) for _ in range(2))
    assert again.history == first.history
    assert load_model(folder / "model.safetensors").threshold == first.model.threshold


def test_a_run_killed_at_its_very_end_has_all_of_its_log(made, tmp_path, monkeypatch):
    short, saved = replace(SETTINGS, epochs=2), []

    def cut_off(run, history):
        saved.append(len(history))
        if len(history) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("castlist.research.training.run_folder.Run._write_log", cut_off)
        with pytest.raises(KeyboardInterrupt):
            train(made, short, run=tmp_path)
    assert saved == [1, 2]
    history = train(made, short, run=tmp_path).history
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == history
    assert len(lines) == 2


def test_one_run_a_folder_at_a_time(made, tmp_path):
    with locked(tmp_path / "run"):
        with pytest.raises(InputError, match="is using this folder"):
            train(made, replace(SETTINGS, epochs=1), run=tmp_path / "run")
        assert [path.name for path in (tmp_path / "run").iterdir()] == [LOCK]
    train(made, replace(SETTINGS, epochs=1), run=tmp_path / "run")
    assert not (tmp_path / "run" / LOCK).exists()


def test_another_run_is_not_taken_for_this_one(made, tmp_path):
    short = replace(SETTINGS, epochs=1)
    train(made, short, run=tmp_path)
    with pytest.raises(InputError, match="other rate, seed; choose another folder, or restart"):
        train(made, replace(short, rate=0.1, seed=0), run=tmp_path)
    with pytest.raises(InputError, match="other data"):
        train(made[:-5], short, run=tmp_path)
    result = train(made, replace(short, rate=0.1), run=tmp_path, restart=True)
    assert result.model.settings["rate"] == 0.1
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="a run needs a folder"):
        train(made, short, run=tmp_path / "file")


def test_given_validation_tracks_must_be_other_people(made):
    split = split_identities(made, 0.2, seed=1)
    short = replace(SETTINGS, epochs=1)
    given = train(made[split.train], short, validation=made[split.validation])
    assert given.model.validation["nmi"] == train(made, short).model.validation["nmi"]
    with pytest.raises(InputError, match="in both training and validation, such as 'person"):
        train(made, short, validation=made[split.validation])


def test_collapse_is_warned_of(made):
    # One point, as raw unit-norm input gives: scale features down so that the biases decide.
    shrunk = made.with_identity(made.identity)
    constant = replace(shrunk, features=type(made.features)(np.ones((made.n_faces, 8), np.float32)))
    with pytest.warns(CollapseWarning, match="collapsing to one point"):
        result = train(constant, replace(SETTINGS, epochs=14))
    collapsed = [record["collapsed"] for record in result.history]
    assert collapsed == [False] * 12 + [True] * 2  # ten epochs after freeze_b
    assert result.history[-1]["n_clusters"] == 1


def test_a_loss_that_is_not_finite_stops_the_run(made):
    from castlist import CastlistError

    with pytest.raises(CastlistError, match="the loss is .*; try a smaller rate"):
        train(made, replace(SETTINGS, rate=1e30, normalise=False, epochs=3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch": 0}, "batch must be at least 1"),
        ({"rate": 0}, "rate must be positive"),
        ({"rate": float("nan")}, "rate must be positive"),
        ({"momentum": 1.0}, r"momentum must be in \[0, 1\)"),
        ({"validation": 0.0}, "validation must be between 0 and 1"),
        ({"hidden": (4, 0)}, "hidden widths"),
        ({"seed": -1}, "seed must be 0 or more"),
        ({"weight_decay": -0.1}, "weight_decay must be 0 or more"),
        ({"validate_every": 0}, "validate_every must be at least 1"),
        ({"seed": 2**63}, "seed must be at most"),
        ({"hidden": (10**10,)}, "hidden widths must be between 1 and 65,536"),
        ({"embedding": 10**10}, "embedding must be at most 65,536"),
        ({"batch": 10**20}, "batch must be at most"),
        ({"rounds": 101}, "rounds must be at most 100"),
        ({"rate": float("inf")}, "rate must be finite"),
        ({"b_hat": float("nan")}, "b_hat must be finite"),
        ({"loss": "luck"}, "loss must be one of ball, cross-entropy, ldml, .*, not 'luck'"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(SETTINGS, **change)


def test_best_epoch_is_scored_by_nmi_of_the_clustering_at_4b(made):
    result = train(made, replace(SETTINGS, epochs=4))
    unseen = made[split_identities(made, 0.2, seed=1).validation]
    labels = complete_linkage(result.model.embed(unseen.mean_features()), result.model.threshold)
    assert result.model.validation["nmi"] == pytest.approx(nmi(unseen.identity, labels.labels))


def test_somebody_must_be_left_to_train_on(made):
    split = split_identities(made, 0.2, seed=1)
    known, held = made[split.train], made[split.validation]
    with pytest.raises(InputError, match="requires labelled tracks of at least two people"):
        train(known, SETTINGS, validation=held, exclude=set(known.identity))
    with pytest.raises(InputError, match="validation of at least one"):
        train(known, SETTINGS, validation=held, exclude=set(held.identity))
    other = replace(held, describer="other")
    with pytest.raises(InputError, match="features are of made, validation features of other"):
        train(known, SETTINGS, validation=other)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"history": None}, "damaged"),
        ({"history": [{}]}, "damaged"),
        ({"fingerprint": 3}, "other"),
        ({"fingerprint": {"settings": []}}, "other"),
    ],
)
def test_a_damaged_state_is_said_to_be_one(tmp_path, change, says):
    run = Run.open(tmp_path, {"settings": {"seed": 0}})
    tensors = [{"b_hat": np.array(0.1)} for _ in range(3)]
    run.save([{"collapsed": False, "nmi": None}], *tensors)
    saved = run.load()
    assert saved is not None
    assert saved.state == {"b_hat": np.array(0.1)}
    about = {"fingerprint": run.fingerprint, "history": saved.history, **change}
    write_tensors(tmp_path / "state.safetensors", {"state.b_hat": tensors[0]["b_hat"]}, about)
    with pytest.raises(InputError, match=says):
        run.load()
    write_tensors(tmp_path / "state.safetensors", {"else": tensors[0]["b_hat"]}, {
        "fingerprint": run.fingerprint, "history": saved.history})  # fmt: skip
    with pytest.raises(InputError, match="damaged"):
        run.load()


def test_the_state_of_another_model_is_not_taken(made, tmp_path):
    short = replace(SETTINGS, epochs=1)
    train(made, short, run=tmp_path)
    tensors, about = read_tensors(tmp_path / "state.safetensors")
    tensors = {name: value for name, value in tensors.items() if name != "state.model.b_hat"}
    write_tensors(tmp_path / "state.safetensors", tensors, about)
    with pytest.raises(InputError, match="does not fit this run"):
        train(made, short, run=tmp_path)
