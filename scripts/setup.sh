#!/usr/bin/env bash
# Installs what the build needs and this machine lacks. Names of further programs
# that are needed may be given; their Debian packages have to be called the same.
set -euo pipefail

missing=()
need() { # need PACKAGES TEST...: wants PACKAGES unless TEST succeeds
    local packages=$1
    shift
    # shellcheck disable=SC2206 # a list of words
    "$@" >/dev/null 2>&1 || missing+=($packages)
}
# The compiler and the headers of the C library, which may lack alone.
compiles() { echo '#include <stdio.h>' | cc -E -; }

cd "$(dirname "$0")/.."
. scripts/as_root.sh
if ! command -v cargo >/dev/null; then
    echo "setup: there is no cargo here; install Rust from https://rustup.rs, then open a new shell" >&2
    exit 1
fi
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
there=$(cargo --version | sed -n 's/^cargo \([0-9.]*\).*/\1/p')
if [ "$(printf '%s\n' "$needed" "$there" | sort -V | head -n 1)" != "$needed" ]; then
    echo "setup: Rust $needed or later is needed, and this cargo is ${there:-of no version}; install it" >&2
    echo "setup: from https://rustup.rs (Debian's is older), then open a new shell" >&2
    exit 1
fi

need "gcc libc6-dev" compiles
need clang command -v clang
need pkg-config command -v pkg-config
need libelf-dev pkg-config --exists libelf
need zlib1g-dev pkg-config --exists zlib
for program in "$@"; do
    need "$program" command -v "$program"
done

if [ ${#missing[@]} -eq 0 ]; then
    echo "setup: nothing is missing"
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo)
fi
if ! command -v apt-get >/dev/null || ! command -v "${as_root[@]:-true}" >/dev/null; then
    echo "setup: these Debian packages are needed, and only root (or sudo) with apt-get can" >&2
    echo "setup: install them: ${missing[*]}" >&2
    exit 1
fi

echo "setup: installing ${missing[*]}"
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null; }
if ! { install update && install install -y --no-install-recommends "${missing[@]}"; }; then
    echo "setup: could not install: ${missing[*]}" >&2
    exit 1
fi
