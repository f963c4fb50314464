//! Places that cover a range evenly, however many of them there are.

/// 2^64 divided by the golden ratio: multiples of it, modulo 2^64, cover the range evenly
/// (Fibonacci hashing, Knuth, TAOCP 3, §6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The place with this number, as a part of 2^64.
pub fn place(nth: u64) -> u64 {
    nth.wrapping_mul(GOLDEN)
}

/// So large a part of 2^64 as a part of `all`: less than that, and 0 of nothing.
pub fn part_of(part: u64, all: u64) -> u64 {
    ((u128::from(part) * u128::from(all)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_many_there_are_no_gap_is_much_wider_than_others() {
        for nr in 2..200 {
            let mut places: Vec<u64> = (1..=nr).map(|nth| part_of(place(nth), 1_000_000)).collect();
            places.sort_unstable();
            let widest = places.windows(2).map(|two| two[1] - two[0]).max().unwrap();
            assert!(widest * nr < 2_700_000, "{widest} of {nr}");
        }
        assert_eq!((part_of(u64::MAX, 10), part_of(u64::MAX, 0)), (9, 0));
    }
}
