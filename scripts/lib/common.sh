# Shared by the scripts: where things are, how they speak, how they install.
# shellcheck shell=bash
set -euo pipefail

# shellcheck disable=SC2034
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${LOOKBACK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lookback}
# Before the cache has a toolchain there is nothing to enter.
in_toolchain=$root/scripts/lib/in-toolchain

say() { printf '== %s\n' "$*" >&2; }

# fail CODE SENTENCE: the one way a script gives up.
fail() {
  printf 'error: %s: %s\n' "$1" "$2" >&2
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# apt_install WHY PACKAGE…: installs what is missing, or says what a person must install.
apt_install() {
  local why=$1 missing=()
  shift
  if ! have dpkg-query || ! have apt-get; then
    fail missing_package "$why needs $* (or your system's packages of the same software); this is not a Debian system, so please install them"
  fi
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    fail missing_package "$why needs: ${missing[*]}. Run: sudo apt-get install ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  apt_update_once
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2 ||
    fail install_failed "apt-get could not install ${missing[*]}"
}

apt_updated=
apt_update_once() {
  [ -n "$apt_updated" ] || apt-get update -q >&2 || say "apt-get update had errors; going on with the lists at hand"
  apt_updated=yes
}

# version_at_least HAVE WANTED
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# content_hash PATH…: one hash over names and contents of the files below PATHs, build output left out.
content_hash() {
  (cd "$root" && find "$@" -type f -not -path 'web/engine/wasm/*' -not -path 'web/public/*' -not -name '*.pyc' -print0 |
    LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1)
}
