"""A describer without a network.

``castlist research describe faces -o faces.parquet --describer thumbnail``
"""

import cv2
import numpy as np

from castlist.video.align import aligned


class Thumbnail:
    """The grey values of an aligned face of 16 × 16 pixels: no network, and hardly any use."""

    name = "thumbnail"
    aligned = True

    def __init__(self, device):
        pass

    def crop(self, image, box, landmarks):
        """Return the crop of a face in an image, as `describe` takes it."""
        return aligned(image, landmarks)

    def describe(self, crops):
        """Return the features of faces, one row of unit length per face."""
        grey = [cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY) for crop in crops]
        small = [cv2.resize(one, (16, 16), interpolation=cv2.INTER_AREA) for one in grey]
        features = np.array(small, np.float32).reshape(len(crops), 256)
        features -= features.mean(axis=1, keepdims=True)
        return features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-12)
