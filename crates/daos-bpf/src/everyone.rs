//! All processes of the machine: a census of them now and then, and those that wait to become
//! targets.

use daos_linux::census::{COME_OF_AGE_US, Census, Counted, Verdict};

/// What is known of all processes, and which of them may become targets.
#[derive(Debug)]
pub(crate) struct Everyone {
    pub(crate) census: Census,
    /// Most targets.
    pub(crate) most: usize,
    /// To be taken on, the largest last.
    pub(crate) candidates: Vec<Counted>,
    /// What the census that goes on has found so far.
    coming: Vec<Counted>,
    is_counting: bool,
    /// Whether a step of a census was the last.
    counts_next: bool,
    /// Whether it is of those that were too young. They are small: which comes first matters less
    /// than that they come at once.
    is_of_young: bool,
    /// What the census that goes on has taken so far, in microseconds of CPU time.
    pub(crate) took_us: u64,
    /// When the next census begins, on the clock of [`cpu`](daos_linux::cpu).
    next_us: u64,
    /// When those that were too young are gone over, before that.
    young_us: u64,
    /// Processes that are never acted on, of this census and of the last.
    protected: usize,
    pub(crate) nr_protected: usize,
    /// Processes that are no targets since there are so many, at least.
    pub(crate) nr_too_many: usize,
    /// Processes that were met and are no targets since another `daos` watches them.
    pub(crate) nr_claimed: usize,
}

impl Everyone {
    /// Those that the census is of, up to `most` of them as targets.
    pub(crate) fn new(census: Census, most: usize) -> Self {
        Self {
            census,
            most,
            candidates: Vec::new(),
            coming: Vec::new(),
            is_counting: false,
            counts_next: false,
            is_of_young: false,
            took_us: 0,
            next_us: 0,
            young_us: u64::MAX,
            protected: 0,
            nr_protected: 0,
            nr_too_many: 0,
            nr_claimed: 0,
        }
    }

    /// Whether there is nothing to do now.
    pub(crate) fn rests(&self, now_us: u64) -> bool {
        self.candidates.is_empty() && !self.is_counting && !self.is_due(now_us)
    }

    /// Whether the next step is one of a census: in turn with those that wait, as one that comes
    /// meanwhile may be larger. `has_next`: one of those that wait may be taken on now.
    pub(crate) fn counts_next(&mut self, has_next: bool, now_us: u64) -> bool {
        let counts = self.is_counting || self.is_due(now_us);
        self.counts_next = counts && (!self.counts_next || !has_next);
        self.counts_next
    }

    /// Whether a census is due, of all or of those that were too young.
    fn is_due(&self, now_us: u64) -> bool {
        self.next_us.min(self.young_us) <= now_us
    }

    /// Begins the census that is due, unless one goes on.
    pub(crate) fn begin(&mut self, now_us: u64) {
        if std::mem::replace(&mut self.is_counting, true) {
            return;
        }
        self.took_us = 0;
        self.is_of_young = self.next_us > now_us && self.census.go_over_young();
        if !self.is_of_young {
            (self.protected, self.nr_too_many, self.nr_claimed) = (0, 0, 0);
        }
        self.young_us = u64::MAX;
    }

    /// The next process of the census; `None` at its end.
    pub(crate) fn count(&mut self) -> Option<Counted> {
        let counted = self.census.step()?;
        self.protected += usize::from(counted.verdict == Verdict::Protected);
        Some(counted)
    }

    /// Notes one that is to become a target.
    pub(crate) fn note(&mut self, counted: Counted) {
        self.coming.push(counted);
    }

    /// Ends a step. Those that came of age wait from then on.
    pub(crate) fn end_step(&mut self) {
        if self.is_of_young {
            self.take_found();
        }
    }

    /// Ends the census; the next begins after this pause, in microseconds.
    pub(crate) fn end(&mut self, pause_us: u64, now_us: u64) {
        self.is_counting = false;
        self.take_found();
        self.nr_protected = self.protected;
        self.next_us = self.next_us.max(now_us) + pause_us.max(1);
        if self.census.has_young() {
            self.young_us = now_us + COME_OF_AGE_US;
        }
    }

    /// Makes candidates of those that this census has found: of all, in the place of those that
    /// the one before has left; of those that were too young, beside these.
    fn take_found(&mut self) {
        if self.is_of_young {
            self.candidates.append(&mut self.coming);
        } else {
            self.candidates = std::mem::take(&mut self.coming);
            self.candidates.sort_unstable_by_key(|counted| counted.resident_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_linux::census::Selection;
    use std::path::Path;

    #[test]
    fn those_that_came_of_age_wait_beside_the_others() {
        let found = |pid, bytes| Counted { pid, resident_bytes: bytes, verdict: Verdict::Fits };
        let mut everyone =
            Everyone::new(Census::new(Path::new("/nowhere"), Selection::default()), 10);
        let waiting = |everyone: &Everyone| -> Vec<u32> {
            everyone.candidates.iter().map(|candidate| candidate.pid).collect()
        };
        everyone.coming = vec![found(1, 30), found(2, 10), found(3, 20)];
        everyone.take_found();
        assert_eq!(waiting(&everyone), [2, 3, 1], "the largest last, which is the next");
        everyone.is_of_young = true;
        everyone.coming = vec![found(4, 5)];
        everyone.take_found();
        assert_eq!(waiting(&everyone), [2, 3, 1, 4]);
        everyone.is_of_young = false;
        everyone.coming = vec![found(4, 5), found(3, 20)];
        everyone.take_found();
        assert_eq!(waiting(&everyone), [4, 3], "of all anew");
    }
}
