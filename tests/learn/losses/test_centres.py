from __future__ import annotations

import numpy as np
import torch

from castlist.learn.losses.centres import centroids, squared_distance


def test_centroids_on_the_sphere_and_in_space():
    f = torch.tensor([[3.0, 0.0], [0.0, 4.0], [2.0, 2.0]])
    own = torch.tensor([0, 0, 1])
    np.testing.assert_allclose(centroids(f, own, 2, True)[0], [0.6, 0.8])
    np.testing.assert_allclose(centroids(f, own, 2, False)[0], [1.5, 2.0])


def test_distance_to_a_chosen_centroid():
    f = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    centres = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(squared_distance(f, centres, torch.tensor([0, 1])), [9, 9])
