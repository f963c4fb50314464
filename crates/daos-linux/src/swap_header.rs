//! The first page of a swap device: what makes it one, and whose it is.
//!
//! The layout is mkswap(8)'s version 1: version, last page, UUID and label from byte 1024
//! on, in the byte order of this machine, and a mark at the end of the page.

use daos_core::PAGE_SIZE;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

const LEN: usize = PAGE_SIZE as usize;
const VERSION: Range<usize> = 1024..1028;
const LAST_PAGE: Range<usize> = 1028..1032;
const UUID: Range<usize> = 1036..1052;
/// 16 bytes have room here; the rest are zeros.
const LABEL_AT: usize = 1052;
const MARK: &[u8] = b"SWAPSPACE2";

/// What `swapon --show=LABEL` and blkid(8) call it.
const LABEL: &[u8] = b"daos";

/// What tells one swap device from all others. Its default, all zeros, is what versions of
/// `daos` wrote that gave none; mkswap(8) always gives one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Uuid(u128);

impl Uuid {
    /// One that nobody has.
    pub(crate) fn random(root: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(root.join("proc/sys/kernel/random/uuid"))?;
        text.trim().to_owned().try_into().map_err(io::Error::other)
    }
}

impl TryFrom<String> for Uuid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.replace('-', "");
        let is_whole = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u128::from_str_radix(&digits, 16).ok().filter(|_| is_whole);
        number.map(Self).ok_or_else(|| format!("{text:?} is no UUID"))
    }
}

impl From<Uuid> for String {
    fn from(uuid: Uuid) -> Self {
        uuid.to_string()
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:032x}", self.0);
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
        write!(f, "{}", parts.join("-"))
    }
}

/// What the first page of a device says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Header {
    /// It is swap with this UUID.
    Swap(Uuid),
    /// Nothing: all zeros.
    Blank,
    /// Something else.
    Other,
}

impl Header {
    /// Of an open device, which was not read from yet.
    pub(crate) fn read(device: &mut File) -> io::Result<Self> {
        let mut page = [0; LEN];
        device.read_exact(&mut page)?;
        Ok(Self::of(&page))
    }

    fn of(page: &[u8; LEN]) -> Self {
        if page[LEN - MARK.len()..] == *MARK {
            let bytes = page[UUID].try_into().expect("a UUID has 16 bytes");
            return Self::Swap(Uuid(u128::from_be_bytes(bytes)));
        }
        if page.iter().all(|&byte| byte == 0) { Self::Blank } else { Self::Other }
    }
}

/// The page that makes a device of `bytes` a swap device of this UUID.
pub(crate) fn page(bytes: u64, uuid: Uuid) -> [u8; LEN] {
    let mut page = [0; LEN];
    let last_page = (bytes / PAGE_SIZE - 1) as u32;
    page[VERSION].copy_from_slice(&1u32.to_ne_bytes());
    page[LAST_PAGE].copy_from_slice(&last_page.to_ne_bytes());
    page[UUID].copy_from_slice(&uuid.0.to_be_bytes());
    page[LABEL_AT..][..LABEL.len()].copy_from_slice(LABEL);
    page[LEN - MARK.len()..].copy_from_slice(MARK);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uuid() -> Uuid {
        Uuid::try_from("00112233-4455-6677-8899-aabbccddeeff".to_owned()).unwrap()
    }

    #[test]
    fn a_page_says_the_last_page_and_whose_it_is() {
        let page = page(1 << 20, uuid());
        assert_eq!(page[1024..1032], [1u32.to_ne_bytes(), 255u32.to_ne_bytes()].concat());
        assert_eq!(page[1036..1040], [0, 0x11, 0x22, 0x33]);
        assert_eq!(page[1051], 0xff);
        assert_eq!(page[1052..1068], *b"daos\0\0\0\0\0\0\0\0\0\0\0\0");
        assert!(page[1068..4086].iter().all(|&byte| byte == 0), "no bad pages");
        assert_eq!(page[4086..], *b"SWAPSPACE2");
        assert_eq!(Header::of(&page), Header::Swap(uuid()));
    }

    #[test]
    fn other_pages_are_not_taken_for_swap() {
        let mut page = [0; LEN];
        assert_eq!(Header::of(&page), Header::Blank);
        page[LEN - 1] = 1;
        assert_eq!(Header::of(&page), Header::Other);
    }

    #[test]
    fn a_uuid_is_written_as_it_is_read() {
        let text = "\"00112233-4455-6677-8899-aabbccddeeff\"";
        assert_eq!(serde_json::to_string(&uuid()).unwrap(), text);
        assert_eq!(serde_json::from_str::<Uuid>(text).unwrap(), uuid());
        for wrong in ["\"\"", "\"+0112233445566778899aabbccddeeff\"", "\"00112233\"", "7"] {
            assert!(serde_json::from_str::<Uuid>(wrong).is_err(), "{wrong}");
        }
    }
}
