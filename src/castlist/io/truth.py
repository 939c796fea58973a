"""Read the truth of a clip, labelled by eye: ``time,x,y,w,h,who``, one row per face."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, FiniteFloat, TypeAdapter

from castlist.errors import InputError, first_line
from castlist.io.untrusted import read_json, read_small

COLUMNS = ("time", "x", "y", "w", "h", "who")

#: ``who`` of a row that shows no face, and of one that shows an unknown person.
NOTFACE, UNSURE = "notface", "unsure"

_MAX_NAME = 1000  # characters: an array of names is as wide as its longest


@dataclass(frozen=True)
class Truth:
    """Labelled faces of one clip.

    Attributes
    ----------
    time : ndarray of float, shape (n,)
        Seconds from the first frame.
    box : ndarray of float, shape (n, 4)
        x, y, width, height.
    who : ndarray of str, shape (n,)
        A person, ``notface`` or ``unsure``.
    """

    time: NDArray[np.float64]
    box: NDArray[np.float64]
    who: NDArray[np.str_]

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Mask of the rows that show a person: neither ``notface`` nor ``unsure``."""
        return ~np.isin(self.who, (NOTFACE, UNSURE))


class _Interval(BaseModel):
    start: FiniteFloat = Field(alias="from")
    end: FiniteFloat = Field(alias="to")


_INTERVALS = TypeAdapter(list[_Interval])


def read_truth(path: str | Path, scale: float | NDArray[np.float64] = 1.0) -> Truth:
    """Read the truth of a clip.

    Parameters
    ----------
    path : path
        A CSV file in UTF-8 with the header ``time,x,y,w,h,who``. Boxes are in stored pixels.
    scale : float or ndarray
        What boxes are multiplied by, as of :func:`castlist.geometry.pixel_scale`.
    """
    path = Path(path)
    numbers: list[list[float]] = []
    who: list[str] = []
    try:
        rows = csv.reader(io.StringIO(read_small(path).decode("utf-8-sig"), newline=""))
        header = next(rows, [])
        if tuple(header) != COLUMNS:
            raise InputError(f"{path}: the first line must be {','.join(COLUMNS)}")
        for row in rows:
            if row:
                name = _check(path, rows.line_num, row)
                numbers.append([float(value) for value in row[:5]])
                who.append(name)
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a CSV file ({first_line(error)})") from error
    values = np.array(numbers, np.float64).reshape(-1, 5)
    return Truth(values[:, 0], values[:, 1:] * scale, np.array(who, np.str_))


def read_missed(path: str | Path) -> NDArray[np.float64]:
    """Read the intervals in which a visible face has no row in the truth.

    Parameters
    ----------
    path : path
        A JSON list of objects with ``from`` and ``to`` in seconds; other keys are ignored.

    Returns
    -------
    ndarray of float, shape (n, 2)
        Start and end of each interval.
    """
    path = Path(path)
    try:
        found = _INTERVALS.validate_python(read_json(path))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: not a list of intervals with from and to ({first_line(error)})"
        ) from error
    if any(one.start > one.end for one in found):
        raise InputError(f"{path}: an interval ends before it starts")
    return np.array([(one.start, one.end) for one in found], np.float64).reshape(-1, 2)


def _check(path: Path, line: int, row: list[str]) -> str:
    """Return the name in a row; refuse an incomplete row."""
    try:
        time, x, y, width, height = (float(value) for value in row[:5])
        valid = len(row) == len(COLUMNS) and width > 0 and height > 0
        valid = valid and all(map(math.isfinite, (time, x, y, width, height)))
    except ValueError:
        valid = False
    if not valid or not 0 < len(row[5]) <= _MAX_NAME:
        raise InputError(
            f"{path}, line {line}: expected {','.join(COLUMNS)}, found {','.join(row)[:60]!r}"
        )
    return row[5]
