"""Write what a release of castlist leaves on disk, for tests of later ones.

    python datasets/release_fixture.py tests/data/castlist-0.1.0.zip

Run it once per release, with ``TMPDIR=/tmp``: paths are part of what a scan writes. It holds
the cast of a drawn film, scanned and corrected; a joined cast; a model; and ``expected.json``, the
characters and their tracks. It is kept for ever: later versions have to read it, or to refuse it
with a message that says what to do.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

from castlist import BallModel, Corrections, save_model
from castlist.cast.cast_file import RUN
from datasets.synthetic_casts import episode, made_video, write_film

_PICTURES = 8  # of a cast that are kept, to keep the archive small


def castlist(*words: object) -> None:
    """Run a command of castlist as users do."""
    command = [sys.executable, "-m", "castlist", *map(str, words)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def write_scanned(folder: Path) -> Path:
    """Scan a drawn film of three people, whose tracks are given, and correct the cast."""
    tracks = made_video(people=3, each=2)
    film = write_film(folder / "film.mp4", tracks)
    given = film.with_suffix(".txt")
    given.write_text(
        "".join(
            f"{round(time * 5) + 1},{row + 1},{x + 1},{y + 1},{w},{h},1,-1,-1,-1\n"
            for row, time, (x, y, w, h) in zip(
                tracks.track_of_face, tracks.time, tracks.box, strict=True
            )
        )
    )
    castlist("scan", film, "--tracks", given)
    cast = film.with_suffix(".cast")
    with closing(Corrections(cast)) as scanned:
        numbers = [one.number for one in scanned.cast.characters]
        first = str(scanned.tracks.ids[scanned.cast.characters[0].tracks[0]])
    castlist("name", cast, numbers[0], "Zoë")
    castlist("background", cast, numbers[-1])
    castlist("split", cast, first)
    castlist("undo", cast)
    castlist("recluster", cast, "--yes")
    return cast


def write_joined(folder: Path, model: Path) -> Path:
    """Join two episodes of three people by a model, and name one of the people."""
    episodes = [episode(folder, name, 3, each=2, seed=k) for k, name in enumerate(("e1", "e2"))]
    joined = folder / "season.cast"
    for one in episodes:  # scanned with this model
        run = json.loads((one / RUN).read_text("utf-8"))
        printed = hashlib.sha256(model.read_bytes()).hexdigest()
        run["settings"] |= {"model": str(model), "model_print": printed}
        (one / RUN).write_text(json.dumps(run), "utf-8")
    castlist("join", *episodes, "-o", joined)
    castlist("name", joined, 1, "Adam")
    return joined


def characters(cast: Path) -> list[dict[str, Any]]:
    """Return the characters of a cast: number, name, mark and tracks."""
    with closing(Corrections(cast)) as found:
        return [
            {
                "number": one.number, "name": one.name, "background": one.background,
                "seconds": round(one.seconds, 3), "tracks": found.tracks.ids[one.tracks].tolist(),
            }
            for one in found.cast.characters
        ]  # fmt: skip


def main() -> None:
    """Write the archive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args().out.resolve()
    if out.exists():
        sys.exit(f"{out} exists; an archive of a release is never changed")
    with tempfile.TemporaryDirectory(prefix="castlist-") as place:
        folder = Path(place)
        kept = folder / "kept"
        kept.mkdir()
        # Small, and a model of the form that is trained by default.
        model = BallModel((128, 8), rounds=2, reach=0.3, nearest=1.4, b_hat=-2.0)
        save_model(model, kept / "model.safetensors")
        casts = [write_scanned(folder), write_joined(folder, kept / "model.safetensors")]
        for cast in casts:
            shutil.move(cast, kept / cast.name)
            (kept / cast.name / "report.html").unlink()  # large, and nothing reads it
            pictures = sorted((kept / cast.name).rglob("*.jpg"))
            for picture in pictures[_PICTURES:]:  # a cast may lack pictures
                picture.unlink()
        expected = {cast.name: characters(kept / cast.name) for cast in casts}
        (kept / "expected.json").write_text(json.dumps(expected, indent=1), "utf-8")
        out.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(one for one in kept.rglob("*") if one.is_file()):
                archive.write(path, path.relative_to(kept))
    print(f"{out}: {out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
