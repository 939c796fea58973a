"""Random users of casts, for as long as you like: ``python -m tests.random_users --seed 1``.

Two people correct one video, two correct a series, and one of the two has the page open. What they
see is compared with a reference model after every step; the first difference ends the run.
"""

from __future__ import annotations

import argparse
import time

from tests.cast.stateful import run
from tests.cast.test_stateful import OneVideo, Series
from tests.review.test_stateful import OverHttp

MACHINES = {"video": (OneVideo, 0.4), "series": (Series, 0.3), "page": (OverHttp, 0.3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--steps", type=int, default=10_000, help="of all together")
    parser.add_argument("--only", choices=MACHINES)
    given = parser.parse_args()
    for name, (machine, share) in MACHINES.items():
        if given.only in (None, name):
            steps = given.steps if given.only else round(given.steps * share)
            began = time.monotonic()
            done = run(machine, steps, given.seed)
            seconds = time.monotonic() - began
            print(f"{name}: {steps} steps, seed {given.seed}, 0 broken, {seconds:.0f} s")
            print(", ".join(f"{kind} {count}" for kind, count in done.most_common()), flush=True)


if __name__ == "__main__":
    main()
