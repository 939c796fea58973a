#!/usr/bin/env bash
# From nothing to a corrected, exported cast, by every way to install that this machine has.
#   scripts/try_install.sh dist/castlist-0.1.0-py3-none-any.whl film.mp4
# Each way begins with an empty home folder and empty caches. The wheel is found in its folder; all
# else comes from the package index, in the versions of constraints.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(realpath "$1") video=$(realpath "$2") pins=$(realpath constraints.txt)
links=$(dirname "$wheel") version=$(basename "$wheel" | cut -d- -f2)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset PYTHONPATH VIRTUAL_ENV

say() { # print a command with its time, and run it
  local begun=$EPOCHREALTIME shown=${*//$pins/constraints.txt}
  shown=${shown//$links/dist}
  echo "\$ ${shown//$place\//}"
  "$@" >"$place/out" 2>&1 || { cat "$place/out"; exit 1; }
  sed -e "s#$place/##g" -e '/^WARNING: Location/d' -e '/^$/d' "$place/out"
  echo "# $(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $begun }") s"
}

work() { # scan, correct and export with a command
  mkdir -p "$place/work" && cd "$place/work" && rm -rf ./* && cp "$video" film.mp4
  say "$@" scan film.mp4
  say "$@" name film.cast 1 Anna
  say "$@" merge film.cast 2 3 --waive
  say "$@" undo film.cast
  say "$@" export film.cast --to edl
  cd - >/dev/null
}

fresh() { # an empty home folder for the next way
  rm -rf "$place/home" && mkdir "$place/home"
  export HOME=$place/home XDG_CACHE_HOME=$place/home/.cache UV_CACHE_DIR=$place/home/.cache/uv
  unset PIP_CACHE_DIR XDG_DATA_HOME
  echo; echo "== $1"
}

fresh pip
say python3 -m venv "$place/home/env"
say "$place/home/env/bin/pip" install -q -f "$links" -c "$pins" "castlist==$version"
echo "# $(du -sm "$place/home/env" | cut -f1) MB"
work "$place/home/env/bin/castlist"

if command -v uv >/dev/null; then
  fresh "uv tool install"
  say uv tool install -q --find-links "$links" --constraints "$pins" "castlist==$version"
  echo "# $(du -sm "$HOME/.local/share/uv/tools/castlist" | cut -f1) MB"
  work "$HOME/.local/bin/castlist"
  fresh uvx
  work uvx -q --find-links "$links" --constraints "$pins" --from "castlist==$version" castlist
fi

if command -v pipx >/dev/null; then
  fresh pipx
  say pipx install -q --pip-args "--find-links $links -c $pins" "castlist==$version"
  echo "# $(du -sm "$HOME/.local" | cut -f1) MB"
  work "$HOME/.local/bin/castlist"
fi
