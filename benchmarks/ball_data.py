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
