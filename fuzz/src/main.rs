//! A target under libFuzzer: the one that `FUZZ_TARGET` names. See `scripts/fuzz.sh`.

#![no_main]

use daos_fuzz::Target;
use daos_fuzz::frames::Frames;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    Target::named(&name).unwrap_or_else(|| panic!("there is no target {name:?}"))
});

fuzz_target!(|input: &[u8]| TARGET.check(input));

// Changes a record frame by frame: a byte more in one would otherwise be the end of all behind.
fuzz_mutator!(|input: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut record = Frames::split(&input[..size]);
    let count = record.frames.len() as u32;
    if TARGET.name != "record" || count == 0 || seed % 4 == 0 {
        return fuzzer_mutate(input, size, max_size);
    }
    let at = (seed / 4 % count) as usize;
    if seed / 4 / count % 16 == 0 {
        let other = record.frames[(seed / 64) as usize % count as usize].clone();
        record.frames.insert(at, other);
    } else {
        let payload = &mut record.frames[at].1;
        let old = payload.len();
        payload.resize(old + max_size - size.min(max_size), 0);
        let room = payload.len();
        let new = fuzzer_mutate(payload, old, room);
        payload.truncate(new);
    }
    let record = record.join();
    if record.len() > max_size {
        return size;
    }
    input[..record.len()].copy_from_slice(&record);
    record.len()
});
