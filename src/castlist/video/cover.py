"""How well a picture of a face would do as the cover of a character."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from castlist.video.align import square_around
from castlist.video.frames import Image
from castlist.video.pictures import share_of

_SIDE = 112  # pixels of a picture in which titles are looked for
_STROKE = 9  # … of the width of a letter's stroke, at most
_BRIGHT, _BRIGHTER = 130, 60  # levels of a stroke, and above what is beside it
_LINE = 6  # rows of a line of letters, at least
#: Strokes in a row of pixels: hair, clothes and blinds have fewer than a line of letters.
_FEW, _MANY = 3.0, 6.0
_CHIN = 80  # rows down to about the chin
_INSIDE = (0.4, 0.95)  # of a picture in the frame: none of hair and shoulders, and nearly all
_OVER, _BELOW = 0.2, 0.45  # worth of a picture with a title over the face, or below it


def presentable(image: Image, box: NDArray[np.floating], face: Image, shown: Image) -> float:
    """Return how presentable a face is, 0 to 1: well-lit, not at the border, with no title.

    Compare pictures of one person by it: some skin is brighter, and some clothes have stripes.

    Parameters
    ----------
    image : ndarray
        The frame.
    box : ndarray
        Where the face is in the frame.
    face : ndarray
        The face on the template.
    shown : ndarray
        The picture of the face that people are shown.
    """
    strokes = title_strokes(shown)
    over = _ramp(float(strokes[:_CHIN].max()), _FEW, _MANY)
    below = _ramp(float(strokes[_CHIN:].max()), _FEW, _MANY)
    clear = min(1 - (1 - _OVER) * over, 1 - (1 - _BELOW) * below)
    left, top, side = square_around(box)
    _, _, w, h = share_of(image, np.array([left, top, side, side]))
    inside = w * h * image.shape[0] * image.shape[1] / max(side * side, 1e-9)
    return light(face) * clear * _ramp(inside, *_INSIDE)


def light(face: Image) -> float:
    """Return how well a face is lit, 0 to 1: neither dark, nor burnt out, nor flat."""
    gray = cv2.cvtColor(face, cv2.COLOR_BGR2GRAY)[16:104, 20:92]  # less hair and background
    levels = np.bincount(gray.ravel(), minlength=256).cumsum() / gray.size
    low, middle, high = (int(np.searchsorted(levels, share)) for share in (0.05, 0.5, 0.95))
    burnt = 1 - float(levels[249])
    return (
        _ramp(middle, 15, 70)
        * _ramp(high - low, 20, 110)
        * (1 - _ramp(burnt, 0.05, 0.4))
        * (1 - 0.8 * _ramp(middle, 190, 240))
    )


def title_strokes(picture: Image) -> NDArray[np.float64]:
    """Return how many bright upright strokes lie side by side, in each line of a picture.

    Letters are strokes, narrow and much brighter than what is beside them, and a title has many of
    them in a line.
    """
    small = cv2.resize(picture, (_SIDE, _SIDE), interpolation=cv2.INTER_AREA)
    blue, green, red = cv2.split(small)
    value = cv2.max(cv2.max(blue, green), red)  # titles may be red or yellow
    kernel = np.ones((1, _STROKE), np.uint8)
    above = cv2.morphologyEx(value, cv2.MORPH_TOPHAT, kernel)
    stroke = (above > _BRIGHTER) & (value > _BRIGHT)
    begins = np.count_nonzero(stroke[:, 1:] & ~stroke[:, :-1], axis=1)
    return np.convolve(begins, np.full(_LINE, 1 / _LINE), "valid")


def _ramp(value: float, zero: float, one: float) -> float:
    """Return 0 up to ``zero``, 1 from ``one`` on, and a straight line between."""
    return min(max((value - zero) / (one - zero), 0.0), 1.0)
