//! A sweep: every point of a grid, as the paper's Figure 4 has it.

use super::groups::highest;
use super::{Ask, At, Estimate, Sample, Search, Why};
use crate::space::{SearchSpace, SpaceError};
use daos_core::Rng;
use daos_core::rng::mix;

/// Every point of a grid, some times, and no scheme as often. Each round takes them in
/// another order, so that what changes with time does not pass for an effect.
#[derive(Debug, Clone)]
pub struct Sweep {
    space: SearchSpace,
    grid: Vec<At>,
    repeats: usize,
    seed: u64,
    told: Vec<Sample>,
}

/// So often a point is measured again at most because a sample of it was void
/// (chosen).
const AGAIN: usize = 2;

impl Sweep {
    /// The most points that a grid can have.
    pub const MOST: usize = 100_000;

    /// Of ranges with their steps, such as `min_age=0s..60s/1s`, each point `repeats`
    /// times.
    ///
    /// # Errors
    ///
    /// Ranges as for [`SearchSpace::parse`], a step that is none, or too many points.
    pub fn parse<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        repeats: usize,
        seed: u64,
    ) -> Result<Self, SpaceError> {
        let form = |text: &str| SpaceError::Step(text.to_owned());
        let split = |text: &'a str| text.rsplit_once('/').ok_or_else(|| form(text));
        let texts: Vec<(&str, &str)> = texts.into_iter().map(split).collect::<Result<_, _>>()?;
        let space = SearchSpace::parse(texts.iter().map(|(range, _)| *range))?.linear();
        let mut grid = vec![Vec::new()];
        for (param, (range, text)) in space.params().iter().zip(texts) {
            let step = param.threshold.parse(text.trim()).ok().filter(|step| *step > 0.0);
            let step = step.ok_or_else(|| form(&format!("{range}/{text}")))?;
            let last = ((param.high - param.low) / step + 1e-9).floor();
            if last * grid.len() as f64 >= Self::MOST as f64 {
                return Err(SpaceError::TooMany(Self::MOST));
            }
            // Rounded, since sums of shares are not exact.
            let value = |at| ((param.low + f64::from(at) * step) * 1e6).round() / 1e6;
            let values: Vec<f64> = (0..=last as u32).map(value).collect();
            let with = |point: Vec<f64>| {
                values.iter().map(move |value| [&point[..], &[*value]].concat()).collect::<Vec<_>>()
            };
            grid = grid.into_iter().flat_map(with).collect();
        }
        let points = grid.into_iter().map(At::Point);
        let grid = std::iter::once(At::NoScheme).chain(points).collect();
        Ok(Self { space, grid, repeats, seed, told: Vec::new() })
    }

    /// How many samples it takes in all, with those that make up for void ones so far.
    pub fn count(&self) -> usize {
        self.progress().into_iter().map(|(_, planned)| planned).sum()
    }

    /// Of each point of the grid, how many samples were taken and how many are to be.
    fn progress(&self) -> Vec<(usize, usize)> {
        let mut all = vec![(0, self.repeats); self.grid.len()];
        for sample in &self.told {
            let Some(at) = self.grid.iter().position(|at| *at == sample.at) else { continue };
            let (taken, planned) = &mut all[at];
            *taken += 1;
            if sample.score.is_none() && *planned < self.repeats + AGAIN {
                *planned += 1;
            }
        }
        all
    }

    /// The order of a round.
    fn order(&self, round: usize) -> Vec<usize> {
        let mut rng = Rng::new(mix(self.seed) ^ round as u64);
        let mut order: Vec<usize> = (0..self.grid.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, rng.below(at as u64 + 1) as usize);
        }
        order
    }
}

impl Search for Sweep {
    fn space(&self) -> &SearchSpace {
        &self.space
    }

    fn ask(&self) -> Option<Ask> {
        // What makes up for void samples comes in rounds of its own, after the others:
        // what spoilt them may be over by then.
        let progress = self.progress();
        let left = |(taken, planned): &&(usize, usize)| taken < planned;
        let round = progress.iter().filter(left).map(|(taken, _)| *taken).min()?;
        let is_next = |at: &usize| progress[*at].0 == round && left(&&progress[*at]);
        let next = self.order(round).into_iter().find(is_next)?;
        let at = self.grid[next].clone();
        let why = match at {
            At::NoScheme => Why::Baseline,
            At::Point(_) if round == 0 => Why::Explore,
            At::Point(_) => Why::Repeat,
        };
        Some(Ask { at, why })
    }

    fn tell(&mut self, sample: Sample) {
        self.told.push(sample);
    }

    fn best(&self) -> Option<Estimate> {
        highest(&self.told)
    }

    fn samples(&self) -> &[Sample] {
        &self.told
    }
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
