//! What a page-table entry of x86-64 says (Intel SDM volume 3A, chapter 4).
//!
//! Everything that knows one architecture's tables is here and in `intf.h`; a
//! second architecture is a second set of these few constants.

const PRESENT: u64 = 1 << 0;
/// How it is cached, together with a bit whose place depends on the level.
const PWT: u64 = 1 << 3;
const PCD: u64 = 1 << 4;
const ACCESSED: u64 = 1 << 5;
/// Linux: in an entry that is not present for the CPU, that it maps a page in memory all the same,
/// to which access is denied: the program asked for that (`PROT_NONE`), or the kernel wants a page
/// fault to learn on which node the page is used (NUMA balancing). In such an entry the bits of the
/// address are inverted (as a mitigation of L1TF).
const PROT_NONE: u64 = 1 << 8;
/// Either says that a page is there.
const THERE: u64 = PRESENT | PROT_NONE;
/// Linux: what is mapped is no ordinary page: the page of zeros, or a device's.
const SPECIAL: u64 = 1 << 9;
/// Linux: where the type of a swap entry begins, and how many types are swap at least;
/// those above mean pages that are moved, poisoned, of a device, …
const SWAP_TYPE_SHIFT: u64 = 59;
const SWAP_TYPES: u64 = 23;

/// Bits of an entry that may hold an address. Some of them may be an encryption bit
/// instead, which is the same in all entries: enough to compare frames.
pub(crate) const FRAME_MASK: u64 = 0x000f_ffff_ffff_f000;

/// An entry that maps memory: a page at level 1, a huge page above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry(pub u64);

impl Entry {
    /// A page is there, whether or not it may be accessed now.
    pub(crate) fn is_present(self) -> bool {
        self.0 & THERE != 0
    }

    /// Nothing was ever there, or what was is the file's alone.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// An entry of level 1 whose page is in swap, or in the cache before it.
    pub(crate) fn is_swapped(self) -> bool {
        !self.is_present() && !self.is_empty() && self.0 >> SWAP_TYPE_SHIFT < SWAP_TYPES
    }

    /// Present, and accessed since the bit was last cleared.
    pub(crate) fn is_young(self) -> bool {
        self.is_present() && self.0 & ACCESSED != 0
    }

    /// Whether it maps no page that could be armed: the page of zeros, or memory of a device.
    pub(crate) fn is_special(self) -> bool {
        self.0 & SPECIAL != 0
    }

    /// Whether the CPU may cache what an entry of `level` maps as ordinary memory: neither
    /// PWT, PCD nor PAT is set, which is write-back in Linux's page attribute table.
    pub(crate) fn is_write_back(self, level: u32) -> bool {
        let pat = if level == 1 { 1 << 7 } else { 1 << 12 };
        self.0 & (PWT | PCD | pat) == 0
    }

    /// Number of the page frame that an entry of `level` maps first.
    pub(crate) fn frame(self, level: u32, frame_mask: u64) -> u64 {
        let is_inverted = self.0 & THERE == PROT_NONE;
        let entry = if is_inverted { self.0 ^ FRAME_MASK } else { self.0 };
        // A huge page's entry has a flag where the low bits of the address were.
        (entry & frame_mask & !(bytes_mapped(level) - 1)) >> 12
    }
}

/// Bytes that one entry of `level` maps: 4 KiB, 2 MiB, 1 GiB, …
pub(crate) fn bytes_mapped(level: u32) -> u64 {
    1 << (12 + 9 * (level.max(1) - 1))
}

