//! A figure, what it should be, and what it was.

use crate::figures::Unit;

/// What is asked of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// Not to be more than this.
    AtMost(f64),
    /// Not to be less than this.
    AtLeast(f64),
}

/// Something to know of what was compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// Its name in JSON.
    pub key: &'static str,
    /// Its name in a table.
    pub name: &'static str,
    /// How to show it.
    pub unit: Unit,
    /// What is asked of it, in its unit.
    pub goal: Option<Goal>,
}

/// What one round showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// Of what.
    pub figure: Figure,
    /// `None` if it did not show it.
    pub value: Option<f64>,
}

impl Goal {
    /// Whether `value` reaches it.
    pub fn is_reached(self, value: f64) -> bool {
        match self {
            Goal::AtMost(most) => value <= most,
            Goal::AtLeast(least) => value >= least,
        }
    }

    /// The number, and the sign before it.
    pub fn parts(self) -> (&'static str, f64) {
        match self {
            Goal::AtMost(most) => ("≤", most),
            Goal::AtLeast(least) => ("≥", least),
        }
    }
}

impl Finding {
    /// Of a figure that nothing is asked of.
    pub(crate) fn new(
        key: &'static str,
        name: &'static str,
        unit: Unit,
        value: Option<f64>,
    ) -> Self {
        Self { figure: Figure { key, name, unit, goal: None }, value }
    }

    /// The same with a goal.
    pub(crate) fn with_goal(mut self, goal: Goal) -> Self {
        self.figure.goal = Some(goal);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_bounds() {
        assert!(Goal::AtMost(150.0).is_reached(150.0) && !Goal::AtMost(150.0).is_reached(150.1));
        assert!(Goal::AtLeast(0.8).is_reached(0.8) && !Goal::AtLeast(0.8).is_reached(0.79));
        assert!(!Goal::AtLeast(0.8).is_reached(f64::NAN));
    }
}
