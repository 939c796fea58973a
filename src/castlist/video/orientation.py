"""The eight orientations in which a stored picture can be shown.

A file may ask that its pictures are turned or mirrored, by a display matrix. The orientation is
that of FFmpeg, which transposes and flips in the same cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Orientation:
    """How a stored picture becomes the shown one: transposed first, then flipped.

    Attributes
    ----------
    transposed : bool
        Whether rows and columns change places.
    mirrored : bool
        Whether left and right change places.
    upended : bool
        Whether top and bottom change places.
    """

    transposed: bool = False
    mirrored: bool = False
    upended: bool = False

    def shown(self, image: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return a stored picture as it is shown."""
        if self.transposed:
            image = image.swapaxes(0, 1)
        if self.mirrored:
            image = image[:, ::-1]
        if self.upended:
            image = image[::-1]
        return np.ascontiguousarray(image)

    def size(self, size: tuple[int, int]) -> tuple[int, int]:
        """Return the shown width and height of stored ones, or the stored ones of shown ones."""
        return size[::-1] if self.transposed else size


#: The orientation of a picture that is shown as it is stored.
AS_STORED = Orientation()


def orientation_of_matrix(matrix: Sequence[int]) -> Orientation:
    """Return the orientation of a display matrix: nine numbers, as FFmpeg keeps them.

    A stored point (x, y) is shown at (a x + c y, b x + d y), up to a shift, where a, b, c and d are
    the numbers 0, 1, 3 and 4. Other angles than quarter turns become the nearest of these.
    """
    a, b, c, d = (int(matrix[k]) for k in (0, 1, 3, 4))
    if abs(b) + abs(c) > abs(a) + abs(d):
        return Orientation(True, c < 0, b < 0)
    return Orientation(False, a < 0, d < 0)


def orientation_of(picture: av.VideoFrame) -> Orientation:
    """Return the orientation in which a decoded picture is shown."""
    try:
        matrix: Any = picture.side_data.get("DISPLAYMATRIX")
    except ValueError:  # PyAV lists no side data if it does not know the kind of one
        turns = round(picture.rotation / 90) % 4  # anticlockwise
        return Orientation(bool(turns % 2), turns in (2, 3), turns in (1, 2))
    if matrix is None:
        return AS_STORED
    return orientation_of_matrix(np.frombuffer(matrix, np.int32).tolist())
