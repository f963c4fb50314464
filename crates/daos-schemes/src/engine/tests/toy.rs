//! A few pages, of which everything is known, and the snapshots that a monitor would give.

use crate::{Age, Bounds, Engine, Pattern, Scheme};
use daos_core::{
    AccessCheck, AddrRange, Capabilities, Mapping, Observation, PAGE_SIZE, PageBits, PageRun,
    RegionSnapshot, Snapshot, Target, TargetId, TargetSnapshot, Window,
};
use daos_core::{Action, ActionReport, ActionSink, Done, Metric, Metrics, Refusal};
use std::convert::Infallible;

pub const TARGET: TargetId = TargetId(3);
pub const SECOND: u64 = 1_000_000;
pub const INTERVAL_US: u64 = 100_000;

/// Pages `from..to`, as addresses.
pub fn pages(from: u64, to: u64) -> AddrRange {
    AddrRange::new(from * PAGE_SIZE, to * PAGE_SIZE)
}

#[derive(Debug, Clone, Copy)]
pub struct Page {
    pub present: bool,
    pub huge: bool,
    /// Accessed in every interval.
    pub used: bool,
    /// Can't be armed: nothing can be said of it.
    pub stuck: bool,
    young: bool,
}

/// A region as the monitor knows it: pages, access rate, and since when that is so.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub from: u64,
    pub to: u64,
    pub rate: f64,
    pub since_us: u64,
}

/// The memory, and what a monitor knows of it.
#[derive(Debug)]
pub struct Toy {
    pub pages: Vec<Page>,
    pub known: Vec<Known>,
    pub runs: Vec<PageRun>,
    pub mappings: Vec<Mapping>,
    pub now_us: u64,
    /// Microseconds that acting on a page takes.
    pub page_us: f64,
    pub clock_us: f64,
    /// What was done: when, what, to how many bytes.
    pub log: Vec<(u64, Action, AddrRange, u64)>,
    pub armed_pages: u64,
    cleared: Option<Vec<(TargetId, AddrRange)>>,
}

impl Toy {
    /// All present, none in use, all young since they were written.
    pub fn new(pages: u64) -> Self {
        let page = Page { present: true, huge: false, used: false, stuck: false, young: true };
        Self {
            pages: vec![page; pages as usize],
            known: vec![Known { from: 0, to: pages, rate: 0.0, since_us: 0 }],
            runs: Vec::new(),
            mappings: vec![Mapping { range: self::pages(0, pages), name: String::new() }],
            now_us: 0,
            page_us: 1.0,
            clock_us: 0.0,
            log: Vec::new(),
            armed_pages: 0,
            cleared: None,
        }
    }

    pub fn used(mut self, from: u64, to: u64) -> Self {
        self.pages[from as usize..to as usize].iter_mut().for_each(|page| page.used = true);
        self
    }

    pub fn knows(mut self, known: &[(u64, u64, f64)]) -> Self {
        let region = |&(from, to, rate)| Known { from, to, rate, since_us: 0 };
        self.known = known.iter().map(region).collect();
        self
    }

    pub fn present(&self) -> u64 {
        self.pages.iter().filter(|page| page.present).count() as u64
    }

    pub fn snapshot(&self) -> Snapshot {
        let region = |known: &Known| RegionSnapshot {
            range: pages(known.from, known.to),
            access_rate: known.rate,
            unobserved: 0.0,
            age_us: self.now_us.saturating_sub(known.since_us),
        };
        Snapshot {
            start_us: self.now_us.saturating_sub(INTERVAL_US),
            end_us: self.now_us,
            aggregation_us: INTERVAL_US,
            targets: vec![TargetSnapshot {
                id: TARGET,
                regions: self.known.iter().map(region).collect(),
                pages: self.runs.clone(),
                ..TargetSnapshot::default()
            }],
            ..Snapshot::default()
        }
    }

    /// Lets an interval pass, and the engine do its work at its end: what was done.
    pub fn pass(&mut self, engine: &mut Engine) -> Vec<Done> {
        self.now_us += INTERVAL_US;
        self.use_pages();
        let snapshot = self.snapshot();
        engine.pass(&snapshot, self, &mut Plenty).unwrap()
    }

    /// The pages in use are accessed.
    pub fn use_pages(&mut self) {
        for page in self.pages.iter_mut().filter(|page| page.used) {
            page.young = true;
            page.present = true;
        }
    }

    pub fn run(&mut self, engine: &mut Engine, us: u64) {
        for _ in 0..us / INTERVAL_US {
            self.pass(engine);
        }
    }

    fn at(&self, page: u64) -> Option<&Page> {
        self.pages.get(page as usize)
    }
}

/// Half of the memory is free, always.
#[derive(Debug)]
pub struct Plenty;

