//! Numbers in as few bytes as they need (LEB128).
//!
//! Seven bits a byte, the low ones first; the high bit says that more follow.
//! Most numbers of a snapshot are small, so this alone halves a record.

use daos_core::PAGE_SIZE;

/// Appends `value` to `out`, in 1 to 10 bytes.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a number off the front of `bytes`; `None` when it is cut short or
/// does not fit 64 bits.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes a number of 32 bits.
pub fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(take(bytes)?).ok()
}

/// Takes a number of pages, as bytes.
pub fn take_pages(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes)?.checked_mul(PAGE_SIZE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut largest = Vec::new();
        put(&mut largest, u64::MAX);
        assert_eq!(largest.len(), 10);
        largest[9] = 2;
        assert_eq!(take(&mut &largest[..]), None);
        assert_eq!(take(&mut &[0x80; 11][..]), None);
        assert_eq!(take(&mut &[0x80][..]), None);
    }

    proptest! {
        #[test]
        fn every_number_comes_back(value: u64, shift in 0..64) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            let mut rest = &bytes[..];
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
        }
    }
}
