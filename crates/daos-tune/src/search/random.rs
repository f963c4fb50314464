//! Points at random: what any better method has to beat.

use super::groups::highest;
use super::{Ask, At, Estimate, Sample, Search, Why};
use crate::space::SearchSpace;
use daos_core::Rng;
use daos_core::rng::mix;

/// Points at random.
#[derive(Debug, Clone)]
pub struct Random {
    space: SearchSpace,
    count: usize,
    seed: u64,
    told: Vec<Sample>,
}

impl Random {
    /// With this many samples.
    pub fn new(space: SearchSpace, samples: usize, seed: u64) -> Self {
        Self { space, count: samples, seed, told: Vec::new() }
    }
}

impl Search for Random {
    fn space(&self) -> &SearchSpace {
        &self.space
    }

    fn ask(&self) -> Option<Ask> {
        let taken = self.told.iter().filter(|sample| sample.at != At::NoScheme).count();
        let mut rng = Rng::new(mix(self.seed) ^ taken as u64);
        let units: Vec<f64> = (0..self.space.dims()).map(|_| rng.unit()).collect();
        (taken < self.count).then(|| Ask { at: self.space.point(&units), why: Why::Explore })
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
