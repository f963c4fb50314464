//! What a target has mapped and in memory, as far as it was read.
//!
//! The mappings are read step by step, as that takes long where there are many. A list that is read
//! for the first time counts as far as it was read.

use crate::main_ranges::{main_ranges, most_ranges};
use daos_core::{AddrRange, KindsOfMemory, Mapping};
use daos_linux::maps::{self, MapsReading};
use daos_linux::memory::ProcessSize;
use daos_linux::{Process, cpu};

/// By which part the mapped bytes of a target must have changed since its mappings were last read
/// for them to be read sooner. Chosen.
const OTHER_SIZE: f64 = 0.125;

/// What a target has mapped, as it was last read, and a reading of that which is under way.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) mappings: Vec<Mapping>,
    /// The addresses of the mappings; those that touch are one range.
    pub(crate) ranges: Vec<AddrRange>,
    /// The few of these ranges that are watched where there are many targets, and how many were
    /// asked for; `None` until somebody asks.
    main_ranges: Option<(Vec<AddrRange>, usize)>,
    pub(crate) memory: Option<KindsOfMemory>,
    /// The resident set that the census found, in bytes, until [`weigh`](Self::weigh) has more.
    pub(crate) counted_bytes: Option<u64>,
    /// How many threads it had when its size was last read.
    pub(crate) threads: u32,
    /// Bytes that were mapped when a look began.
    mapped_bytes: u64,
    /// Whether any of it changed since it was last [described](super::Space::describe).
    pub(crate) is_news: bool,
    look: Option<Look>,
    /// Whether the mappings were read to their end once.
    is_complete: bool,
    /// Whether a reading was begun and came to its end since this was last asked.
    was_listed: bool,
    /// When the next begins, on the clock of [`cpu`].
    pub(crate) next_us: u64,
    /// When it may begin if much was mapped or given back since.
    pub(crate) sooner_us: u64,
    /// Children that the last look found, to be taken on.
    pub(crate) children: Vec<u32>,
}

#[derive(Debug)]
struct Look {
    reading: MapsReading,
    /// Read so far. Of the first list, what is read goes to [`Seen::mappings`] at once.
    coming: Vec<Mapping>,
    /// The address of the first mapping, which tells this list from that of another program.
    first: Option<u64>,
    /// Mappings without access rights (`PROT_NONE`) that are larger are left out, in bytes.
    most_reserved: u64,
    took_us: u64,
    /// When it began.
    begun_us: u64,
}

impl Seen {
    /// Whether a look goes on.
    pub(crate) fn is_looking(&self) -> bool {
        self.look.is_some()
    }

    /// Begins a look at a process.
    pub(crate) fn begin_look(&mut self, process: &Process, with_children: bool, now_us: u64) {
        let begun_us = cpu::used_us();
        if with_children {
            self.children = process.children();
        }
        if let Some(mapped_bytes) = self.weigh(process) {
            self.mapped_bytes = mapped_bytes;
        }
        // A mapping without access rights that is larger than the resident set is address space
        // that was reserved: hardly any of it is in memory.
        let most_reserved = self.resident_bytes().unwrap_or(u64::MAX);
        if let Some((reading, coming)) = process.read_mappings(most_reserved) {
            let first = coming.first().map(|mapping| mapping.range.start);
            let took_us = cpu::used_us() - begun_us;
            if !self.is_complete {
                self.replace(Vec::new());
            }
            let look = Look { reading, coming, first, most_reserved, took_us, begun_us: now_us };
            self.look = Some(look);
            self.show_first_look();
        } else {
            self.next_us = now_us + 1;
        }
    }

    /// Reads how large it is (`/proc/PID/status`). Returns the mapped bytes; `None` if that can't
    /// be read, and then all stays as it was.
    pub(crate) fn weigh(&mut self, process: &Process) -> Option<u64> {
        let ProcessSize { mapped_bytes, kinds, threads } = process.size()?;
        self.threads = threads;
        self.is_news |= self.memory.is_none_or(|before| before.differs_from(&kinds));
        self.memory = Some(kinds);
        self.note_weighed();
        Some(mapped_bytes)
    }

    /// Whether so much was mapped or given back since the last look that another is worth it.
    pub(crate) fn has_other_size(&mut self, process: &Process) -> bool {
        let before = self.mapped_bytes;
        self.weigh(process)
            .is_some_and(|now| now.abs_diff(before) as f64 > OTHER_SIZE * before as f64)
    }

    /// A step of a look. Returns what the look has taken, if that was its end.
    pub(crate) fn go_on_looking(&mut self, process: &Process, now_us: u64) -> Option<u64> {
        let look = self.look.as_mut()?;
        let begun_us = cpu::used_us();
        let goes_on = look.reading.go_on(&mut look.coming);
        look.took_us += cpu::used_us() - begun_us;
        if matches!(goes_on, Ok(true)) {
            self.show_first_look();
            return None;
        }
        let look = self.look.take()?;
        let is_old = look.begun_us != now_us && {
            // The program may have executed another meanwhile, whose list is another.
            let now = process.read_mappings(look.most_reserved);
            now.is_some_and(|(_, now)| now.first().map(|mapping| mapping.range.start) != look.first)
        };
        if goes_on.is_ok() && !is_old && self.is_complete {
            self.replace(look.coming);
        } else if goes_on.is_ok() && !is_old {
            self.extend(look.coming);
            self.is_complete = true;
        }
        self.was_listed = goes_on.is_ok() && look.begun_us == now_us;
        Some(if is_old { 0 } else { look.took_us })
    }

    /// Takes over what was read of the first list so far, which is better than nothing.
    fn show_first_look(&mut self) {
        let Some(look) = self.look.as_mut().filter(|_| !self.is_complete) else { return };
        let coming = std::mem::take(&mut look.coming);
        self.extend(coming);
    }

    /// Whether a whole list was read since this was last asked: then what is not in it was not
    /// mapped when it was read.
    pub(super) fn take_was_listed(&mut self) -> bool {
        std::mem::take(&mut self.was_listed)
    }

    /// What of it is resident, in bytes.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        self.memory.map(|memory| memory.resident_bytes()).or(self.counted_bytes)
    }

    /// Whether a look at what it has mapped was begun, or failed.
    pub(crate) fn is_begun(&self) -> bool {
        self.is_complete || self.look.is_some() || self.next_us > 0
    }

    /// Those of what is mapped that matter where there are many targets.
    pub(crate) fn main_ranges(&mut self) -> &[AddrRange] {
        let most = most_ranges(self.resident_bytes().unwrap_or(0));
        let main = || (main_ranges(&self.mappings, most), most);
        &self.main_ranges.get_or_insert_with(main).0
    }

    /// Has them chosen anew where some were left out and it has half as much again resident by now.
    fn note_weighed(&mut self) {
        let now = most_ranges(self.resident_bytes().unwrap_or(0));
        let is_outgrown =
            |(main, most): &(Vec<AddrRange>, usize)| main.len() == *most && 2 * now >= 3 * most;
        self.main_ranges.take_if(|main| is_outgrown(main));
    }

    fn extend(&mut self, coming: Vec<Mapping>) {
        coming.iter().for_each(|mapping| mapping.range.push_joined(&mut self.ranges));
        self.is_news |= !coming.is_empty();
        self.mappings.extend(coming);
        self.main_ranges = None;
    }

    fn replace(&mut self, mappings: Vec<Mapping>) {
        if mappings != self.mappings {
            self.ranges = maps::ranges(&mappings);
            self.mappings = mappings;
            self.is_news = true;
            self.main_ranges = None;
        }
    }
}
