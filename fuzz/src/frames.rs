//! The frames of a record, taken apart and put together with right lengths and checksums.
//!
//! Nearly every change of a record is caught by a checksum. Hostile files have right ones, so
//! inputs need them to reach what is behind. `docs/record-format.md` has the bytes.

/// Bytes in front of the first frame.
const PRELUDE: usize = 12;
/// Kind and length of a frame.
const HEAD: usize = 5;
const CHECKSUM: usize = 4;

/// A record in parts, any of which may be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames {
    /// Magic and version.
    pub prelude: Vec<u8>,
    /// Kind and payload of each frame.
    pub frames: Vec<(u8, Vec<u8>)>,
}

impl Frames {
    /// The frames in `bytes`, by their lengths, without a look at their checksums. The last
    /// one takes what there is if it is cut off.
    pub fn split(bytes: &[u8]) -> Self {
        let (prelude, mut rest) = bytes.split_at(PRELUDE.min(bytes.len()));
        let mut frames = Vec::new();
        while let Some((&[kind, length @ ..], behind)) = rest.split_first_chunk::<HEAD>() {
            let length = (u32::from_le_bytes(length) as usize).min(behind.len());
            let (payload, behind) = behind.split_at(length);
            frames.push((kind, payload.to_vec()));
            rest = &behind[CHECKSUM.min(behind.len())..];
        }
        Self { prelude: prelude.to_vec(), frames }
    }

    /// The record, with the length and the checksum that each frame should have.
    pub fn join(&self) -> Vec<u8> {
        let mut record = self.prelude.clone();
        for (kind, payload) in &self.frames {
            let start = record.len();
            record.push(*kind);
            record.extend((payload.len() as u32).to_le_bytes());
            record.extend(payload);
            let checksum = crc32fast::hash(&record[start..]);
            record.extend(checksum.to_le_bytes());
        }
        record
    }
}
