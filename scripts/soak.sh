#!/usr/bin/env bash
# Runs `daos record` and `daos apply` side by side for a long time, each on a program whose
# mappings, threads and children change all the time, and says what becomes of their memory,
# descriptors and CPU: `soak.sh TIME`, such as `soak.sh 1h`. Needs root and some zram.
#
# All samples are in target/soak/samples.tsv; a `daos` that was built before is used with
# DAOS=FILE.
set -euo pipefail
if [ -n "${DAOS:-}" ]; then
    DAOS=$(realpath "$DAOS")
fi
cd "$(dirname "$0")/.."
. scripts/as_root.sh

length=${1:-10m}
case $length in
*h) seconds=$((${length%h} * 3600)) ;;
*m) seconds=$((${length%m} * 60)) ;;
*) seconds=${length%s} ;;
esac
every=10
settled=$((seconds > 1200 ? 600 : seconds / 2))
target=${CARGO_TARGET_DIR:-target}
out=target/soak
mkdir -p "$out"

if [ -z "${DAOS:-}" ]; then
    cargo build --release -p daos
    DAOS=$target/release/daos
fi
cargo build -p daos --example hostile
# A file of its own, which what is built meanwhile does not change.
rm -f "$out/daos" "$out/record" "$out/stats.json"
cp "$DAOS" "$out/daos"
daos=$(realpath "$out/daos")

started=()
stop() { # ends what was started here: the programs by the end of their input, then daos by itself
    exec 8>&- 9>&-
    for pid in "${started[@]}"; do
        kill -TERM "$pid" 2>/dev/null || true
    done
    wait
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

mkfifo "$out/input.$$"
"$target/debug/examples/hostile" changing <"$out/input.$$" >/dev/null &
recorded=$!
exec 8>"$out/input.$$"
rm "$out/input.$$"
mkfifo "$out/input.$$"
"$target/debug/examples/hostile" changing <"$out/input.$$" >/dev/null 8>&- &
managed=$!
exec 9>"$out/input.$$"
rm "$out/input.$$"
sleep 1

"$daos" record -q -o "$out/record" --children -d "${seconds}s" -p $recorded 8>&- 9>&- &
started+=($!)
"$daos" apply -q -s '4K max min min 2s max pageout' --zram 1G --stats "$out/stats.json" \
    --children -d "${seconds}s" -p $managed 8>&- 9>&- &
started+=($!)
sleep 2

# sample SECOND: of each process of daos its name, number, resident KiB, descriptors and ns of CPU
sample() {
    local pid name rss fds cpu
    # What guards the swap is a child of the second.
    for pid in "${started[@]}" $(cat "/proc/${started[1]}/task/"*/children 2>/dev/null); do
        case $pid in
        "${started[0]}") name=record ;;
        "${started[1]}") name=apply ;;
        *) name=guard ;;
        esac
        rss=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null) || continue
        fds=$(ls "/proc/$pid/fd" 2>/dev/null | wc -l)
        cpu=$(cat "/proc/$pid/task/"*/schedstat 2>/dev/null | awk '{ ns += $1 } END { printf "%.0f", ns }')
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "$name" "$pid" "${rss:-0}" "$fds" "$cpu"
    done
}

begun=$SECONDS
printf 'second\tname\tpid\tresident_kib\tdescriptors\tcpu_ns\n' >"$out/samples.tsv"
# The last sample is well before they end by themselves.
while [ $((SECONDS - begun)) -lt $((seconds - every - 2)) ]; do
    at=$((SECONDS - begun))
    sample $at >>"$out/samples.tsv"
    kill -0 "${started[0]}" && kill -0 "${started[1]}" ||
        { echo "soak: a daos ended after $at s" >&2; exit 1; }
    sleep $every
done
failed=0
for pid in "${started[@]}"; do
    wait "$pid" || failed=1
done
started=()

printf '\nResident set and descriptors of each process of daos, and CPU of its own, of one\n'
printf 'CPU (the worst of all spans of %s s):\n\n' "$every"
awk -F'\t' -v settled=$settled '
    NR == 1 { next }
    { id = $2 " " $3 }
    !(id in first) { order[++n] = id; first[id] = $1 }
    $1 >= settled && !(id in then) { then[id] = $4; files[id] = $5 }
    { last[id] = $4; open[id] = $5; if ($4 > most[id]) most[id] = $4; if ($5 > opened[id]) opened[id] = $5 }
    id in cpu && $1 > at[id] {
        share = ($6 - cpu[id]) / ($1 - at[id]) / 1e7
        if ($1 >= 30 && share > worst[id]) worst[id] = share
        total[id] += $6 - cpu[id]; time[id] += $1 - at[id]
    }
    { cpu[id] = $6; at[id] = $1 }
    END {
        printf "%-14s %11s %12s %12s %8s %8s %8s %8s %8s\n", "process", "KiB, " settled " s", \
            "KiB, end", "KiB, most", "fds then", "end", "most", "CPU mean", "worst"
        for (i = 1; i <= n; i++) { id = order[i]
            printf "%-14s %12d %12d %12d %8d %8d %8d %7.2f%% %7.2f%%\n", id, then[id], last[id], \
                most[id], files[id], open[id], opened[id], time[id] ? total[id] / time[id] / 1e7 : 0, worst[id]
        }
    }' "$out/samples.tsv"
printf '\nWhat the recording cost, the target'\''s side included (daos report overhead):\n'
"$daos" report overhead "$out/record" | sed -n '3,/^$/{/./p;}'
printf '\nWhat applying says of itself (microseconds):\n'
grep -E '"(elapsed|monitor_cpu|monitor_target|schemes_cpu|schemes_target)_us"' "$out/stats.json"
exit $failed
