"""``castlist doctor``."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Annotated, Any

import typer

from castlist._version import __version__
from castlist.cli.common import Json, print_json, print_table, say, waiting
from castlist.errors import CastlistError, counted, first_line

if TYPE_CHECKING:
    from castlist.plugins import Plugin

#: Packages of a plain install that contain compiled code, and their modules.
REQUIRED = {
    "av": "av",
    "numpy": "numpy",
    "opencv-python-headless": "cv2",
    "pillow": "PIL.Image",
    "pyarrow": "pyarrow",
    "pydantic": "pydantic",
    "safetensors": "safetensors",
    "scipy": "scipy.sparse",
}
#: Optional packages: the extra that installs each, and what it is for.
OPTIONAL = {
    "openvino": ("", "networks on the processor"),
    "onnxruntime": ("onnx", "other devices, and ONNX files of your own"),
    "numba": ("large", "clustering more than 16,000 tracks"),
    "scikit-learn": ("sklearn", "scores"),
    "torch": ("research", "training"),
    "matplotlib": ("research", "figures"),
    "pandas": ("pandas", "Cast.to_pandas"),
    "ray": ("ray", "several machines"),
}
_SECONDS = 5.0  # per half of the speed test


def doctor(
    speed: Annotated[
        bool, typer.Option(help="Measure the speed of the networks, which takes ten seconds.")
    ] = True,
    json: Json = False,
) -> None:
    """Check this installation: versions, weights, devices and speed.

    Prints what is missing and how to install it. Exits with 2 if a scan is not possible. Nothing
    is downloaded or changed. Include the output in a report of a problem.

    Example: `castlist doctor`
    """
    found = examine()
    if speed and not found["problems"]:
        with waiting("measuring the speed"):
            found["speed"] = measure_speed(_SECONDS)
    if json:
        print_json(found)
    else:
        _print(found)
    if found["problems"]:
        raise CastlistError("a scan is not possible: " + "; ".join(found["problems"]))


def examine() -> dict[str, Any]:
    """Return the state of this installation: versions, devices, weights, folders, problems."""
    from castlist.cli.config import user_file
    from castlist.parallel import n_cores
    from castlist.plugins import KINDS, plugins
    from castlist.video.inference import devices
    from castlist.video.weights import DEFAULTS, REGISTRY, cache_folder, verify

    packages = {name: _version(name) for name in (*REQUIRED, *OPTIONAL)}
    problems = [f"{name}: {why}" for name, module in REQUIRED.items() if (why := _fails(module))]
    available = devices()
    if "cpu" not in available:
        problems.append("neither OpenVINO nor onnxruntime runs; pip install 'castlist[onnx]'")
    weights = {
        name: {
            "state": verify(name), "licence": one.licence, "commercial": one.commercial,
            "shipped": not one.sources,
        }
        for name, one in REGISTRY.items()
    }  # fmt: skip
    for name in DEFAULTS:
        if weights[name]["state"] != "ok":
            problems.append(f"the weights {name} are {weights[name]['state']}; install again")
    try:
        cache: str | None = str(cache_folder())
    except CastlistError:
        cache = None
    own = user_file()
    return {
        "castlist": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "encoding": sys.stdout.encoding,
        "cores": n_cores(),
        "packages": packages,
        "devices": available,
        "weights": weights,
        "cache": {"folder": cache, "writable": _writable(cache)},
        "config": {"file": own and str(own), "exists": bool(own and own.is_file())},
        "h264": _encodes_h264(),
        "plugins": [_try_plugin(kind, one) for kind in KINDS for one in plugins(kind).values()],
        "problems": problems,
    }


def measure_speed(seconds: float) -> dict[str, float]:
    """Return frames searched and faces described per second, each measured for ``seconds``."""
    import numpy as np

    from castlist.parallel import n_threads, one_pool
    from castlist.video.align import ALIGNED_SIDE
    from castlist.video.describe import open_describer
    from castlist.video.detect import LOOK_WIDTH, open_detector

    noise = np.random.default_rng(0)
    frame = noise.integers(0, 256, (LOOK_WIDTH * 9 // 16, LOOK_WIDTH, 3), np.uint8)
    face = noise.integers(0, 256, (ALIGNED_SIDE, ALIGNED_SIDE, 3), np.uint8)
    detector, describer = open_detector(), open_describer()
    with one_pool():
        return {
            "threads": n_threads(),
            "frames_per_second": _rate(lambda: detector.detect(frame), seconds),
            "faces_per_second": _rate(lambda: describer.describe([face]), seconds),
        }


def _rate(call: Callable[[], object], seconds: float) -> float:
    """Return how often per second the threads of castlist make a call."""
    from castlist.parallel import in_threads, n_threads

    call()  # compiles the network
    begun = time.perf_counter()
    end = begun + seconds

    def work(_: int) -> int:
        count = 0
        while time.perf_counter() < end:
            call()
            count += 1
        return count

    done = sum(count for _, count in in_threads(range(n_threads()), work))
    return done / (time.perf_counter() - begun)


def _try_plugin(kind: str, plugin: Plugin) -> dict[str, str]:
    """Return a plugin, and why it cannot be imported."""
    found = {"kind": kind, "name": plugin.name, "package": plugin.package, "problem": ""}
    try:
        plugin.load()
    except CastlistError as error:
        found["problem"] = str(error)
    return found


def _fails(module: str) -> str:
    """Return why a module cannot be imported; nothing if it can."""
    try:
        import_module(module)
    except Exception as error:  # such as a missing system library
        return f"{first_line(error)}; pip install --force-reinstall castlist"
    return ""


def _install(package: str, extra: str) -> str:
    return f"pip install 'castlist[{extra}]'" if extra else f"pip install {package}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _writable(folder: str | None) -> bool:
    """Return whether a folder, or the nearest folder above it that exists, can be written to."""
    while folder and not os.path.exists(folder):
        folder = os.path.dirname(folder)
    return bool(folder) and os.access(str(folder), os.W_OK)


def _encodes_h264() -> bool:
    try:
        import av
    except Exception:  # listed as a problem
        return False
    return "libx264" in av.codecs_available


def _print(found: dict[str, Any]) -> None:
    say(
        f"castlist {found['castlist']}, Python {found['python']}, {found['platform']}, "
        f"{counted(found['cores'], 'core')}\n"
    )
    packages = found["packages"]
    print_table(["package", "version"], [[name, packages[name] or "missing"] for name in REQUIRED])
    say()
    print_table(
        ["optional package", "version", "for"],
        [
            [name, packages[name] or _install(name, extra),
             purpose]
            for name, (extra, purpose) in OPTIONAL.items()
        ],
    )  # fmt: skip
    say()
    print_table(
        ["weights", "state", "licence", "commercial"],
        [
            [name, one["state"] if one["state"] != "missing" else f"castlist models fetch {name}",
             one["licence"], "yes" if one["commercial"] else "no"]
            for name, one in found["weights"].items()
        ],
    )  # fmt: skip
    if found["plugins"]:
        say()
        print_table(
            ["plugin", "kind", "package", "state"],
            [[one["name"], one["kind"], one["package"], one["problem"] or "ok"]
             for one in found["plugins"]],
        )  # fmt: skip
    cache, config = found["cache"], found["config"]
    state = "" if cache["writable"] else " (cannot be written to: networks start more slowly)"
    devices = (f"{one} ({', '.join(backends)})" for one, backends in found["devices"].items())
    say(f"\ndevices: {'; '.join(devices) or 'none'}")
    say(f"cache: {cache['folder'] or 'no home folder: set CASTLIST_CACHE'}{state}")
    say(f"settings: {config['file']}" + ("" if config["exists"] else " (not there)"))
    say(f"H.264 of `reel` and `blur`: {'libx264' if found['h264'] else 'none, MPEG-4'}")
    if "speed" in found:
        speed = found["speed"]
        say(
            f"speed: {speed['frames_per_second']:.0f} frames searched and "
            f"{speed['faces_per_second']:.0f} faces described per second, "
            f"{counted(speed['threads'], 'thread')}; a scan searches 5 frames per second of video"
        )
