from __future__ import annotations

import pytest

import castlist.cluster.linkage as linkage_module


@pytest.fixture(autouse=True, scope="package")
def no_row_is_one_of_few():
    """Use the compiled code, which otherwise only larger sets need."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linkage_module, "FEW_ROWS", 0)
        yield
