//! A scheme: a pattern, an action, and what keeps it within bounds.

use super::filter::Filter;
use super::goal::Goal;
use super::pattern::Pattern;
use super::quota::Quota;
use super::watermarks::Watermarks;
use daos_core::action::Action;

/// "Memory like this: do that to it."
#[derive(Debug, Clone, PartialEq)]
pub struct Scheme {
    /// What it is called in reports; its text if it has no name.
    pub name: Option<String>,
    /// Which memory.
    pub pattern: Pattern,
    /// What to do to it.
    pub action: Action,
    /// How much of it, in which time.
    pub quota: Quota,
    /// In which state of the system at all.
    pub watermarks: Option<Watermarks>,
    /// Which memory is exempt, or alone meant. The first that matches decides.
    pub filters: Vec<Filter>,
    /// What the quota is to reach, which is then set by feedback.
    pub goal: Option<Goal>,
    /// Microseconds between two times that it is applied; every aggregation interval
    /// if not given.
    pub apply_interval_us: Option<u64>,
}

impl Scheme {
    /// A scheme without bounds.
    pub fn new(pattern: Pattern, action: Action) -> Self {
        Self {
            name: None,
            pattern,
            action,
            quota: Quota::default(),
            watermarks: None,
            filters: Vec::new(),
            goal: None,
            apply_interval_us: None,
        }
    }
    /// What displays call it: its name, or its text if it has none.
    pub fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| super::text::format(self))
    }
}
