//! Round numbers for the marks of an axis, and which of their labels are written.

use daos_core::units::display;
use daos_core::{AddrRange, PAGE_SIZE};

/// A mark of an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where it stands.
    pub value: f64,
    /// What it says.
    pub label: String,
}

/// At most `most` multiples of 1, 2 or 5 times a power of ten in `from..=to`.
pub fn decimal(from: f64, to: f64, most: usize) -> Vec<Tick> {
    let is_axis = from < to && (to - from).is_finite();
    if !is_axis {
        return Vec::new();
    }
    let coarsest = (to - from) / most.max(1) as f64;
    let power = coarsest.log10().floor() as i32;
    let steps = [(1.0, power), (2.0, power), (5.0, power), (1.0, power + 1), (2.0, power + 1)];
    let fits = |&(digit, power): &(f64, i32)| {
        let step = digit * 10f64.powi(power);
        (to / step + 1e-9).floor() - (from / step - 1e-9).ceil() < most.max(1) as f64
    };
    let (digit, power) = steps.into_iter().find(fits).unwrap_or((5.0, power + 1));
    let step = digit * 10f64.powi(power);
    let decimals = power.min(0).unsigned_abs() as usize;
    multiples(step, from, to, |value| format!("{value:.decimals$}"))
}

/// At most about `most` sizes in `0..=to` bytes, a power of two apart.
pub fn bytes(to: f64, most: usize) -> Vec<Tick> {
    multiples(binary_step(to, most), 0.0, to, |value| display::bytes(value as u64))
}

/// At most about `most` addresses of pages inside `range`, multiples of a power of two.
pub fn pages(range: AddrRange, most: usize) -> Vec<u64> {
    let step = binary_step(range.len() as f64, most).max(PAGE_SIZE as f64) as u64;
    let first = range.start / step + 1;
    (first..range.end.div_ceil(step)).map(|i| i * step).collect()
}

/// The smallest power of two of which no more than `most` fit into `span`; at least 1.
fn binary_step(span: f64, most: usize) -> f64 {
    let mut step = 1.0;
    while step * (most.max(1) as f64) < span {
        step *= 2.0;
    }
    step
}

fn multiples(step: f64, from: f64, to: f64, label: impl Fn(f64) -> String) -> Vec<Tick> {
    let first = (from / step - 1e-9).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    let tick = |value: f64| Tick { value, label: label(value) };
    (first..=last).map(|i| tick(i as f64 * step)).collect()
}

/// Every n-th of `labels` (where its middle is, and how wide it is), with the smallest n of
/// which none come closer than `gap` to each other; a somewhat larger one if that also has
/// the last. Returns n.
pub fn step(labels: &[(f64, f64)], gap: f64) -> usize {
    let fits = |n: &usize| {
        let kept: Vec<_> = labels.iter().step_by(*n).collect();
        kept.windows(2).all(|pair| {
            let (left, right) = (pair[0], pair[1]);
            left.0 + left.1 / 2.0 + gap <= right.0 - right.1 / 2.0
        })
    };
    let least = (1..labels.len()).find(fits).unwrap_or(labels.len().max(1));
    let last = labels.len().saturating_sub(1);
    (least..2 * least).filter(fits).find(|n| last.is_multiple_of(*n)).unwrap_or(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn decimal_ticks_are_round() {
        assert_eq!(labels(decimal(0.0, 20.0, 6)), ["0", "5", "10", "15", "20"]);
        assert_eq!(labels(decimal(12.1, 12.9, 5)), ["12.2", "12.4", "12.6", "12.8"]);
        assert_eq!(
            labels(decimal(0.0, 3600.0, 8)),
            ["0", "500", "1000", "1500", "2000", "2500", "3000", "3500"]
        );
        assert!(decimal(1.0, 1.0, 5).is_empty());
        assert!(decimal(0.0, f64::NAN, 5).is_empty());
    }

    #[test]
    fn never_more_ticks_than_asked_for() {
        for most in 1..12 {
            for span in [0.003, 0.7, 1.0, 9.9, 47.0, 100.0, 86_400.0] {
                let ticks = decimal(0.0, span, most);
                assert!((1..=most).contains(&ticks.len()), "{most} {span} {ticks:?}");
            }
        }
    }

    #[test]
    fn pages_are_round_addresses_inside() {
        let of = |start, end, most| pages(AddrRange::new(start, end), most);
        assert_eq!(of(0x7000, 0xb000, 9), [0x8000, 0x9000, 0xa000]);
        assert_eq!(of(0x7000, 0x2b000, 5), [0x8000, 0x10000, 0x18000, 0x20000, 0x28000]);
        assert!(of(0x7000, 0x8000, 9).is_empty());
        assert_eq!(of(0, u64::MAX, 2), [1 << 63]);
    }

    #[test]
    fn sizes_are_powers_of_two_apart() {
        let mib = f64::from(1 << 20);
        assert_eq!(labels(bytes(410.0 * mib, 4)), ["0 B", "128 MiB", "256 MiB", "384 MiB"]);
        assert_eq!(labels(bytes(0.0, 4)), ["0 B"]);
    }

    fn evenly(count: usize, distance: f64) -> Vec<(f64, f64)> {
        (0..count).map(|i| (i as f64 * distance, 10.0)).collect()
    }

    #[test]
    fn all_are_written_where_there_is_room() {
        assert_eq!(step(&evenly(7, 20.0), 5.0), 1);
        assert_eq!(step(&[], 5.0), 1);
        assert_eq!(step(&evenly(1, 0.0), 5.0), 1);
    }

    #[test]
    fn labels_never_touch_and_the_last_is_kept_if_it_can_be() {
        assert_eq!(step(&evenly(61, 4.0), 5.0), 4);
        assert_eq!(step(&evenly(61, 2.0), 5.0), 10, "8 would do, but leaves out the last");
        assert_eq!(step(&evenly(60, 4.0), 5.0), 4, "no n up to 8 has the last");
        assert_eq!(step(&evenly(5, 0.0), 5.0), 5, "all at one place: the first alone");
    }
}
