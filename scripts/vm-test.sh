#!/usr/bin/env bash
# Tries daos on stock Debian kernels, each in a virtual machine of its own, with page
# tables of 4 and 5 levels, without and with random kernel addresses.
#
#     scripts/vm-test.sh [SERIES...]      by default 6.1 6.12
#
# The machine is emulated in software, so no KVM is needed, and its clock counts
# instructions, so a run gives the same on every host, however busy. Figures of cost
# are therefore counts of instructions, not times.
#
# Downloads go to target/vm (CACHE=DIR: elsewhere) and are used again: remove a
# directory to have the newest kernel of its series, or put a linux-image package into
# it to test that one. DAOS=FILE tests that binary, with the daos-eval beside it, instead
# of building them.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || set -- 6.1 6.12
cache=${CACHE:-target/vm}
# Least recall and precision in percent, and bounds of the working set in MiB, of
# which 32 are in use.
least=90
wss_min=30
wss_max=36

die() {
    echo "vm-test: $*" >&2
    exit 1
}

apt() {
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    if ! command -v apt-get >/dev/null || ! command -v "${as_root[@]:-true}" >/dev/null; then
        die "only root (or sudo) with apt-get can do: apt-get $*"
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >&2
}

setup() {
    local missing=()
    command -v qemu-system-x86_64 >/dev/null || missing+=(qemu-system-x86)
    command -v busybox >/dev/null || missing+=(busybox-static)
    command -v dpkg >/dev/null || missing+=(dpkg)
    [ ${#missing[@]} -eq 0 ] && return
    echo "vm-test: installing ${missing[*]}"
    apt update
    apt install -y --no-install-recommends "${missing[@]}"
}

newest_package() { # newest_package SERIES: its newest kernel that apt knows
    apt-cache search --names-only "^linux-image-${1//./\\.}\\.[0-9][^ ]*-cloud-amd64\$" |
        cut -d' ' -f1 | sort -V | tail -n 1
}

fetch() { # fetch SERIES: unpacks a kernel and prints where it is
    local dir=$cache/$1 package
    mkdir -p "$dir"
    if ! compgen -G "$dir/*.deb" >/dev/null; then
        package=$(newest_package "$1")
        if [ -z "$package" ]; then
            apt update
            package=$(newest_package "$1")
        fi
        [ -n "$package" ] || return 1
        echo "vm-test: downloading $package" >&2
        (cd "$dir" && apt-get -qq download "$package" >&2) || return 1
    fi
    compgen -G "$dir/boot/vmlinuz-*" >/dev/null || dpkg -x "$dir"/*.deb "$dir" || return 1
    compgen -G "$dir/boot/vmlinuz-*"
}

initramfs() { # initramfs DAOS OUT
    local root=$cache/root program library
    rm -rf "$root"
    mkdir -p "$root"/{bin,proc,sys,dev,tmp}
    cp "$(command -v busybox)" "$root/bin/busybox"
    strip -o "$root/bin/daos" "$1"
    strip -o "$root/bin/daos-eval" "$1-eval"
    for program in "$1" "$1-eval" "$root/bin/busybox"; do
        for library in $(ldd "$program" 2>/dev/null | grep -o '/[^ ]*'); do
            mkdir -p "$root$(dirname "$library")"
            cp -Lu "$library" "$root$library"
        done
    done
    cat >"$root/hot.cfg" <<-'CFG'
	below, 64M
	hot, 32M
	above, 64M

	busy
	60s
	hot, random, 1, 1
	CFG
    cat >"$root/init" <<-'INIT'
	#!/bin/busybox sh
	/bin/busybox --install -s /bin
	export PATH=/bin
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t devtmpfs dev /dev
	mount -t tmpfs tmp /tmp
	cd /tmp
	say() { echo "@ $*"; }

	say kernel "$(uname -r)"
	grep -qw la57 /proc/cpuinfo && say levels 5 || say levels 4
	say text "$(grep ' _text$' /proc/kallsyms | cut -d' ' -f1)"

	daos doctor
	daos doctor --format json | grep -q '"ebpf-vaddr":{"ok":true' && say doctor ok

	# The memory has to be filled before it can be seen to be cold.
	daos-eval workload /hot.cfg --thp never -q &
	sleep 4
	# A wake-up is dear in emulation: the usual bound would leave nothing to look with.
	daos record --quiet --pid $! --duration 3s --max-overhead 50 && say record ok
	kill $!
	daos report regions --format json >regions && daos report regions && say regions ok
	daos report overhead --format json >overhead &&
	    say cpu "$(sed 's/.*"cpu_percent":\([0-9]*\.\?[0-9]\?\).*/\1/' overhead)"
	daos report wss --format json >wss &&
	    say wss "$(sed 's/.*"50":\([0-9]*\).*/\1/' wss)"

	for thp in never always; do
	    daos-eval accuracy -w /hot.cfg --monitors windows --max-overhead 50 --runs 1 \
	        --seconds 6 --warmup 2 --thp $thp 2>error >bench ||
	        cat error
	    cat bench
	    say recall-$thp "$(awk '$1 == "recall" { print $2 }' bench)"
	    say precision-$thp "$(awk '$1 == "precision" { print $2 }' bench)"
	done
	dmesg | grep -A 60 -E 'BUG:|WARNING:|Oops|general protection' && say complaint yes
	say finished yes
	reboot -f
	INIT
    chmod +x "$root/init"
    (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$2"
}

# With pti=on each kernel entry flushes the emulator's TLB. Without, it would keep
# translations that a real CPU drops soon, and set no accessed bit again. The rest
# saves time, or would wait for hardware that is not there.
arguments="console=ttyS0 quiet panic=-1 pti=on cryptomgr.notests nolapic_timer tsc=reliable no_timer_check"

boot() { # boot KERNEL SEED LOG ARGUMENT...
    local kernel=$1 seed=$2 log=$3
    shift 3
    nice -n 10 timeout 900 qemu-system-x86_64 -M pc -cpu max -smp 1 -m 1024 \
        -accel tcg -icount shift=2,sleep=off -seed "$seed" \
        -rtc base=2024-01-01T00:00:00,clock=vm \
        -nodefaults -no-user-config -display none -no-reboot -serial "file:$log" \
        -kernel "$kernel" -initrd "$cache/initramfs.gz" -append "$arguments $*" </dev/null
}

verdict() { # verdict LEVELS KASLR: what is wrong with the values in `got`, if anything
    local key thp random=on
    [ "${got[finished]:-}" = yes ] || { echo "it did not finish"; return; }
    [ "${got[levels]}" = "$1" ] || { echo "its tables have ${got[levels]} levels"; return; }
    # Where it was linked to be.
    [ "${got[text]}" != ffffffff81000000 ] || random=off
    [ "$random" = "$2" ] || { echo "KASLR is $random"; return; }
    for key in doctor record regions; do
        [ "${got[$key]:-}" = ok ] || { echo "$key failed"; return; }
    done
    for key in recall precision; do
        for thp in never always; do
            awk -v v="${got[$key-$thp]:-}" -v least=$least 'BEGIN { exit !(v + 0 >= least) }' ||
                { echo "$key below $least % (huge pages $thp)"; return; }
        done
    done
    awk -v v="${got[wss]:-0}" -v min=$wss_min -v max=$wss_max \
        'BEGIN { v /= 1048576; exit !(v >= min && v <= max) }' ||
        { echo "working set is not $wss_min to $wss_max MiB"; return; }
    [ -z "${got[complaint]:-}" ] || { echo "the kernel complained"; return; }
    echo ok
}

setup
daos=${DAOS:-}
if [ -z "$daos" ]; then
    bash scripts/setup.sh
    . scripts/as_root.sh
    cargo build --release -p daos -p daos-eval
    daos=${CARGO_TARGET_DIR:-target}/release/daos
fi
mkdir -p "$cache"
initramfs "$daos" "$cache/initramfs.gz"

row='%-29s %6s %5s  %-15s %-15s %8s %6s  %s\n'
# shellcheck disable=SC2059 # the format is the row's
line() { printf "$row" "$@"; }
line kernel levels KASLR "recall, prec." "huge pages" WSS CPU result
failed=0
seed=0
for series; do
    if ! kernel=$(fetch "$series"); then
        line "$series" - - - - - - "NOT TESTED: no package; put one into $cache/$series"
        failed=1
        continue
    fi
    for levels in 4 5; do
        for kaslr in off on; do
            seed=$((seed + 1))
            log=$cache/$series-$levels-$kaslr.log
            extra=()
            [ $levels = 5 ] || extra+=(no5lvl)
            [ $kaslr = on ] || extra+=(nokaslr)
            rm -f "$log"
            boot "$kernel" $seed "$log" "${extra[@]}" || true
            unset got
            declare -A got=()
            while read -r _ key value; do
                got[$key]=$value
            done < <(tr -d '\r' <"$log" | grep '^@ ')
            result=$(verdict $levels $kaslr)
            if [ "$result" != ok ]; then
                failed=1
                result="FAILED: $result; see $log"
            fi
            line "${got[kernel]:-$series}" $levels $kaslr \
                "${got[recall-never]:--}, ${got[precision-never]:--}" \
                "${got[recall-always]:--}, ${got[precision-always]:--}" \
                "$(awk -v v="${got[wss]:-0}" 'BEGIN { printf "%.1f", v / 1048576 }')" \
                "${got[cpu]:--} %" "$result"
        done
    done
done
exit $failed
