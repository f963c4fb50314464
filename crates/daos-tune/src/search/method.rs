//! The methods by name.

use super::gp::Gp;
use super::plain::Random;
use super::poly::{OneThreshold, Poly};
use super::search::Search;
use super::space::Space;

/// How the best point is searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// Bayesian search with Gaussian processes: [`Gp`].
    #[default]
    Gp,
    /// The paper's: [`Poly`].
    Poly,
    /// At random: [`Random`].
    Random,
}

impl Method {
    /// All of them, the best first.
    pub const ALL: [Self; 3] = [Self::Gp, Self::Poly, Self::Random];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gp => "gp",
            Self::Poly => "poly",
            Self::Random => "random",
        }
    }

    /// A search by this method with this many samples. The same seed and the same scores
    /// give the same search.
    ///
    /// # Errors
    ///
    /// More thresholds than the method can tune.
    pub fn search(
        self,
        space: Space,
        samples: usize,
        seed: u64,
    ) -> Result<Box<dyn Search>, OneThreshold> {
        Ok(match self {
            Self::Gp => Box::new(Gp::new(space, samples, seed)),
            Self::Poly => Box::new(Poly::new(space, samples, seed)?),
            Self::Random => Box::new(Random::new(space, samples, seed)),
        })
    }
}
