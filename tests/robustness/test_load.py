from __future__ import annotations

from castlist.cast.log import Log
from datasets.synthetic_casts import made_video, write_folder
from robustness.faults.load import lost, run
from robustness.review_server import Server


def test_twenty_clients_at_once_lose_nothing(tmp_path):
    """200 requests; ``robustness/faults/load.py`` sends 1,000 and more."""
    folder = write_folder(tmp_path / "film.cast", made_video())
    with Server(folder) as server:
        load = run(server, folder, clients=20, requests=200)
        assert lost(server, folder, load) == []
        assert load.taken.total() > 5
        assert set(load.answers) <= {200, 409, 422}
        load.taken["name", "never said"] += 1
        assert len(lost(server, folder, load)) == 1
    assert Log(folder / "corrections.db").last == load.taken.total() - 1
