//! Beside the heat of memory that several share, whose it is: which process had most of each row.
//!
//! Records say how much of which part somebody had, as it was found by samples, and as it was
//! last. What nobody has any more still has the name of who had it before.

use super::Heatmap;
use crate::names;
use daos_core::units::display;
use daos_core::{Owner, Ownership, TargetInfo};
use std::collections::HashMap;

/// Somebody who has memory that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownOwner {
    /// Who it is.
    pub owner: Owner,
    /// What it has of all that is shown, in bytes.
    pub bytes: u64,
}

/// How many bytes of a row who has, by place in [`Heatmap::owners`]: who has most comes first.
pub type Shares = Vec<(usize, u64)>;

/// Characters of ` (pid 4711)`.
const ROOM_OF_PID: usize = 11;

impl ShownOwner {
    /// `sort big (pid 812)`, or what the memory is for. `longest`: characters of the name of a
    /// process.
    pub(super) fn title(&self, longest: usize) -> String {
        let Some(pid) = self.owner.pid else {
            return names::printable_to(&self.owner.name, longest + ROOM_OF_PID);
        };
        match names::printable_to(without_directory(&self.owner.name), longest) {
            name if name.is_empty() => format!("pid {pid}"),
            name => format!("{name} (pid {pid})"),
        }
    }
}

impl Heatmap {
    /// Says of each row whose it is, as far as `targets` know.
    pub(super) fn add_owners(&mut self, targets: &[TargetInfo]) {
        let known: HashMap<_, &Ownership> =
            targets.iter().filter_map(|t| Some((t.id, t.ownership.as_ref()?))).collect();
        let mut places: HashMap<&Owner, usize> = HashMap::new();
        for segment in &mut self.segments {
            let Some(ownership) = known.get(&segment.target) else { continue };
            let rows = segment.addresses.windows(2);
            let rows = rows.map(|row| ownership.within(daos_core::AddrRange::new(row[0], row[1])));
            let shares = rows.map(|row| {
                let of_owner = row.into_iter().filter_map(|(at, bytes)| {
                    let (owner, bytes) = (ownership.owners.get(at as usize)?, bytes.round() as u64);
                    let place = *places.entry(owner).or_insert_with(|| {
                        self.owners.push(ShownOwner { owner: owner.clone(), bytes: 0 });
                        self.owners.len() - 1
                    });
                    self.owners[place].bytes = self.owners[place].bytes.saturating_add(bytes);
                    (bytes > 0).then_some((place, bytes))
                });
                of_owner.collect()
            });
            segment.owned = shares.collect();
        }
        self.sort_owners();
    }

    /// Who has most comes first, of all and in each row.
    fn sort_owners(&mut self) {
        let mut order: Vec<usize> = (0..self.owners.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(self.owners[at].bytes));
        let mut place_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &at)| place_of[at] = place);
        self.owners = order.iter().map(|&at| self.owners[at].clone()).collect();
        self.owners.retain(|owner| owner.bytes > 0);
        for row in self.segments.iter_mut().flat_map(|segment| &mut segment.owned) {
            row.iter_mut().for_each(|(place, _)| *place = place_of[*place]);
            row.sort_by_key(|&(place, bytes)| (std::cmp::Reverse(bytes), place));
        }
    }

    /// Whose a row is called: that of the process that has most of it. What is no process's is not
    /// watched, so the heat is not its own, however much of it there is.
    pub(super) fn owner_of(&self, shares: &Shares) -> Option<(usize, u64)> {
        let is_process =
            |place: usize| self.owners.get(place).is_some_and(|o| o.owner.pid.is_some());
        shares.iter().find(|&&(place, _)| is_process(place)).or(shares.first()).copied()
    }

    /// The first `most` of those who have memory, each with what it is called, in so many
    /// characters about, and how much it has; behind them, where there are more, all the others.
    pub(super) fn legend_of_owners(&self, most: usize, longest: usize) -> Vec<String> {
        let said = |title: &str, bytes| format!("{title} {}", display::bytes(bytes));
        let named = self.owners.iter().take(most);
        let mut legend: Vec<_> = named.map(|o| said(&o.title(longest), o.bytes)).collect();
        let others = self.owners.get(most..).unwrap_or_default();
        if !others.is_empty() {
            let bytes = others.iter().map(|owner| owner.bytes).fold(0, u64::saturating_add);
            legend.push(said(&format!("{} others", others.len()), bytes));
        }
        legend
    }
}

/// A command line without the directory of its program: there is little room.
fn without_directory(command: &str) -> &str {
    let program = command.split_whitespace().next().unwrap_or("");
    let start = program.rfind('/').map_or(0, |slash| slash + 1);
    if start == program.len() { command } else { &command.trim_start()[start..] }
}

/// What several rows have in common: their shares, added up.
pub(super) fn together(rows: &[Shares]) -> Shares {
    let mut sums: HashMap<usize, u64> = HashMap::new();
    for &(place, bytes) in rows.iter().flatten() {
        let sum = sums.entry(place).or_default();
        *sum = sum.saturating_add(bytes);
    }
    let mut shares: Shares = sums.into_iter().collect();
    shares.sort_by_key(|&(place, bytes)| (std::cmp::Reverse(bytes), place));
    shares
}
