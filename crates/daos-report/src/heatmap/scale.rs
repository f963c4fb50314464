//! What the colours of a heat map stand for.
//!
//! What programs do spans from an access in a minute to thousands a second. As a share of the
//! sampling intervals, in which the seeds tell rates, most of that looks like none. So colours
//! stand for accesses a second, by their logarithm, unless that share is asked for.

use crate::colors::{self, MARKS};
use daos_core::units::display;

/// Accesses a second and page that are shown like the rates of [`MARKS`], from the second on.
/// Chosen: a page that is used once a second is in use by any measure.
const MARKED: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
/// Accesses a second and page that are shown like none: one in a quarter of an hour.
const NONE: f64 = 0.001;

/// What colours stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// Accesses a second and page, by their logarithm.
    #[default]
    PerSecond,
    /// The share of the sampling intervals in which a page was accessed.
    Share,
}

/// A scale, for rates of one sampling interval.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ramp {
    scale: Scale,
    seconds: f64,
    /// Logarithms of accesses a second, and where on the ramp of colours they are.
    points: [(f64, f64); MARKS.len()],
}

impl Ramp {
    /// For rates of a sampling interval of so many microseconds. Where it is not known (0), as
    /// in old records, only shares can be shown.
    pub(super) fn new(scale: Scale, sample_us: u64) -> Self {
        let scale = if sample_us == 0 { Scale::Share } else { scale };
        let points = std::array::from_fn(|at| {
            let per_second = if at == 0 { NONE } else { MARKED[at - 1] };
            (per_second.ln(), colors::position(MARKS[at]))
        });
        Self { scale, seconds: sample_us as f64 / 1e6, points }
    }

    /// The rate, 0 to 1, whose colour a mean access rate has.
    pub(super) fn shown(self, rate: f64) -> f64 {
        if self.scale == Scale::Share || rate <= 0.0 {
            return rate;
        }
        let per_second = -f64::ln_1p(-rate.min(1.0)) / self.seconds;
        if per_second <= NONE {
            return 0.0;
        }
        // Straight, on the ramp, from one mark to the next.
        let at = per_second.ln();
        let next = self.points.iter().position(|(point, _)| at <= *point);
        let next = next.unwrap_or(MARKS.len() - 1);
        let ((low, from), (high, to)) = (self.points[next - 1], self.points[next]);
        let position = from + (to - from) * ((at - low) / (high - low)).min(1.0);
        position * position
    }

    /// What is on the scale.
    pub(super) fn name(self) -> &'static str {
        match self.scale {
            Scale::PerSecond => "accesses/s",
            Scale::Share => "access rate",
        }
    }

    /// The rates of [`MARKS`] by what they are shown for.
    pub(super) fn marks(self) -> [(f64, String); MARKS.len()] {
        std::array::from_fn(|at| {
            let name = match self.scale {
                Scale::Share => display::percent(MARKS[at]),
                Scale::PerSecond if at == 0 => "0".to_owned(),
                Scale::PerSecond => MARKED[at - 1].to_string(),
            };
            (MARKS[at], name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAMP: fn(Scale) -> Ramp = |scale| Ramp::new(scale, 5000);

    fn rate(per_second: f64) -> f64 {
        1.0 - (-per_second * 0.005f64).exp()
    }

    #[test]
    fn a_factor_of_ten_is_a_step() {
        let shown = [0.0, 1.0, 10.0, 100.0].map(|a| RAMP(Scale::PerSecond).shown(rate(a)));
        for (shown, mark) in shown.iter().zip(MARKS) {
            assert!((shown - mark).abs() < 1e-9, "{shown} {mark}");
        }
        assert_eq!(RAMP(Scale::PerSecond).shown(1.0), 1.0, "in each interval");
        assert_eq!(RAMP(Scale::PerSecond).shown(rate(0.0005)), 0.0);
        assert!(RAMP(Scale::PerSecond).shown(rate(0.1)) > 0.005, "told from none");
    }

    #[test]
    fn more_is_never_paler() {
        let rates = (0..1000).map(|i| f64::from(i) / 999.0);
        let shown: Vec<f64> = rates.map(|rate| RAMP(Scale::PerSecond).shown(rate)).collect();
        assert!(shown.is_sorted() && shown.iter().all(|shown| (0.0..=1.0).contains(shown)));
    }

    #[test]
    fn shares_are_shown_as_they_are() {
        assert_eq!(RAMP(Scale::Share).shown(0.3), 0.3);
        assert_eq!(Ramp::new(Scale::PerSecond, 0).shown(0.3), 0.3, "of what is not known");
    }
}