impl Metrics for Plenty {
    fn read(&mut self, _: Metric) -> Option<f64> {
        Some(0.5)
    }
}

/// A scheme for idle memory of at least this age.
pub fn idle(seconds: u64, action: Action) -> Scheme {
    let age = Bounds { min: Age::Time(seconds * SECOND), max: Age::MAX };
    Scheme::new(Pattern { rate: Bounds { min: 0.0, max: 0.0 }, age, ..Pattern::ANY }, action)
}

/// A scheme for memory in use.
pub fn hot(action: Action) -> Scheme {
    Scheme::new(Pattern { rate: Bounds { min: 0.05, max: 1.0 }, ..Pattern::ANY }, action)
}

impl AccessCheck for Toy {
    type Error = Infallible;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "toy", max_window_pages: 512, page_bits: true, sparse: false }
    }

    fn targets(&mut self) -> Result<Vec<Target>, Infallible> {
        let ranges = vec![pages(0, self.pages.len() as u64)];
        Ok(vec![Target { id: TARGET, ranges, resident_bytes: None }])
    }

    fn arm(&mut self, windows: &[Window]) -> Result<(), Infallible> {
        for window in windows {
            let first = window.start / PAGE_SIZE;
            for page in first..first + u64::from(window.pages) {
                let page_at = &mut self.pages[page as usize];
                if page_at.young && !page_at.stuck {
                    page_at.young = false;
                    let cleared = (TARGET, pages(page, page + 1));
                    self.cleared.iter_mut().for_each(|all| all.push(cleared));
                }
                self.armed_pages += 1;
            }
            self.clock_us += 1.0;
        }
        Ok(())
    }

    fn check(
        &mut self,
        windows: &[Window],
        found: &mut Vec<Observation>,
    ) -> Result<(), Infallible> {
        for window in windows {
            let mut seen = Observation::default();
            let (mut bits, mut unknown) = (PageBits::default(), PageBits::default());
            for page in 0..window.pages {
                let Page { present, huge, young, stuck, .. } =
                    *self.at(window.start / PAGE_SIZE + u64::from(page)).unwrap();
                if stuck {
                    seen.unobservable += 1;
                    unknown[page as usize / 64] |= 1 << (page % 64);
                    continue;
                }
                seen.present += u32::from(present);
                seen.accessed += u32::from(present && young);
                seen.entries += u32::from(present && (!huge || page == 0));
                bits[page as usize / 64] |= u64::from(present && young) << (page % 64);
            }
            seen.pages = Some(bits);
            seen.unknown = (seen.unobservable > 0).then_some(unknown);
            found.push(seen);
            self.clock_us += 1.0;
        }
        Ok(())
    }
}

impl ActionSink for Toy {
    fn supports(&self, _: Action) -> Result<(), String> {
        Ok(())
    }

    fn apply(
        &mut self,
        action: Action,
        target: TargetId,
        ranges: &[AddrRange],
    ) -> Result<ActionReport, Infallible> {
        assert_eq!(target, TARGET);
        assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{ranges:?}");
        let mut outcome = ActionReport::default();
        for range in ranges {
            assert!(!range.is_empty() && *range == range.page_aligned());
            let mut bytes = 0;
            for page in range.start / PAGE_SIZE..range.end / PAGE_SIZE {
                let page = &mut self.pages[page as usize];
                let before = *page;
                match action {
                    Action::Pageout => page.present = false,
                    Action::Hugepage => (page.present, page.huge) = (true, true),
                    Action::Nohugepage => page.huge = false,
                    _ => {}
                }
                let counts = matches!(action, Action::Lock | Action::Willneed | Action::Cold);
                if counts || page.present != before.present || page.huge != before.huge {
                    bytes += PAGE_SIZE;
                }
                outcome.bloat_bytes += (i64::from(page.present && !before.present)
                    * i64::from(action == Action::Hugepage))
                    * PAGE_SIZE as i64;
            }
            self.clock_us += self.page_us * range.pages() as f64;
            self.log.push((self.now_us, action, *range, bytes));
            outcome.applied_bytes += bytes;
            if bytes > 0 {
                outcome.applied.push(*range);
            } else {
                outcome.refuse(Refusal::Kept, range.len());
            }
        }
        Ok(outcome)
    }

    fn clock_us(&self) -> f64 {
        self.clock_us
    }

    fn take_cleared(&mut self) -> Vec<(TargetId, AddrRange)> {
        std::mem::take(self.cleared.get_or_insert_default())
    }

    fn mappings(&self, _: TargetId) -> &[Mapping] {
        &self.mappings
    }

    fn cgroup(&self, _: TargetId) -> Option<String> {
        Some("/toy".into())
    }
}
