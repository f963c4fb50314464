//! What looking at page frames costs: all of the machine's RAM is looked at once, and some of it
//! is armed. As root: `cargo run -p daos-bpf --example frames`.

use daos_bpf::PhysicalMemory;
use daos_core::{AccessCheck, HUGE_PAGE_SIZE, Observation, Window};
use daos_linux::census::Selection;
use std::time::Instant;

/// Whether a window is of a kind, by what was found there.
type IsOfKind = fn(&Observation) -> bool;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut memory = PhysicalMemory::new(Selection::default(), 750, 0.01)?;
    println!("{:?}", memory.prices());
    let target = memory.targets()?.remove(0);
    let blocks = target.ranges.iter().flat_map(|range| range.blocks(HUGE_PAGE_SIZE));
    let windows: Vec<_> = blocks.map(|part| Window::over(target.id, part)).collect();
    let mut found: Vec<Observation> = Vec::new();
    for _ in 0..3 {
        found.clear();
        let began = Instant::now();
        memory.check(&windows, &mut found)?;
        let us = began.elapsed().as_secs_f64() * 1e6;
        let sum = |of: fn(&Observation) -> u32| found.iter().map(|o| u64::from(of(o))).sum::<u64>();
        println!(
            "{} windows in {us:.0} us: {} pages observable, {} accessed, {} not observable",
            windows.len(),
            sum(|o| o.present),
            sum(|o| o.accessed),
            sum(|o| o.unobservable),
        );
    }
    let kinds: [(&str, IsOfKind); 4] = [
        ("free", |seen| seen.empty_bytes > 0),
        ("of one huge page", |seen| seen.is_huge(512)),
        ("of other memory, some of it mapped", |seen| seen.present > 0 && seen.entries > 1),
        ("of which nothing is mapped", |seen| seen.present == 0 && seen.empty_bytes == 0),
    ];
    let all: Vec<_> = windows.iter().copied().zip(std::mem::take(&mut found)).collect();
    for (name, is_of) in kinds {
        let these = all.iter().filter(|(_, seen)| is_of(seen));
        let (these, seen): (Vec<_>, Vec<_>) = these.copied().unzip();
        let began = Instant::now();
        memory.check(&these, &mut found)?;
        let us = began.elapsed().as_secs_f64() * 1e6;
        let mapped: u32 = seen.iter().map(|seen| seen.present + seen.unobservable).sum();
        let each = us / these.len().max(1) as f64;
        println!("{} windows {name}: {each:.2} us each, {mapped} pages mapped", these.len());
    }
    found = all.iter().map(|(_, seen)| *seen).collect();
    let is_used = |(window, seen): (&Window, &Observation)| (seen.accessed > 0).then_some(*window);
    let used: Vec<_> = windows.iter().zip(&found).filter_map(is_used).collect();
    for pages in [8, 512] {
        let step = (used.len() / 64).max(1);
        let some: Vec<_> = used.iter().step_by(step).map(|w| Window { pages, ..*w }).collect();
        for _ in 0..5 {
            found.clear();
            memory.check(&some, &mut found)?;
            let young: u32 = found.iter().map(|seen| seen.accessed).sum();
            let began = Instant::now();
            memory.arm(&some)?;
            let us = began.elapsed().as_secs_f64() * 1e6;
            found.clear();
            memory.check(&some, &mut found)?;
            let left: u32 = found.iter().map(|seen| seen.unobservable).sum();
            println!(
                "armed {} windows of {pages} pages, {young} young, in {us:.0} us; {left} can't be observed now, of {} owners",
                some.len(),
                memory.pids().count()
            );
        }
    }
    Ok(())
}
