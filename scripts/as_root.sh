# Sourced. What `sudo` runs as root uses the caller's Rust, which root need not have, and builds in a
# directory of its own, so that the caller can go on building.

if [ "$(id -u)" -eq 0 ] && [ "${SUDO_UID:-0}" -ne 0 ]; then
    caller=$(getent passwd "$SUDO_UID" | cut -d: -f6)
    if [ -x "$caller/.cargo/bin/cargo" ]; then
        PATH=$caller/.cargo/bin:$PATH
        if [ -d "$caller/.rustup" ]; then
            export RUSTUP_HOME=${RUSTUP_HOME:-$caller/.rustup}
        fi
    fi
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target-root}
fi
