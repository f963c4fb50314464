#!/usr/bin/env bash
# Lets libFuzzer look for input that breaks a parser: `fuzz.sh TIME [TARGET...]`, such as
# `fuzz.sh 1h record`; each target for TIME, all of them if none is named. Runs on the stable
# compiler: what counts the code that is reached are options of LLVM.
#
# What was found to reach new code stays in target/fuzz/corpus/; what broke something, in
# target/fuzz/found/. Put a small one into fuzz/corpus/ with the fix, and the tests have it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/as_root.sh

length=${1:-1m}
shift || true
case $length in
*h) seconds=$((${length%h} * 3600)) ;;
*m) seconds=$((${length%m} * 60)) ;;
*) seconds=${length%s} ;;
esac
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(record schemes workload maps iomem)

work=target/fuzz
mkdir -p "$work/found"
flags="-Cpasses=sancov-module -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks"
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$option"
done
# With --target, the options are for what runs here and not for build scripts.
host=$(rustc -vV | sed -n 's/^host: //p')
CXX=clang++ RUSTFLAGS=$flags CARGO_PROFILE_RELEASE_LTO=off \
    cargo build --release --target "$host" --target-dir "$work" -p daos-fuzz --features libfuzzer

bad=()
for target in "${targets[@]}"; do
    printf '\n== %s: %s s\n' "$target" "$seconds"
    mkdir -p "$work/corpus/$target"
    FUZZ_TARGET=$target nice -n 10 "$work/$host/release/fuzz" \
        -max_total_time="$seconds" -max_len=16384 -timeout=20 -rss_limit_mb=1024 \
        -print_final_stats=1 -verbosity=0 -artifact_prefix="$work/found/$target-" \
        "$work/corpus/$target" "fuzz/corpus/$target" || bad+=("$target")
done
if [ ${#bad[@]} -gt 0 ]; then
    printf '\nfuzz: broken: %s; the input is in %s\n' "${bad[*]}" "$work/found" >&2
    exit 1
fi
