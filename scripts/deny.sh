#!/usr/bin/env bash
# Checks licences, sources and known faults of the crates (deny.toml) with cargo-deny. With
# `install`: gets that first, which takes minutes; without it, says what was not checked.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/as_root.sh

if ! cargo deny --version >/dev/null 2>&1; then
    if [ "${1:-}" != install ]; then
        echo "deny: NOT CHECKED, because there is no cargo-deny here; 'make deny' installs it"
        exit 0
    fi
    cargo install cargo-deny --locked
fi

bad=0
cargo deny check licenses bans sources || bad=1
# Known faults are in a repository that not every machine reaches.
if cargo deny fetch db; then
    cargo deny check --disable-fetch advisories || bad=1
else
    echo "deny: known faults NOT CHECKED, because their list could not be fetched"
fi
exit "$bad"
