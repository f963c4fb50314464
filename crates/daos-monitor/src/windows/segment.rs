//! Where a bitmap of accesses shows an edge.
//!
//! Neighbouring pages of one rate are one run. The best run inside a bitmap is the one
//! that makes what was seen most likely; it counts if it does so by far (a likelihood
//! ratio test). Only additions, multiplications and divisions: the same bits give the
//! same cut on every machine.

use daos_core::PageBits;
use daos_core::access::has_page;

/// Twice the gain in log likelihood from which on a run or an edge is believed: 3 sigma,
/// chi-squared with one degree of freedom.
const SIGNIFICANT: f64 = 9.0;

/// Natural logarithm of a number above 0, to seven digits.
pub(super) fn ln(x: f64) -> f64 {
    const LN_2: f64 = std::f64::consts::LN_2;
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    // ln m = 2 atanh((m - 1) / (m + 1)), m from 1 to 2.
    let y = (mantissa - 1.0) / (mantissa + 1.0);
    let y2 = y * y;
    let series = 1.0 + y2 * (1.0 / 3.0 + y2 * (0.2 + y2 * (1.0 / 7.0 + y2 / 9.0)));
    exponent as f64 * LN_2 + 2.0 * y * series
}

/// Log likelihood of `hits` of `tries`, at the rate that fits them best.
pub(super) fn likelihood(hits: f64, tries: f64) -> f64 {
    let part = |n: f64| if n > 0.0 { n * ln(n / tries) } else { 0.0 };
    if tries > 0.0 { part(hits) + part(tries - hits) } else { 0.0 }
}

/// The run of pages, at least one and not all of the first `pages`, that differs most
/// from the rest; `None` when nothing differs by more than chance.
pub(super) fn best_run(bits: &PageBits, pages: u32) -> Option<(u32, u32)> {
    let mut before = vec![0u32; pages as usize + 1];
    for page in 0..pages {
        before[page as usize + 1] = before[page as usize] + u32::from(has_page(bits, page));
    }
    let all = before[pages as usize];
    if all == 0 || all == pages {
        return None;
    }
    let as_one = likelihood(f64::from(all), f64::from(pages));
    let mut best = (SIGNIFICANT / 2.0, None);
    for start in 0..pages {
        // A run that begins or ends in the midst of pages alike is never the best.
        if start > 0 && has_page(bits, start) == has_page(bits, start - 1) {
            continue;
        }
        for end in start + 1..=pages {
            let whole = start == 0 && end == pages;
            if whole || (end < pages && has_page(bits, end) == has_page(bits, end - 1)) {
                continue;
            }
            let hits = before[end as usize] - before[start as usize];
            let inside = likelihood(f64::from(hits), f64::from(end - start));
            let rest = f64::from(pages - (end - start));
            let gain = inside + likelihood(f64::from(all - hits), rest) - as_one;
            if gain > best.0 {
                best = (gain, Some((start, end)));
            }
        }
    }
    best.1
}

/// The number of pages from the start that are of the first kind, when those before
/// the edge have the rate `left` and those behind it `right`: the most likely one, but
/// `expected` when that is not much less likely. Each page is worth `weight` trials.
pub(super) fn best_cut(
    bits: &PageBits,
    pages: u32,
    (left, right): (f64, f64),
    expected: u32,
    weight: f64,
) -> u32 {
    let clamp = |rate: f64| rate.clamp(0.01, 0.99);
    let (left, right) = (clamp(left), clamp(right));
    let hit = ln(left / right);
    let miss = ln((1.0 - left) / (1.0 - right));
    let mut likelihood = 0.0;
    let mut best = (0.0, 0);
    let mut as_expected = 0.0;
    for page in 0..pages {
        likelihood += weight * if has_page(bits, page) { hit } else { miss };
        if likelihood > best.0 {
            best = (likelihood, page + 1);
        }
        if page + 1 == expected {
            as_expected = likelihood;
        }
    }
    if best.0 - as_expected > SIGNIFICANT / 2.0 { best.1 } else { expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bits(text: &str) -> (PageBits, u32) {
        let mut bits = PageBits::default();
        for (page, _) in text.chars().enumerate().filter(|(_, c)| *c == '#') {
            bits[page / 64] |= 1 << (page % 64);
        }
        (bits, text.len() as u32)
    }

    fn run(text: &str) -> Option<(u32, u32)> {
        let (bits, pages) = bits(text);
        best_run(&bits, pages)
    }

    #[test]
    fn edges_are_found_to_the_page() {
        assert_eq!(run("......####......"), Some((6, 10)));
        assert_eq!(run("################........................"), Some((0, 16)));
        assert_eq!(run("............................############"), Some((0, 28)));
        assert_eq!(run("#######.########................"), Some((0, 16)), "a miss in a hot run");
    }

    #[test]
    fn chance_is_no_edge() {
        assert_eq!(run("................"), None);
        assert_eq!(run("################"), None);
        assert_eq!(run(".......#........"), None, "one page of sixteen");
        assert_eq!(run("#..#.##..#.#..##"), None);
    }

    #[test]
    fn a_cut_between_known_rates() {
        let cut = |text: &str, left, right, expected| {
            let (bits, pages) = bits(text);
            best_cut(&bits, pages, (left, right), expected, 1.0)
        };
        assert_eq!(cut("########........", 0.9, 0.0, 8), 8);
        assert_eq!(cut("########........", 0.9, 0.0, 2), 8);
        assert_eq!(cut("..........######", 0.0, 0.9, 8), 10);
        assert_eq!(cut("################", 0.9, 0.0, 8), 16);
        assert_eq!(cut("................", 0.9, 0.0, 8), 0);
    }

    proptest! {
        #[test]
        fn logarithms_are_right(x in 1e-6f64..1e6) {
            prop_assert!((ln(x) - x.ln()).abs() < 1e-5 * (1.0 + x.ln().abs()));
        }
    }
}
