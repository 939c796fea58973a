from __future__ import annotations

import pytest

from castlist.cast.log import Log
from datasets.synthetic_casts import made_video, write_folder
from robustness.faults.load import lost, run
from robustness.review_server import Server


@pytest.mark.parametrize(
    ("clients", "requests"), [(8, 60), pytest.param(20, 200, marks=pytest.mark.slow)]
)
def test_corrections_of_many_clients_are_all_kept(tmp_path, clients, requests):
    """As ``robustness/faults/load.py``, which sends 1,000 requests and more."""
    folder = write_folder(tmp_path / "film.cast", made_video())
    with Server(folder) as server:
        load = run(server, folder, clients=clients, requests=requests)
        assert lost(server, folder, load) == []
        assert load.taken.total() > 2
        assert set(load.answers) <= {200, 409, 422}
        load.taken["name", "never said"] += 1
        assert len(lost(server, folder, load)) == 1
    assert Log(folder / "corrections.db").last == load.taken.total() - 1
