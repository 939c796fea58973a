from __future__ import annotations

import json
import shutil

import pytest

from castlist import __version__
from castlist.cli.doctor import OPTIONAL, REQUIRED, examine, measure_speed
from castlist.video.weights import DEFAULTS, REGISTRY
from tests.programs import castlist, run_program

WITHOUT = """
import sys
for module in sys.argv.pop(1).split(","):
    sys.modules[module] = None
from castlist.cli import main
main()
"""


def test_the_report_has_versions_weights_devices_and_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("CASTLIST_CACHE", str(tmp_path / "not" / "yet"))
    found = json.loads(castlist("doctor", "--no-speed", "--json").stdout)
    assert found["castlist"] == __version__
    assert set(found["packages"]) == {*REQUIRED, *OPTIONAL}
    assert "openvino" in found["devices"]["cpu"]
    assert found["weights"].keys() == REGISTRY.keys()
    assert all(found["weights"][name]["state"] == "ok" for name in DEFAULTS)
    assert found["weights"]["edgeface"]["state"] == "missing"
    assert found["cache"] == {"folder": str(tmp_path / "not" / "yet"), "writable": True}
    assert found["problems"] == []
    assert "speed" not in found
    assert not (tmp_path / "not").exists()  # nothing is changed


def test_what_is_missing_is_shown_with_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setenv("CASTLIST_CACHE", str(tmp_path))
    monkeypatch.setattr("castlist.cli.doctor._version", lambda name: None)
    text = castlist("doctor", "--no-speed").stdout
    assert "pip install 'castlist[research]'" in text
    assert "castlist models fetch edgeface" in text


@pytest.mark.parametrize(
    ("gone", "says"),
    [("openvino,onnxruntime", "neither OpenVINO nor onnxruntime"), ("av", "av: ModuleNotFound")],
)
def test_what_makes_a_scan_impossible_is_an_error(gone, says):
    done = run_program("-c", WITHOUT, gone, "doctor", code=2)
    assert f"castlist: a scan is not possible: {says}" in done.stderr
    assert f"castlist {__version__}" in done.stdout


def test_damaged_weights_are_a_problem(monkeypatch, tmp_path):
    shutil.copytree(REGISTRY["yunet"].path.parent, tmp_path / "models")
    (tmp_path / "models" / REGISTRY["yunet"].file).write_bytes(b"half")
    monkeypatch.setattr("castlist.video.weights.files", lambda package: tmp_path)
    (said,) = examine()["problems"]
    assert said == "the weights yunet are damaged; install again"


def test_the_speed_is_measured():
    speed = measure_speed(0.2)
    assert speed["threads"] >= 1
    assert speed["frames_per_second"] > 1
    assert speed["faces_per_second"] > 1
