from __future__ import annotations

import pytest

from castlist.errors import InputError, first_line


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("bad magic\nand a page of details"), "ValueError: bad magic"),
        (OSError(), "OSError"),
        (ValueError("x" * 10**6), f"ValueError: {'x' * 300} …"),
        (InputError("x.parquet: no such file"), "x.parquet: no such file"),
    ],
)
def test_one_line_says_what_went_wrong(error, said):
    assert first_line(error) == said
