//! What a round of a projection costs: three gigabytes of pages of 4 KiB, an eighth in use, in
//! scattered page frames of 24 GiB. `cargo run -p daos-monitor --example projecting`.

use daos_core::{
    AddrRange, MappedFrames, MonitorAttrs, PAGE_SIZE, PageFrames, RegionSnapshot, Rng, Snapshot,
    TargetId, TargetSnapshot,
};
use daos_monitor::Projection;
use std::convert::Infallible;
use std::time::Instant;

const PAGES: u64 = 3 << 18;
const FRAMES: u64 = 24 << 18;
const ROUNDS: usize = 5;

struct Tables(Vec<u64>);

impl PageFrames for Tables {
    type Error = Infallible;

    fn frames(
        &mut self,
        _: TargetId,
        ranges: &[AddrRange],
        mut each: impl FnMut(MappedFrames),
    ) -> Result<(), Infallible> {
        for range in ranges {
            for page in range.start / PAGE_SIZE..range.end / PAGE_SIZE {
                let pages = AddrRange::new(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
                each(MappedFrames { pages, physical: self.0[page as usize] * PAGE_SIZE });
            }
        }
        Ok(())
    }
}

fn main() {
    let mut rng = Rng::new(1);
    // In half of the machine, so that each block of 2 MiB has some.
    let mut frames: Vec<u64> = (0..FRAMES / 2).collect();
    for last in (1..frames.len()).rev() {
        frames.swap(last, rng.below(last as u64 + 1) as usize);
    }
    frames.truncate(PAGES as usize);
    let region = |start, end, access_rate, age_us| RegionSnapshot {
        range: AddrRange::new(start * PAGE_SIZE, end * PAGE_SIZE),
        access_rate,
        unobserved: 0.0,
        age_us,
    };
    let hot = PAGES / 2..PAGES / 2 + PAGES / 8;
    let target = TargetSnapshot {
        regions: vec![
            region(0, hot.start, 0.0, 10_000_000),
            region(hot.start, hot.end, 0.5, 1_000_000),
            region(hot.end, PAGES, 0.0, 20_000_000),
        ],
        ..TargetSnapshot::default()
    };
    let snapshot = Snapshot { end_us: 30_000_000, targets: vec![target], ..Snapshot::default() };
    let ram = [AddrRange::new(0, FRAMES * PAGE_SIZE)];
    let mut projection = Projection::new(&MonitorAttrs::default(), &ram);
    let mut tables = Tables(frames);
    for _ in 0..ROUNDS {
        let (mut reading, mut steps, mut longest) = (None, 0, 0.0f64);
        let began = Instant::now();
        let last = loop {
            let step = Instant::now();
            let Ok(stepped) = projection.step(&snapshot, &mut tables);
            steps += 1;
            longest = longest.max(step.elapsed().as_secs_f64() * 1e3);
            if stepped.is_read {
                reading = Some(began.elapsed().as_secs_f64() * 1e3);
            }
            if stepped.is_over {
                break stepped;
            }
        };
        println!(
            "{:.1} ms to read, {:.1} ms in all, in {steps} steps, the longest {longest:.1} ms; {} told",
            reading.unwrap_or_default(),
            began.elapsed().as_secs_f64() * 1e3,
            last.told,
        );
    }
}
