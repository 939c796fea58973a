"""Camera set-ups: frames that show the same scene from the same camera position.

Editing alternates between set-ups: a dialogue is cut between two of them. A person seen at a place
of a set-up is usually there when the set-up returns, even with the face turned away.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from castlist.video.shots import SIGNATURE_LENGTH, distance, is_blank

# Maximum distance of a frame from the first one of its set-up.
_SAME = 0.15


def number_setups(pictures: Iterable[NDArray[np.floating]]) -> NDArray[np.int32]:
    """Return the number of each frame's set-up, in order of first appearance.

    A frame belongs to the set-up whose first frame is nearest, if it is near enough; otherwise it
    begins a set-up. Only first frames are compared, because set-ups would drift otherwise. A blank
    frame has no set-up, -1.

    Parameters
    ----------
    pictures : iterable of ndarray of shape (SIGNATURE_LENGTH,)
        Signatures of the frames, in order of time.
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
            numbers.append(last)  # the usual case: the same camera as before
            continue
        apart = distance(picture, known[:n])[0]
        last = int(apart.argmin()) if n else -1
        if last < 0 or apart[last] >= _SAME:
            if n == len(known):
                known = np.concatenate([known, np.empty_like(known)])
            known[n], last, n = picture, n, n + 1
        numbers.append(last)
    return np.array(numbers, np.int32)
