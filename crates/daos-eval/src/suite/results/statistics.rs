//! Statistics of a few runs.

use daos_core::rng::Rng;

/// Ways to choose runs that are all gone through; of more, so many are drawn. Chosen: ten runs
/// against ten are 184,756 ways.
const MOST_WAYS: u64 = 200_000;

/// One number of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// The standard deviation of the sample.
    Stdev,
    /// The smallest.
    Min,
    /// The largest.
    Max,
}

/// What several values come to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many there are.
    pub count: usize,
    /// The mean.
    pub mean: f64,
    /// The standard deviation of the sample (n - 1); 0 of one value.
    pub stdev: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Statistic {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mean, Self::Stdev, Self::Min, Self::Max];

    /// Its name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Stdev => "stdev",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

impl Summary {
    /// Of values; `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        let mean = mean(values)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let stdev = if count < 2 { 0.0 } else { (squares / (count - 1) as f64).sqrt() };
        let min = values.iter().copied().min_by(f64::total_cmp)?;
        let max = values.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { count, mean, stdev, min, max })
    }

    /// One of its numbers.
    pub fn get(&self, statistic: Statistic) -> f64 {
        match statistic {
            Statistic::Mean => self.mean,
            Statistic::Stdev => self.stdev,
            Statistic::Min => self.min,
            Statistic::Max => self.max,
        }
    }
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// How likely it is that two sets of runs differ by as much as they do, or more, when the
/// configuration makes no difference: of all ways to deal the same values out to two sets of
/// these sizes, the share in which their means are as far apart (a permutation test, of both
/// sides). `None` where no outcome could be unlikely: `least` is the smallest share there
/// could be.
pub fn permutation_p(a: &[f64], b: &[f64], least: f64) -> Option<f64> {
    let (n, m) = (a.len(), b.len());
    let ways = binomial((n + m) as u64, n as u64);
    // As far apart the other way round, if both are of one size, counts too.
    let rarest = if n == m { 2.0 } else { 1.0 } / ways as f64;
    if n == 0 || m == 0 || rarest > least {
        return None;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let sum: f64 = all.iter().sum();
    let apart = |of_a: f64| (of_a / n as f64 - (sum - of_a) / m as f64).abs();
    let seen = apart(a.iter().sum());
    // Sums in another order differ in their last bits.
    let limit = seen - 1e-9 * (seen + sum.abs() / all.len() as f64);
    let (mut as_far, mut tried) = (0u64, 0u64);
    let mut count = |of_a: f64| {
        tried += 1;
        as_far += u64::from(apart(of_a) >= limit);
    };
    if ways <= MOST_WAYS {
        each_choice(n, &all, &mut count);
    } else {
        let mut rng = Rng::new(7);
        let mut dealt = all.clone();
        count(a.iter().sum());
        for _ in 0..MOST_WAYS {
            for at in 0..n {
                let other = at + rng.below((dealt.len() - at) as u64) as usize;
                dealt.swap(at, other);
            }
            count(dealt[..n].iter().sum());
        }
    }
    Some(as_far as f64 / tried as f64)
}

/// The same for pairs of runs, of which these are the differences: of all ways to exchange the two
/// runs of some of the pairs, the share in which the mean is as far from nothing.
pub fn paired_p(differences: &[f64], least: f64) -> Option<f64> {
    let pairs = differences.len().min(64) as u32;
    let ways = 2u64.saturating_pow(pairs);
    // As far the other way round counts, too.
    if pairs == 0 || 2.0 / ways as f64 > least {
        return None;
    }
    let seen = differences.iter().sum::<f64>().abs();
    // Sums in another order differ in their last bits.
    let limit = seen - 1e-9 * differences.iter().map(|difference| difference.abs()).sum::<f64>();
    let is_as_far = |exchanged: &dyn Fn(usize) -> bool| {
        let signed = differences.iter().enumerate();
        let signed = signed.map(|(at, &value)| if exchanged(at) { -value } else { value });
        signed.sum::<f64>().abs() >= limit
    };
    if ways <= MOST_WAYS {
        let as_far = (0..ways).filter(|way| is_as_far(&|at| way >> at & 1 == 1)).count();
        return Some(as_far as f64 / ways as f64);
    }
    let mut rng = Rng::new(7);
    let mut draw = || -> Vec<bool> { differences.iter().map(|_| rng.below(2) == 1).collect() };
    let drawn = (0..MOST_WAYS).map(|_| draw()).filter(|drawn| is_as_far(&|at| drawn[at])).count();
    // And the way that it was.
    Some((drawn + 1) as f64 / (MOST_WAYS + 1) as f64)
}

/// Calls `with` for the sum of each choice of `n` of the values.
fn each_choice(n: usize, values: &[f64], with: &mut impl FnMut(f64)) {
    fn go(n: usize, sum: f64, rest: &[f64], with: &mut impl FnMut(f64)) {
        match rest.split_first() {
            _ if n == 0 => with(sum),
            Some((first, rest)) if rest.len() + 1 >= n => {
                go(n - 1, sum + first, rest, with);
                go(n, sum, rest, with);
            }
            _ => {}
        }
    }
    go(n, 0.0, values, with);
}

/// In how many ways `k` of `n` can be chosen; a great many at most.
fn binomial(n: u64, k: u64) -> u64 {
    let k = k.min(n.saturating_sub(k));
    let mut ways = 1u128;
    for at in 0..k {
        ways = ways * u128::from(n - at) / u128::from(at + 1);
        if ways > u128::from(u32::MAX) {
            return u64::from(u32::MAX);
        }
    }
    ways as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_several_values() {
        let summary = Summary::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((summary.count, summary.mean, summary.min, summary.max), (8, 5.0, 2.0, 9.0));
        assert!((summary.stdev - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(Summary::of(&[3.0]).unwrap().stdev, 0.0);
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn a_difference_is_told_from_noise() {
        let near = [10.0, 10.2, 9.9, 10.1, 10.05];
        let far = [11.0, 11.2, 10.9, 11.1, 11.05];
        // Two of the 252 ways are as far apart: this one, and the other way round.
        assert_eq!(permutation_p(&near, &far, 0.05), Some(2.0 / 252.0));
        assert_eq!(permutation_p(&near, &near, 0.05), Some(1.0));
        let mixed = [9.95, 10.15, 10.0, 10.3, 9.8];
        assert!(permutation_p(&near, &mixed, 0.05) > Some(0.5));
        assert_eq!(permutation_p(&[1.0; 4], &[2.0; 4], 0.05), Some(2.0 / 70.0));
    }

    #[test]
    fn too_few_runs_say_nothing() {
        assert_eq!(permutation_p(&[1.0; 3], &[2.0; 3], 0.05), None);
        assert_eq!(permutation_p(&[1.0], &[], 0.05), None);
        // One of 21 ways.
        assert!(permutation_p(&[1.0; 5], &[2.0; 2], 0.05).is_some());
    }

    #[test]
    fn a_difference_of_pairs_is_told_from_noise() {
        let all = [0.1, 0.2, 0.1, 0.3, 0.2, 0.1];
        // All the same way: this one of 64, and the other way round.
        assert_eq!(paired_p(&all, 0.05), Some(2.0 / 64.0));
        assert_eq!(paired_p(&all[..5], 0.05), None, "too few to tell");
        assert_eq!(paired_p(&[], 0.05), None);
        assert_eq!(paired_p(&[0.0; 6], 0.05), Some(1.0));
        // In 14 of the 64 ways at most one is against the others.
        let mixed = [0.1, 0.1, 0.1, 0.1, 0.1, -0.1];
        assert_eq!(paired_p(&mixed, 0.05), Some(14.0 / 64.0));
        let many: Vec<f64> = (0..40).map(|at| f64::from(at % 7) - 2.0).collect();
        let p = paired_p(&many, 0.05).unwrap();
        // By the normal approximation, 2.57 standard deviations: 0.010.
        assert!((0.005..0.015).contains(&p), "{p}");
        assert_eq!(paired_p(&many, 0.05), Some(p));
    }

    #[test]
    fn many_runs_are_drawn_the_same_each_time() {
        let a: Vec<f64> = (0..15).map(f64::from).collect();
        let b: Vec<f64> = a.iter().map(|value| value + 3.0).collect();
        let p = permutation_p(&a, &b, 0.05).unwrap();
        // By the normal approximation, 0.077.
        assert!((0.06..0.1).contains(&p), "{p}");
        assert_eq!(permutation_p(&a, &b, 0.05), Some(p));
        assert_eq!(binomial(20, 10), 184_756);
    }
}
