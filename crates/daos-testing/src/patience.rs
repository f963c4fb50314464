//! How long to wait, and how often to try.
//!
//! A machine may be busy with other things. So what should become true is waited for, and
//! what is measured is measured again, before a test fails: it fails when the thing is
//! broken, and not when it is slow.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// How long anything may take that takes no time on a machine that is idle.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often a measurement is made before its test fails.
const TRIES: u32 = 3;

/// Sleeps for this many seconds.
pub fn sleep_s(seconds: f64) {
    std::thread::sleep(Duration::from_secs_f64(seconds));
}

/// Whether it becomes true within [`PATIENCE`].
pub fn until(mut is_true: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if is_true() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What `test` returns, which is tried again when it panics: three times in all.
pub fn eventually<T>(test: impl Fn() -> T) -> T {
    for attempt in 1..TRIES {
        match catch_unwind(AssertUnwindSafe(&test)) {
            Ok(done) => return done,
            Err(_) => println!("attempt {attempt} of {TRIES} failed; once more"),
        }
    }
    test()
}
