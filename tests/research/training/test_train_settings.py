from __future__ import annotations

from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
import torch

from castlist import Features, InputError
from castlist.research import BallLoss, SyntheticWorld, TrainSettings, synthetic_tracks, train
from castlist.research.commands.train import train as command
from castlist.research.training.batches import draw_faces
from castlist.research.training.train_settings import RECIPES, resolve_recipe

QUICK = {"hidden": (32,), "epochs": 3, "batch": 500, "validation": 0.2}


def world_of(loudness):
    """Features in which strangers hardly resemble each other, as a good describer's do not."""
    world = SyntheticWorld(dim=160, who=110, how=24, loudness=loudness)
    return synthetic_tracks(120, 1500, 4, world=world, seed=3)


@pytest.fixture(scope="module")
def made():
    return world_of(0.8)


def test_the_papers_recipe_is_the_defaults():
    assert resolve_recipe("paper") == TrainSettings() == RECIPES["paper"]
    assert resolve_recipe("paper", alpha=2.0) == TrainSettings(alpha=2.0)


def test_settings_can_take_the_place_of_a_name():
    settings = TrainSettings(epochs=7)
    assert resolve_recipe(settings) == settings
    assert resolve_recipe(settings, loss="ldml") == TrainSettings(epochs=7, loss="ldml")


