"""The packages that castlist installs, those that others ask for included, and their licences."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

#: What may be installed, and by what: extras later in the list have what earlier ones have not.
GROUPS = {
    "": "castlist itself",
    "large": "castlist[large]: clustering many thousand tracks",
    "sklearn": "castlist[sklearn]: scores, and the estimator",
    "research": "castlist[research]: training, studies, figures",
    "onnx": "castlist[onnx]: networks on other devices",
    "pandas": "castlist[pandas]: casts as data frames",
    "ray": "castlist[ray]: several machines",
    "docs": "castlist[docs]: the documentation as a site",
    "dev": "castlist[dev]: tests and checks",
    "bench": "castlist[bench]: packages that benchmarks compare castlist with",
}

#: Licences that let anybody use, sell and pass on what is built with them.
COMMERCIAL = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib",
}  # fmt: skip
#: Free for any use too, but who passes the package on passes its source on: never in castlist.
COPYLEFT = {"GPL-2.0-or-later", "GPL-3.0-or-later"}

#: Licences of packages whose metadata and licence files do not say it in one word.
READ = {
    "cycler": "BSD-3-Clause",
    "dlib-bin": "BSL-1.0",
    "docutils": "BSD-2-Clause",  # in part; the rest is public domain; its GPL file is no wheel's
    "fastcluster": "BSD-2-Clause OR GPL-2.0-or-later",
    "igraph": "GPL-2.0-or-later",
    "kiwisolver": "BSD-3-Clause",
    "matplotlib": "PSF-2.0",  # its own, of the PSF's words, with the fonts' and colours' beside it
    "protobuf": "BSD-3-Clause",
    "ptyprocess": "ISC",
    "scipy": "BSD-3-Clause",
    "shellingham": "ISC",
    "tzdata": "Apache-2.0",
}


@dataclass
class Package:
    """An installed package, who asks for it, and the first group that has it."""

    name: str
    version: str
    licence: str
    group: str
    size: int = 0  # bytes on disk, without what Python compiles of it
    direct: str | None = None  # the first group that asks for it by name
    asked_by: set[str] = field(default_factory=set)


def requirements(group: str) -> list[str]:
    """Return what castlist, or an extra of it, asks for by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = project["optional-dependencies"][group] if group else project["dependencies"]
    return [text for text in asked if Requirement(text).name != "castlist"]


def packages(groups: Iterable[str] = GROUPS) -> dict[str, Package]:
    """Find every package that these groups install here, by name.

    Raises
    ------
    importlib.metadata.PackageNotFoundError
        One of them is not installed.
    """
    found: dict[str, Package] = {}
    for group in groups:
        for text in requirements(group):
            asked = Requirement(text)
            if asked.marker is None or asked.marker.evaluate():
                _walk(asked, group, "", found, set())
    return dict(sorted(found.items()))


def _walk(
    asked: Requirement, group: str, by: str, found: dict[str, Package], seen: set[str]
) -> None:
    name = canonicalize_name(asked.name)
    here = metadata.distribution(name)
    package = found.setdefault(name, Package(name, here.version, licence(here), group, size(here)))
    if by:
        package.asked_by.add(by)
    elif package.direct is None:
        package.direct = group
    if (key := f"{name}{sorted(asked.extras)}") in seen:
        return
    seen.add(key)
    for text in here.requires or ():
        needed = Requirement(text)
        wanted = ({"extra": extra} for extra in ("", *asked.extras))
        if needed.marker is None or any(map(needed.marker.evaluate, wanted)):
            _walk(needed, group, name, found, seen)


def pins() -> dict[str, str]:
    """Return the versions that constraints.txt pins, by name."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version.strip() for name, version in pairs}


def licence(package: metadata.Distribution) -> str:
    """Tell a package's licence as an SPDX expression; as the package has it if that fails."""
    about = package.metadata
    name = canonicalize_name(about["Name"])
    said = _field(about, "License-Expression") or READ.get(name) or _field(about, "License")
    with suppress(InvalidLicenseExpression):
        return canonicalize_license_expression(said)
    for text in _licence_files(package):
        if known := _recognised(text):
            return known
    kinds = [k for k in about.get_all("Classifier") or () if k.startswith("License ::")]
    kind = kinds[0].rpartition(" :: ")[2] if len(kinds) == 1 else said
    return {
        "MIT License": "MIT", "Apache Software License": "Apache-2.0", "Apache 2.0": "Apache-2.0",
        "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    }.get(kind, kind or "unknown")  # fmt: skip


def size(package: metadata.Distribution) -> int:
    """Return how many bytes a package's files take, without what Python compiles of them."""
    paths = (Path(str(file.locate())) for file in package.files or () if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file())


def _field(about: metadata.PackageMetadata, name: str) -> str:
    return next(iter(about.get_all(name) or ()), "")


def _licence_files(package: metadata.Distribution) -> Iterator[str]:
    for path in package.files or ():
        inside = any(part.endswith(".dist-info") for part in path.parts)
        if inside and re.match(r"(licen[cs]e|copying)", path.name, re.I):
            yield Path(str(path.locate())).read_text("utf-8", "replace")


def _recognised(text: str) -> str:
    words = " ".join(text.split())[:3000]
    if "Permission is hereby granted, free of charge" in words:
        return "MIT"
    if "Redistribution and use in source and binary forms" in words:
        three = re.search(r"Neither the names? of|may not be used to endorse", words, re.I)
        return "BSD-3-Clause" if three else "BSD-2-Clause"
    if re.search(r"Apache License,? Version 2\.0", words):
        return "Apache-2.0"
    return "ISC" if "Permission to use, copy, modify, and/or distribute" in words else ""


def allowed(licence: str, group: str = "") -> bool:
    """Say whether a package under this licence may be in this group."""
    free = COMMERCIAL | (COPYLEFT if group == "bench" else set())
    ways = licence.replace("(", "").replace(")", "").split(" OR ")
    return any(all(part.strip() in free for part in way.split(" AND ")) for way in ways)
