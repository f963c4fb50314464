//! How likely a pattern touches a page.
//!
//! The truth that monitors are compared with: the *access rate* of a page is the
//! chance that it is accessed within one sampling interval, here from what the
//! pattern does instead of from what somebody saw.

use crate::config::Order;
use crate::singles::Singles;

/// The chance, 0 to 1, that `accesses` accesses in this order touch a page of
/// `page` bytes in a region of `len` bytes, on average over its pages.
///
/// - Random: each access misses the page with chance `1 - page/len`; accesses
///   come at random times too, so the number that hit is Poisson-distributed.
/// - Stride: the walk stands anywhere at first. The page is touched when one of
///   its steps is among the next `accesses`; where steps are longer than pages,
///   most pages have no step and are never touched.
/// - Singles: as random accesses to those pages that are accessed at all.
pub fn touched(order: Order, len: u64, page: u64, accesses: f64) -> f64 {
    if accesses <= 0.0 {
        return 0.0;
    }
    match order {
        Order::Random => -(-accesses * page as f64 / len as f64).exp_m1(),
        Order::Singles(every) => {
            let singles = Singles::new(every, len);
            let pages = (page as f64 / every as f64).min(1.0);
            let of_a_page = accesses / singles.groups.max(1) as f64;
            -(-of_a_page * (page as f64 / every as f64).max(1.0)).exp_m1() * pages
        }
        Order::Stride(stride) => {
            let steps = len.div_ceil(stride) as f64;
            let steps_a_page = page as f64 / stride as f64;
            let among = (accesses + (steps_a_page - 1.0).max(0.0)) / steps;
            among.min(1.0) * steps_a_page.min(1.0)
        }
    }
}

/// The chance that at least one of several independent patterns touches a page.
pub fn any(chances: impl IntoIterator<Item = f64>) -> f64 {
    1.0 - chances.into_iter().map(|c| 1.0 - c).product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn random_accesses_miss_some_pages() {
        assert!(near(touched(Order::Random, 1 << 20, 4096, 256.0), 1.0 - (-1f64).exp()));
        assert_eq!(touched(Order::Random, 1 << 20, 4096, 0.0), 0.0);
    }

    #[test]
    fn a_walk_touches_pages_in_turn() {
        // 256 pages, one step each.
        assert!(near(touched(Order::Stride(4096), 1 << 20, 4096, 64.0), 0.25));
        assert!(near(touched(Order::Stride(4096), 1 << 20, 4096, 1e9), 1.0));
        // 64 steps a page: the 64 accesses lie in two pages, unless they start one.
        assert!(near(touched(Order::Stride(64), 1 << 20, 4096, 64.0), 127.0 / 16384.0));
        // A step every fourth page.
        assert!(near(touched(Order::Stride(16384), 1 << 20, 4096, 1e9), 0.25));
    }

    #[test]
    fn single_pages_get_all_accesses() {
        // 64 of 256 pages, each accessed once on average.
        let singles = Order::Singles(16384);
        let of_those = 1.0 - (-1f64).exp();
        assert!(near(touched(singles, 1 << 20, 4096, 64.0), of_those / 4.0));
        // A huge page has 128 of them.
        assert!(near(touched(singles, 4 << 20, 2 << 20, 2.0), of_those));
    }

    #[test]
    fn patterns_add_up() {
        assert!(near(any([0.5, 0.5]), 0.75));
        assert_eq!(any([]), 0.0);
    }
}
