//! Which of two copies of a workload that run at once.

/// One of two sides: of the CPUs, and of what a workload works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Side {
    /// The first; the only one where copies do not run at once.
    First,
    /// The other.
    Second,
}

impl Side {
    /// The environment variable that says to a copy which one it is.
    pub const COPY: &str = "COPY";

    /// Both.
    pub const BOTH: [Self; 2] = [Self::First, Self::Second];

    /// On which the copy runs that is not alone: one round here, the next there.
    pub fn of_round(round: u32) -> Self {
        if round.is_multiple_of(2) { Self::First } else { Self::Second }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }

    /// The one of two things that is of this side.
    pub fn of<T>(self, two: &[T; 2]) -> &T {
        &two[self as usize]
    }

    /// What a copy finds in its environment, as [`COPY`](Self::COPY): 1 or 2.
    pub fn number(self) -> u32 {
        self as u32 + 1
    }

    /// What is there for each of them, called `name` for the first.
    pub fn called(self, name: &str) -> String {
        match self {
            Self::First => name.to_owned(),
            Self::Second => format!("{name}-2"),
        }
    }
}