def test_library_and_command_line_have_the_same_default(made, monkeypatch):
    assert resolve_recipe() == RECIPES["neighbours"]
    assert signature(train).parameters["recipe"].default == "neighbours"
    assert signature(command).parameters["recipe"].default == "neighbours"
    used = []

    def stop(tracks, validation, settings, apart):
        used.append(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr("castlist.research.training.trainer.Trainer", stop)
    for words in ((), ("paper",), (TrainSettings(epochs=3),)):
        with pytest.raises(KeyboardInterrupt):
            train(made, *words)
    assert used == [RECIPES["neighbours"], TrainSettings(), TrainSettings(epochs=3)]


def test_settings_reach_the_model(made):
    quick = {**QUICK, "epochs": 1}
    ours = train(made, resolve_recipe("neighbours", **quick)).model
    assert (ours.rounds, ours.reach, ours.nearest, ours.share) == (2, 0.28, 1.0, 0.5)
    assert ours.false_rate == 0.1
    assert (np.diff(ours.strangers) > 0).all()
    assert (ours.dims, ours.mean.any()) == ((160, 32, 160), False)
    plain = train(made, resolve_recipe("paper", **quick)).model
    assert (plain.rounds, plain.residual, plain.mean.any()) == (0, False, True)
    assert plain.dims == (160, 32, 64)


@pytest.mark.parametrize(
    "change",
    [{"cast_size": 0}, {"cast_size": 10}, {"average_half": False}, {"skip_singletons": False},
     {"b_holdout": 0.0}, {"alpha_b": 4.0}, {"nearest": 0.5}, {"share": 0.9}, {"reach": 0.5},
     {"rounds": 1}],
)  # fmt: skip
def test_each_part_of_our_recipe_changes_training(made, change):
    base = resolve_recipe("neighbours", **{**QUICK, "epochs": 1, "reach": 0.4, "nearest": 2.0})
    one, other = (train(made, settings).history[0] for settings in (base, replace(base, **change)))
    assert (one["loss"], one["b"]) != (other["loss"], other["b"])


def test_our_recipe_is_for_balls_only():
    assert resolve_recipe("neighbours").rounds > 0
    assert resolve_recipe("neighbours", loss="triplet") == TrainSettings(loss="triplet")


def test_a_residual_recipe_takes_no_embedding():
    with pytest.raises(InputError, match="as long as its features"):
        resolve_recipe("neighbours", embedding=32)
    assert resolve_recipe("neighbours", embedding=32, residual=False).embedding == 32


def test_no_such_recipe():
    with pytest.raises(InputError, match="unknown recipe 'soup'; choose one of neighbours, paper"):
        resolve_recipe("soup")


def test_it_learns_people_it_never_saw(made):
    found = train(made, resolve_recipe("neighbours", **{**QUICK, "epochs": 12})).model.validation
    assert found["nmi"] > 0.9


def test_held_out_people_train_b_and_no_weight(made):
    """Other faces of held-out people change b and the cosines of strangers, and no weight."""
    settings = replace(RECIPES["neighbours"], **QUICK, b_hat=-0.5)
    reserved = train_split(made, settings)
    seen = made[reserved]
    people, labels = np.unique(seen.identity, return_inverse=True)
    order = np.random.default_rng([settings.seed, 2]).permutation(len(people))
    held = np.isin(labels, order[: round(settings.b_holdout * len(people))])
    x = np.asarray(made.features).copy()
    rows = np.isin(made.track_of_face, reserved[held])
    assert rows.sum() > 100
    x[rows] = np.random.default_rng(0).normal(size=(rows.sum(), x.shape[1])) / np.sqrt(x.shape[1])
    other = replace(made, features=Features(x))
    first, second = train(made, settings).model, train(other, settings).model
    assert first.b_hat != second.b_hat
    # b is in the MLP's loss; where it counts for nothing, the MLP is the same to the last bit.
    blind = replace(settings, rate_b=0.0)
    first, second = train(made, blind).model, train(other, blind).model
    assert (first.strangers != second.strangers).any()
    for name, value in first.tensors().items():
        if name != "strangers":
            np.testing.assert_array_equal(value, second.tensors()[name])


def train_split(made, settings):
    from castlist.research import split_identities

    return split_identities(made, settings.validation, settings.seed).train


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::castlist.CollapseWarning")
def test_b_finds_its_balance_from_wherever_it_starts():
    """With the MLP held still, b goes where alpha_b P(d² > b) = 9 P(d² to others < γ)."""
    hard = world_of(1.3)  # in an easy world every b between people and their balls will do
    # Drawn uniformly, so that all people held out are in every batch, with one rate throughout.
    still = {**QUICK, "epochs": 30, "rate": 1e-7, "rate_b": 1e5, "cast_size": 0, "decay": 1.0}
    still["alpha_b"] = 180.0
    ends = [
        train(hard, resolve_recipe("neighbours", **still, b_hat=start)) for start in (-3.0, -0.5)
    ]
    b = ends[0].history[-1]["b"]
    assert b == pytest.approx(ends[1].history[-1]["b"], rel=0.1)
    # A larger b would pull back and a smaller one push on, on people held out and on no others.
    settings = resolve_recipe("neighbours", **still)
    tracks = hard[train_split(hard, settings)]
    people, labels = np.unique(tracks.identity, return_inverse=True)
    order = np.random.default_rng([settings.seed, 2]).permutation(len(people))
    own = np.flatnonzero(np.isin(labels, order[: round(settings.b_holdout * len(people))]))
    faces, who = draw_faces(tracks, labels, own, np.random.default_rng(0), settings.average_half)
    points, who = torch.from_numpy(ends[0].model.embed(faces)), torch.from_numpy(who)
    loss = BallLoss(settings.alpha_b, settings.epsilon, skip_singletons=True)
    slopes = []
    for factor in (0.7, 1.5):
        at = torch.tensor(factor * b, requires_grad=True)
        loss(points, who, at).total.backward()
        slopes.append(at.grad.item())
    assert slopes[0] < 0 < slopes[1]


def test_held_needs_people(made):
    with pytest.raises(InputError, match="leaves too few"):
        train(made, resolve_recipe("neighbours", **{**QUICK, "b_holdout": 0.01}))
    with pytest.raises(InputError, match="has no b"):
        TrainSettings(loss="triplet", b_holdout=0.1)


def test_other_training_features_are_another_run(made, tmp_path):
    """Also where nothing is standardised, and people, tracks and validation are the same."""
    held = np.isin(made.identity, np.unique(made.identity)[:20])
    settings = resolve_recipe("neighbours", **{**QUICK, "epochs": 1})
    train(made[~held], settings, validation=made[held], run=tmp_path)
    other = replace(made, features=Features(np.asarray(made.features)[:, ::-1].copy()))
    with pytest.raises(InputError, match="other data"):
        train(other[~held], settings, validation=made[held], run=tmp_path)
