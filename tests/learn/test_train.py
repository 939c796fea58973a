from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from castlist import (
    CollapseWarning,
    InputError,
    TrainSettings,
    complete_linkage,
    curve,
    evaluate_tracks,
    load_model,
    nmi,
    split_identities,
    train,
)

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
    for a, b in zip(
        first.model.state_dict().values(), second.model.state_dict().values(), strict=True
    ):
        assert torch.equal(a, b)
    other = train(made, replace(SETTINGS, epochs=3, seed=2))
    assert other.model.b.item() != first.model.b.item()


class Killed(Exception):
    pass


@pytest.mark.parametrize("after", [1, 4])
def test_a_killed_run_goes_on_from_its_last_epoch(made, tmp_path, after):
    whole = train(made, replace(SETTINGS, epochs=6))

    def kill(stage, done, total):
        if done == after:
            raise Killed

    with pytest.raises(Killed):
        train(made, replace(SETTINGS, epochs=6), run=tmp_path, progress=kill)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert len(log) == after
    seen = []
    resumed = train(
        made,
        replace(SETTINGS, epochs=6),
        run=tmp_path,
        progress=lambda _, done, __: seen.append(done),
    )
    assert seen == list(range(after, 7))
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, resumed.model.state_dict()[name])
    saved = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(
        saved.embed(made.mean_features()), whole.model.embed(made.mean_features())
    )
    assert saved.settings["seed"] == 1
    assert saved.describer == "made"
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in log] == list(range(6))
    assert {"loss", "similar", "dissimilar", "b", "n_clusters", "nmi", "wcp"} <= set(log[0])


def test_another_run_is_not_taken_for_this_one(made, tmp_path):
    short = replace(SETTINGS, epochs=1)
    train(made, short, run=tmp_path)
    with pytest.raises(InputError, match="other rate, seed; give another folder, or restart"):
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
    assert result.history[-1]["collapsed"]
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
    with pytest.raises(InputError, match="two people at least are needed to train on"):
        train(known, SETTINGS, validation=held, exclude=set(known.identity))
    with pytest.raises(InputError, match="to train on, and of one to validate on"):
        train(known, SETTINGS, validation=held, exclude=set(held.identity))
    other = replace(held, describer="other")
    with pytest.raises(InputError, match="training features are of made, validation's of other"):
        train(known, SETTINGS, validation=other)
