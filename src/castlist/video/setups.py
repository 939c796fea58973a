"""Camera set-ups: pictures that show the same scene from the same place.

Editing returns to a camera again and again: a dialogue is cut between two of them. Where somebody
was last seen in a set-up, the same person is seen when it returns, also with the face turned away.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from castlist.video.shots import SIGNATURE_LENGTH, distance, is_blank

#: The most that a picture is apart from the first one of its set-up.
_SAME = 0.15


def number_setups(pictures: Iterable[NDArray[np.floating]]) -> NDArray[np.int32]:
    """Return the number of each picture's set-up, in order of first appearance.

    A picture is of the set-up whose first picture it resembles most, if that is near enough, and
    else begins one. Other pictures of a set-up do not become its measure: it would drift. A blank
    picture has no set-up, -1.

    Parameters
    ----------
    pictures : iterable of ndarray of shape (SIGNATURE_LENGTH,)
        Signatures, in order of time.
    """
    numbers = []
    known = np.empty((64, SIGNATURE_LENGTH), np.float32)
    n, last = 0, -1
    for given in pictures:
        picture = given.astype(np.float32)
        if is_blank(picture):
            numbers.append(-1)
            continue
        if last >= 0 and distance(picture, known[last])[0, 0] < _SAME / 2:
            numbers.append(last)  # mostly the camera has not moved: no need to search
            continue
        apart = distance(picture, known[:n])[0]
        last = int(apart.argmin()) if n else -1
        if last < 0 or apart[last] >= _SAME:
            if n == len(known):
                known = np.concatenate([known, np.empty_like(known)])
            known[n], last, n = picture, n, n + 1
        numbers.append(last)
    return np.array(numbers, np.int32)
