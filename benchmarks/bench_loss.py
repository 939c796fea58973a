"""The ball loss against the way of the authors' released code, side by side.

That way, from its description: a Python loop over the batch's labels builds a mask and a centroid
each, then an N × K × D array of differences gives the distances. Then: every loss that the paper
compares, and pytorch-metric-learning's where it is installed (it takes all pairs and all semi-hard
triplets of the batch; we draw). Then: what part of a training step the MLP's own multiplications
are.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from castlist import BallModel
from castlist.research import BallLoss, TrainSettings, synthetic_tracks
from castlist.research.training.batches import uniform_batches
from castlist.research.training.losses.registry import LOSSES, make_loss
from castlist.research.training.network import BallNetwork

N, K, D = 2000, 450, 64
REPEATS = 15
MOST_TRIPLETS = 20_000_000  # a list of them is all in memory


def looped_ball_loss(embeddings: Tensor, labels: Tensor, b: Tensor) -> Tensor:
    centroids, own = [], torch.zeros(len(labels), dtype=torch.long)
    assigned = torch.zeros(len(labels), len(torch.unique(labels)), dtype=torch.bool)
    for k, label in enumerate(torch.unique(labels)):
        mask = labels == label
        own[mask] = k
        assigned[mask, k] = True
        mean = embeddings[mask].mean(0)
        centroids.append(mean / mean.norm())
    differences = embeddings.unsqueeze(1) - torch.stack(centroids).unsqueeze(0)
    distances = differences.pow(2).sum(2)
    positive = F.relu(distances.gather(1, own[:, None]) - b).mean()
    others = distances[~assigned].view(len(labels), -1).min(1).values
    return 4 * positive + F.relu(9 * b + 0.05 - others).mean()


def backward(loss: Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]


def best_ms(work: Callable[[], object], repeats: int = REPEATS) -> float:
    work()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return 1000 * min(times)


def best_of_each(work: dict[str, Callable[[], object]], seconds: float = 20) -> dict[str, float]:
    """Time each in turn, round after round, so that load on the machine affects all alike."""
    best = dict.fromkeys(work, float("inf"))
    until = time.perf_counter() + seconds
    rounds = 0
    while rounds < 4 or (rounds < 2 * REPEATS and time.perf_counter() < until):
        for name, one in work.items():
            began = time.perf_counter()
            one()
            took = 1000 * (time.perf_counter() - began)
            if rounds:  # the first round warms up
                best[name] = min(best[name], took)
        rounds += 1
    return best


def others(x: Tensor, labels: Tensor) -> dict[str, Callable[[], object]]:
    """Return the same losses of pytorch-metric-learning."""
    if importlib.util.find_spec("pytorch_metric_learning") is None:
        print("pytorch-metric-learning is not installed: pip install 'castlist[bench]'\n")
        return {}
    from pytorch_metric_learning import losses, miners

    contrastive = losses.ContrastiveLoss(neg_margin=1.3)
    triplet = losses.TripletMarginLoss(margin=0.2)
    miner = miners.TripletMarginMiner(margin=0.2, type_of_triplets="semihard")
    found: dict[str, Callable[[], object]] = {
        "pytorch-metric-learning: contrastive": lambda: backward(contrastive(x, labels))
    }
    counts = torch.bincount(labels)
    triplets = int((counts * (counts - 1) * (N - counts)).sum())
    if triplets < MOST_TRIPLETS:
        found["pytorch-metric-learning: triplet"] = lambda: backward(
            triplet(x, labels, miner(x, labels))
        )
    else:
        print(f"pytorch-metric-learning would list {triplets:,} triplets: left out\n")
    return found


def compare_losses(x: Tensor, labels: Tensor, b: Tensor) -> None:
    people, counts = np.unique(labels.numpy(), return_counts=True)

    def run(name: str) -> Callable[[], object]:
        loss = make_loss(TrainSettings(loss=name), len(people), D)
        return lambda: backward(loss(x, labels, b).total)

    found = best_of_each({name: run(name) for name in LOSSES} | others(x, labels))
    print(
        f"every loss, forward and backward, N = {N}, D = {D}, {len(people)} "
        f"people, {(counts > 5).sum()} of them with more than 5 samples"
    )
    print("| loss | time | of ball's |\n|---|---|---|")
    for name, took in sorted(found.items(), key=lambda item: item[1]):
        print(f"| {name} | {took:.2f} ms | {took / found['ball']:.1f} × |")
    print()


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    torch.manual_seed(0)
    labels = torch.randint(K, (N,))
    labels[:K] = torch.arange(K)
    x = F.normalize(torch.randn(N, D), dim=1).requires_grad_()
    b = torch.tensor(0.2, requires_grad=True)
    loss = BallLoss()
    ours, theirs = loss(x, labels, b).total, looped_ball_loss(x, labels, b)
    assert torch.allclose(ours, theirs, rtol=1e-5), (ours, theirs)
    fast = best_ms(lambda: backward(loss(x, labels, b).total))
    slow = best_ms(lambda: backward(looped_ball_loss(x, labels, b)))
    print(f"loss, forward and backward, N = {N}, K = {K}, D = {D}")
    print("| looped | ours | ratio |\n|---|---|---|")
    print(f"| {slow:.1f} ms | {fast:.2f} ms | {slow / fast:.0f} × |\n")

    tracks = synthetic_tracks()
    codes = np.unique(tracks.identity, return_inverse=True)[1]
    start = BallModel()
    start.standardise_by(*tracks.require_features().mean_and_scale())
    model = BallNetwork(start)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.9)
    features, y = next(uniform_batches(tracks, codes, N, np.random.default_rng(0)))
    inputs, targets = torch.from_numpy(features), torch.from_numpy(y)
    embedded = model(inputs).detach().requires_grad_()
    compare_losses(x, labels, b)
    # A batch as the paper's are: drawn from skewed data, so a few people have most of the pairs.
    compare_losses(x, torch.from_numpy(np.unique(y, return_inverse=True)[1]), b)

    dims = start.dims
    layers = [(torch.randn(N, a), torch.randn(N, b), torch.randn(b, a)) for a, b in pairwise(dims)]

    def multiply() -> None:
        for number, (before, after, weight) in enumerate(layers):
            torch.mm(before, weight.T)  # forward
            torch.mm(after.T, before)  # to the weights
            if number:
                torch.mm(after, weight)  # to the layer before

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        backward(loss(model(inputs), targets, model.b).total)
        optimiser.step()

    def epoch() -> None:
        rng = np.random.default_rng(0)
        for block, some in uniform_batches(tracks, codes, N, rng):
            optimiser.zero_grad(set_to_none=True)
            backward(loss(model(torch.from_numpy(block)), torch.from_numpy(some), model.b).total)
            optimiser.step()

    with torch.no_grad():
        products = best_ms(multiply)
    criterion = best_ms(lambda: backward(loss(embedded, targets, model.b).total))
    whole = best_ms(step)
    print("one training step on made data (60,000 tracks, batch of 2,000)")
    print("| MLP's multiplications | ball loss | whole step | MLP's part |\n|---|---|---|---|")
    part = 100 * products / whole
    print(f"| {products:.1f} ms | {criterion:.1f} ms | {whole:.1f} ms | {part:.0f} % |")
    print(f"\none epoch of {len(tracks):,} tracks: {best_ms(epoch, 3) / 1000:.2f} s")


if __name__ == "__main__":
    main()
