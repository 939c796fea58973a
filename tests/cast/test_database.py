from __future__ import annotations

import subprocess
import sys

from castlist.cast.corrections import Corrections
from datasets.synthetic_casts import made_video, write_folder

READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


def on_a_read_only_disk(folder, *words):
    """Run a command on a folder that nobody can write to, whoever they are."""
    command = [sys.executable, "-m", "castlist", words[0], str(folder), *words[1:]]
    mounted = ["unshare", "-rm", "sh", "-c", READ_ONLY, str(folder), *command]
    return subprocess.run(mounted, capture_output=True, encoding="utf-8")


def test_a_log_on_a_read_only_disk_is_read_and_not_written(own_disk, tmp_path):
    folder = write_folder(tmp_path / "odd ? % # x.cast", made_video())
    cast = Corrections(folder)
    cast.name(1, "Anna")
    cast.close()
    told = on_a_read_only_disk(folder, "log")
    assert told.returncode == 0, told.stderr
    assert "named character 1 “Anna”" in told.stdout
    told = on_a_read_only_disk(folder, "name", "1", "Bo")
    assert told.returncode == 2
    assert "its folder is read-only; copy it elsewhere" in " ".join(told.stderr.split())


def test_events_of_a_killed_process_are_read(own_disk, tmp_path):
    folder = write_folder(tmp_path / "x.cast", made_video())
    cast = Corrections(folder)
    cast.name(1, "Anna")  # and is not closed: it is in the file beside the log
    assert (folder / "corrections.db-wal").stat().st_size
    told = on_a_read_only_disk(folder, "log")
    cast.close()
    assert told.returncode == 0 or "copy it elsewhere" in " ".join(told.stderr.split())
    assert told.returncode or "named character 1 “Anna”" in told.stdout