/// Levels of this machine's page tables (5 with `la57`, else 4) and the bits of
/// an entry that are an address, from the text of `/proc/cpuinfo`. The kernel
/// lowers the width by what memory encryption takes, so an encryption bit is
/// never read as an address. With 4 levels it has room to map 46 bits' worth of
/// memory, whatever the CPU could: more would lead out of the direct map.
pub(crate) fn table_shape(cpuinfo: &str) -> (u32, u64) {
    let field = |name: &str| {
        cpuinfo.lines().find(|l| l.starts_with(name)).and_then(|l| l.split_once(": ")).map(|f| f.1)
    };
    let la57 = field("flags").is_some_and(|flags| flags.split(' ').any(|f| f == "la57"));
    let width = field("address sizes")
        .and_then(|sizes| sizes.split(' ').next()?.parse().ok())
        .filter(|bits| (36..=52).contains(bits))
        .unwrap_or(52);
    let (levels, most) = if la57 { (5, 52) } else { (4, 46) };
    (levels, FRAME_MASK & ((1u64 << most.min(width)) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_frames() {
        let page = Entry(0x8000_0001_2345_6067);
        assert!(page.is_present() && page.is_young());
        assert_eq!(page.frame(1, FRAME_MASK), 0x12_3456);
        let old_huge = Entry(0x8000_0001_2360_10c7);
        assert!(old_huge.is_present() && !old_huge.is_young());
        assert_eq!(old_huge.frame(2, FRAME_MASK), 0x12_3600, "bit 12 is a flag there");
        // A swapped-out page may have any bit set but those two that say that it is there.
        assert!(!Entry(0xffff_ffff_ffff_fefe).is_young());
    }

    #[test]
    fn pages_that_may_not_be_accessed_now_are_there() {
        // As Linux writes frame 0x12_3456 and a huge page of frame 0x12_3600: address bits
        // inverted.
        let page = Entry((0x0000_0001_2345_6000 ^ FRAME_MASK) | 0x120);
        assert!(page.is_present() && page.is_young() && !page.is_swapped());
        assert_eq!(page.frame(1, 0x0000_3fff_ffff_f000), 0x12_3456);
        let huge = Entry((0x0000_0001_2360_0000 ^ FRAME_MASK & !0x1f_ffff) | 0x180);
        assert!(huge.is_present() && !huge.is_young());
        assert_eq!(huge.frame(2, FRAME_MASK), 0x12_3600);
    }

    #[test]
    fn what_is_mapped_as_a_device_is_no_memory() {
        assert!(Entry(0x63).is_write_back(1) && Entry(0xe3).is_write_back(2));
        for uncached in [0x63 | 1 << 3, 0x63 | 1 << 4, 0x63 | 1 << 7] {
            assert!(!Entry(uncached).is_write_back(1), "{uncached:#x}");
        }
        assert!(!Entry(0xe3 | 1 << 12).is_write_back(2));
    }

    #[test]
    fn pages_that_are_not_present() {
        let swapped = Entry(0x07ff_ffff_ff00_0000);
        assert!(swapped.is_swapped() && !swapped.is_empty());
        assert!(!Entry(0).is_swapped());
        assert!(!Entry(0x8000_0001_2345_6120).is_swapped(), "there, but not to be accessed");
        assert!(!Entry(31 << 59).is_swapped(), "a marker");
        assert!(!Entry(0x8000_0001_2345_6067).is_swapped());
    }

    #[test]
    fn the_shape_of_the_tables() {
        let cpuinfo =
            "flags\t\t: fpu la57 sse\naddress sizes\t: 46 bits physical, 57 bits virtual\n";
        assert_eq!(table_shape(cpuinfo), (5, 0x0000_3fff_ffff_f000));
        assert_eq!(table_shape("flags\t\t: fpu la57 sse\n"), (5, FRAME_MASK));
        let cpuinfo =
            "flags\t\t: fpu sse la57x\naddress sizes\t: 52 bits physical, 48 bits virtual\n";
        assert_eq!(table_shape(cpuinfo), (4, 0x0000_3fff_ffff_f000));
        let cpuinfo = "flags\t\t: fpu sse\naddress sizes\t: 40 bits physical, 48 bits virtual\n";
        assert_eq!(table_shape(cpuinfo), (4, 0x0000_00ff_ffff_f000));
        assert_eq!(table_shape(""), (4, 0x0000_3fff_ffff_f000));
    }
}
