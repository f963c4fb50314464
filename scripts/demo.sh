#!/usr/bin/env bash
# Watches SQLite at work for some twenty seconds and shows what was seen; then once more,
# paging out what it does not use; then finds the best age for that, for a simulated program.
# Where eBPF can't be used, a simulated program takes SQLite's place.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/as_root.sh

out=demo-output
record=$out/demo.daos
reclaim=$out/reclaim.daos
daos=${CARGO_TARGET_DIR:-target}/release/daos
recorder=

stop() { # ends the recording, if one runs (in the background it ignores INT); daos ends the program that it started
    if [ -n "$recorder" ] && kill -TERM "$recorder" 2>/dev/null; then
        wait "$recorder" || true
    fi
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# watch RECORD OPTION...: records the database at work, to its end
watch() {
    local to=$1
    shift
    "$daos" record -d 60s -o "$to" "$@" -- sqlite3 :memory: ".read scripts/demo.sql" &
    recorder=$!
    wait "$recorder"
    recorder=
}
# seconds RECORD: how long it is
seconds() { "$daos" report info --format json "$1" | sed -n 's/.*"duration_us":\([0-9]*\).*/\1/p' |
    awk '{ printf "%.1f", $1 / 1e6 }'; }

say() { printf '\n== %s\n' "$*"; }

simulated() {
    echo "This demo runs in the SIMULATOR, not on real memory: $1"
}

# What can be known before anything is built. `daos doctor` has the last word below.
why_not() {
    local rights major minor bit
    [ "$(uname -m)" = x86_64 ] || { echo "eBPF is read on x86_64 only, this is $(uname -m)"; return; }
    IFS=.- read -r major minor _ <<<"$(uname -r)"
    (( major > 6 || (major == 6 && minor >= 1) )) ||
        { echo "kernel $(uname -r) is older than 6.1"; return; }
    [ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)"; return; }
    rights=$((16#$(sed -n 's/^CapEff:\t*//p' /proc/self/status)))
    if (( rights >> 21 & 1 )); then # CAP_SYS_ADMIN stands for the first two of the others
        rights=$((rights | 1 << 38 | 1 << 39))
    fi
    for bit in 38 39 19 23; do # CAP_PERFMON, CAP_BPF, CAP_SYS_PTRACE, CAP_SYS_NICE
        (( rights >> bit & 1 )) ||
            { echo "it was not started as root (try: sudo make demo)"; return; }
    done
}

reason=$(why_not)
if [ -n "$reason" ]; then
    simulated "$reason"
    bash scripts/setup.sh
else
    bash scripts/setup.sh sqlite3
fi
cargo build --release -p daos

# "ebpf-vaddr":{"ok":false,"why":"…"}: the reason, or nothing when it is ok.
refusal=$("$daos" doctor --format json |
    sed -n 's/.*"ebpf-vaddr":{"ok":false,"why":"\(\([^"\\]\|\\.\)*\)".*/\1/p')
if [ -z "$reason" ] && [ -n "$refusal" ]; then
    reason=$refusal
    simulated "$reason"
fi

mkdir -p "$out"
[ -z "${SUDO_UID:-}" ] || chown "$SUDO_UID:${SUDO_GID:-$SUDO_UID}" "$out"
rm -f "$record" "$reclaim" "$out/heatmap.png" "$out/wss.png" "$out/reclaim.png"

say "What this machine offers (daos doctor)"
"$daos" doctor

if [ -n "$reason" ]; then
    say "Recording a simulated program (daos record --sim workloads/demo.cfg)"
    "$daos" record -o "$record" --sim workloads/demo.cfg
else
    say "Recording a database at work (daos record -- sqlite3), 60 s at most"
    watch "$record" -q
fi

say "Where its accesses were (daos report heatmap)"
cells=24
if [ -t 1 ]; then
    cells=40 # in colour, a line holds two
fi
"$daos" report heatmap --height "$cells" "$record"
"$daos" report heatmap -o "$out/heatmap.png" "$record"
"$daos" report wss -o "$out/wss.png" "$record"

say "Working set against resident set (daos report wss)"
"$daos" report wss "$record" | sed '/^over time/,$d' | sed '$d'

say "What the monitoring cost (daos report overhead)"
"$daos" report overhead "$record" | sed -n '3,/^$/{/./p;}'

scheme='4K max min min 2s max pageout'
swap_refusal=$("$daos" doctor --format json | sed -n 's/.*"zram":{"ok":false,"why":"\([^"]*\)".*/\1/p')
pictures="$out/heatmap.png, $out/wss.png"
if [ -n "$reason" ]; then
    say "Once more, paging out what is idle for 2 s (daos apply --scheme '$scheme')"
    "$daos" apply --scheme "$scheme" --sim workloads/demo.cfg
elif [ -n "$swap_refusal" ]; then
    say "Paging out what is idle is left out: $swap_refusal"
else
    say "Once more, paging out what is idle for 2 s (--scheme '$scheme' --zram 1G)"
    watch "$reclaim" --scheme "$scheme" --zram 1G
    say "What it took $(seconds "$record") s for without, it did in $(seconds "$reclaim") s (one run of each)"
    "$daos" report heatmap --height "$cells" "$reclaim"
    "$daos" report heatmap -o "$out/reclaim.png" "$reclaim"
    pictures+=", $out/reclaim.png"
fi

say "Which age is best? A simulated program tuned (daos tune --sim workloads/reports.cfg)"
"$daos" tune --scheme prcl --limit 12m --out "$out/tune" --fresh --sim workloads/reports.cfg
pictures+=", $out/tune/plot.png"

say "Pictures: $pictures. Now try:"
echo "  $daos report heatmap --time 5s-10s $record"
echo "  $daos apply --scheme prcl --zram 1G -- PROGRAM"
echo "  $daos tune --scheme prcl --limit 10m --zram 1G -- PROGRAM"
echo "  $daos record -d 20s --pid PID && $daos report wss"
echo "  $daos record --help"
