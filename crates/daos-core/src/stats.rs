//! What schemes did: for displays, records and tuners.

use crate::access::TargetId;
use crate::action::Action;
use crate::addr::AddrRange;
use crate::sink::Refusal;
use std::collections::BTreeMap;

/// Memory that a scheme acted on, at the end of an aggregation interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Done {
    /// The scheme, by its place in the list.
    pub scheme: u32,
    /// What was done.
    pub action: Action,
    /// Whose memory.
    pub target: TargetId,
    /// Where. Not every page in it need have been changed.
    pub range: AddrRange,
}

impl Done {
    /// The same by scheme, action, target and address, where ranges that touch or overlap
    /// are one and empty ones are none: as records have it.
    pub fn joined(done: impl IntoIterator<Item = Done>) -> Vec<Done> {
        let mut sorted: Vec<_> = done.into_iter().filter(|done| !done.range.is_empty()).collect();
        sorted.sort_by_key(|done| (done.scheme, done.action, done.target, done.range));
        sorted.dedup_by(|next, before| {
            let one = before.is_alike(next) && next.range.start <= before.range.end;
            if one {
                before.range.end = before.range.end.max(next.range.end);
            }
            one
        });
        sorted
    }

    /// Whether they differ in their ranges alone.
    pub fn is_alike(&self, other: &Done) -> bool {
        let of = |done: &Done| (done.scheme, done.action, done.target);
        of(self) == of(other)
    }
}

/// Counters of one scheme, from its start.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stats {
    /// Regions that fitted, each time that they did.
    pub tried_regions: u64,
    /// Their bytes.
    pub tried_bytes: u64,
    /// Regions in which something was changed.
    pub applied_regions: u64,
    /// Bytes that were changed.
    pub applied_bytes: u64,
    /// Bytes in regions that fitted of which each page was seen to be in use, and so was
    /// left alone.
    pub spared_bytes: u64,
    /// Bytes that were refused, by reason.
    pub refused_bytes: BTreeMap<Refusal, u64>,
    /// Bytes that became resident by it; given back, if negative.
    pub bloat_bytes: i64,
    /// Times that its quota was used up.
    pub quota_exceeded: u64,
    /// Microseconds spent on it.
    pub spent_us: f64,
    /// Times that it was up.
    pub passes: u64,
    /// Times that it slept, by its watermarks.
    pub slept: u64,
    /// Bytes that fitted at the last pass.
    pub fitting_bytes: u64,
}

impl Stats {
    /// Counts bytes that were refused.
    pub fn refuse(&mut self, why: Refusal, bytes: u64) {
        *self.refused_bytes.entry(why).or_default() += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(scheme: u32, action: Action, target: u32, start: u64, end: u64) -> Done {
        Done { scheme, action, target: TargetId(target), range: AddrRange::new(start, end) }
    }

    #[test]
    fn neighbours_of_one_scheme_and_target_are_joined() {
        use Action::{Cold, Pageout};
        let found = Done::joined([
            done(1, Pageout, 0, 40, 50),
            done(0, Pageout, 0, 20, 30),
            done(0, Pageout, 0, 0, 10),
            done(0, Pageout, 7, 10, 20),
            done(0, Pageout, 0, 10, 15),
            done(0, Cold, 0, 15, 20),
            done(0, Pageout, 0, 2, 5),
            done(0, Pageout, 0, 90, 90),
        ]);
        let expected = [
            done(0, Cold, 0, 15, 20),
            done(0, Pageout, 0, 0, 15),
            done(0, Pageout, 0, 20, 30),
            done(0, Pageout, 7, 10, 20),
            done(1, Pageout, 0, 40, 50),
        ];
        assert_eq!(found, expected);
        assert_eq!(Done::joined(found.clone()), found);
    }
}
