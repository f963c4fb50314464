#!/usr/bin/env bash
# Checks format, lints, docs, and runs the tests. With `lint`: not the tests.
#
# Tests that need root have `:root:` in their names (`#[tag(root)]`). Those that would
# disturb others, or be disturbed, have `:quiet:` too (`#[tag(root, quiet)]`): they run by
# themselves, one at a time; all others run side by side.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/as_root.sh

# Tests interrupt `daos`, which leaves SIGINT ignored where it was, as in a script's background.
if grep -q '^SigIgn:.*[2367abefABEF]$' /proc/$$/status; then
    exec env --default-signal=INT,QUIT bash scripts/test.sh "$@"
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
bad=()

check() { # check NAME COMMAND...: goes on after a failure, and remembers it
    local name=$1 begun=$SECONDS
    shift
    printf '\n== %s: %s\n' "$name" "$*"
    "$@" || bad+=("$name")
    printf -- '-- %s: %d s\n' "$name" $((SECONDS - begun))
}
logged() { "$@" 2>&1 | tee -a "$log"; }
is_root() { [ "$(id -u)" -eq 0 ]; }

check format cargo fmt --all --check
check clippy cargo clippy --workspace --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" check docs cargo doc --workspace --no-deps
check crates bash scripts/deny.sh

if [ "${1:-}" != lint ]; then
    # All of it before any test: tests run the binaries and the examples.
    check build cargo test --workspace --no-run --quiet
    skip=:root:
    ! is_root || skip=:quiet:
    check tests logged cargo test --workspace --no-fail-fast -- --skip "$skip"
    if is_root; then
        check "quiet tests" logged cargo test --workspace --no-fail-fast --lib --bins --tests -- \
            :quiet: --test-threads=1
    else
        names=$(cargo test -q --workspace --lib --bins --tests -- :root: --list | sed -n 's/: test$//p') ||
            bad+=("list of root tests")
        printf '\n== root tests: %d NOT RUN, because they need root\n' "$(grep -c . <<<"$names" || true)"
        sed -n 's/./     &/p' <<<"$names"
    fi
fi

printf '\n%d s\n' "$SECONDS"
if [ ${#bad[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${bad[@]}"
fi
if [ "${1:-}" != lint ]; then
    awk '/^test result:/ { passed += $4; failed += $6 } END { printf "%d passed, %d failed\n", passed, failed }' "$log"
fi
[ ${#bad[@]} -eq 0 ]
