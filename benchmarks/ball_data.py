"""Points on S^63 in balls of squared radius b: what clustering is timed on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DIM = 64
LARGEST = 2_500  # tracks of the main character of one cast; its sizes fall as 1 / rank, to one
OUTSIDE = 0.03  # part of the points that lie outside their ball, up to twice its radius


def ball_points(n: int, b: float, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return n points and their identities.

    Sizes are Zipf's, from 2,500 down to single points, cast after cast until n are drawn (one cast
    is 20,000 and some). A point's direction from its centre is uniform, its distance as in a
    uniform disc: most are near the rim, some near the middle.
    """
    rng = np.random.default_rng([seed, n, round(1000 * b)])
    cast = LARGEST // np.arange(1, LARGEST + 1)
    sizes = np.tile(cast, n // int(cast.sum()) + 1)
    identity = np.repeat(np.arange(len(sizes)), sizes)[:n]
    if n < cast.sum():  # a small set is a thinned cast, not its largest characters only
        identity = rng.choice(np.repeat(np.arange(LARGEST), cast), n, replace=False)
    centres = _unit(rng.normal(size=(int(identity.max()) + 1, DIM)))
    points = np.empty((n, DIM), np.float32)
    for start in range(0, n, 65_536):
        block = slice(start, min(start + 65_536, n))
        size = block.stop - block.start
        step = _unit(rng.normal(size=(size, DIM)))
        radius = np.sqrt(b * rng.random(size))
        radius[rng.random(size) < OUTSIDE] *= 2
        points[block] = _on_sphere(centres[identity[block]], step, radius)
    shuffled = rng.permutation(n)
    return points[shuffled], identity[shuffled]


def one_ball(n: int, b: float, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return points of one character, all within its ball: every pair is within 4b."""
    rng = np.random.default_rng(seed)
    centre, step = _unit(rng.normal(size=(1, DIM))), _unit(rng.normal(size=(n, DIM)))
    points = _on_sphere(centre, step, np.sqrt(b * rng.random(n)))
    return points.astype(np.float32), np.zeros(n, np.int64)


def chain(n: int, b: float, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return near-duplicates, each a little further along a great circle."""
    rng = np.random.default_rng(seed)
    angle = 1e-4 * np.arange(n)
    points = np.zeros((n, DIM))
    points[:, 0], points[:, 1] = np.cos(angle), np.sin(angle)
    points += 1e-5 * rng.normal(size=points.shape)
    return rng.permutation(points).astype(np.float32), np.zeros(n, np.int64)


def no_balls(n: int, b: float, seed: int = 0) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return points uniform on the sphere: no gaps, nothing to prune."""
    points = _unit(np.random.default_rng(seed).normal(size=(n, DIM)))
    return points.astype(np.float32), np.zeros(n, np.int64)


SHAPES = {"balls": ball_points, "one ball": one_ball, "chain": chain, "no balls": no_balls}


def _on_sphere(
    centre: NDArray[np.float64], step: NDArray[np.float64], radius: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Move from a centre on the sphere, along it, to the given straight-line distance."""
    across = _unit(step - (step * centre).sum(axis=1, keepdims=True) * centre)
    cosine = 1 - radius**2 / 2
    sine = np.sqrt(1 - cosine**2)
    return np.asarray(cosine[:, None] * centre + sine[:, None] * across)


def _unit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
