//! A threshold that is tuned: its unit, its range, and how far apart two values are.

use daos_core::units;
use daos_schemes::{Age, Rate, Scheme};

/// One of the six bounds of a scheme's pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Threshold {
    /// The least size, in bytes.
    MinSize,
    /// The largest size, in bytes.
    MaxSize,
    /// The least frequency, as a share of the checks, 0 to 1.
    MinFreq,
    /// The highest frequency, as a share of the checks, 0 to 1.
    MaxFreq,
    /// The least age, in microseconds.
    MinAge,
    /// The highest age, in microseconds.
    MaxAge,
}

/// What a threshold counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Size,
    Freq,
    Age,
}

impl Threshold {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::MinSize, Self::MaxSize, Self::MinFreq, Self::MaxFreq, Self::MinAge, Self::MaxAge];

    /// Its name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinSize => "min_size",
            Self::MaxSize => "max_size",
            Self::MinFreq => "min_freq",
            Self::MaxFreq => "max_freq",
            Self::MinAge => "min_age",
            Self::MaxAge => "max_age",
        }
    }

    const fn kind(self) -> Kind {
        match self {
            Self::MinSize | Self::MaxSize => Kind::Size,
            Self::MinFreq | Self::MaxFreq => Kind::Freq,
            Self::MinAge | Self::MaxAge => Kind::Age,
        }
    }

    /// Whether less of it means that more memory fits.
    const fn is_least(self) -> bool {
        matches!(self, Self::MinSize | Self::MinFreq | Self::MinAge)
    }

    /// The value that a scheme has.
    pub fn of(self, scheme: &Scheme, aggregation_us: u64) -> f64 {
        let pattern = &scheme.pattern;
        match self {
            Self::MinSize => pattern.size.min as f64,
            Self::MaxSize => pattern.size.max as f64,
            Self::MinFreq => pattern.rate.min.share(0),
            Self::MaxFreq => pattern.rate.max.share(0),
            Self::MinAge => pattern.age.min.us(aggregation_us) as f64,
            Self::MaxAge => pattern.age.max.us(aggregation_us) as f64,
        }
    }

    /// Gives a scheme this value.
    pub fn set(self, scheme: &mut Scheme, value: f64) {
        let pattern = &mut scheme.pattern;
        match self {
            Self::MinSize => pattern.size.min = value as u64,
            Self::MaxSize => pattern.size.max = value as u64,
            Self::MinFreq => pattern.rate.min = Rate::Share(value),
            Self::MaxFreq => pattern.rate.max = Rate::Share(value),
            Self::MinAge => pattern.age.min = Age::Time(value as u64),
            Self::MaxAge => pattern.age.max = Age::Time(value as u64),
        }
    }

    /// Reads a value of it, such as `5s`, `4K` or `20%`. The error is what was expected.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        match self.kind() {
            Kind::Size => units::bytes(text).map(|bytes| bytes as f64),
            Kind::Freq if text == "0" => Ok(0.0),
            Kind::Freq => units::share(text),
            Kind::Age => units::duration_us(text).map(|us| us as f64),
        }
        .map_err(|error| error.expected.to_owned())
    }

    /// Writes a value of it, such that it can be read.
    pub fn show(self, number: f64) -> String {
        match self.kind() {
            Kind::Size => units::show_bytes(number as u64),
            Kind::Freq => units::show_share(number),
            Kind::Age => units::show_duration(number as u64),
        }
    }
}

/// How a range is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear,
    /// Equal distances are equal ratios, down to a value that is as good as zero (1 s,
    /// 64 KiB, 1 %); linear below it, so that 0 is part of it.
    Log,
}

/// More marks than this are never on an axis.
const MOST_MARKS: u64 = 100;

/// A threshold to tune, and its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Param {
    /// Which.
    pub threshold: Threshold,
    /// The least value, in the threshold's unit.
    pub low: f64,
    /// The largest value; above `low`.
    pub high: f64,
    /// How the range between is divided.
    pub scale: Scale,
}

impl Param {
    /// With the scale that suits the threshold: frequencies linear, sizes and ages
    /// logarithmic, since they matter by their ratio.
    pub fn new(threshold: Threshold, low: f64, high: f64) -> Self {
        let scale = if threshold.kind() == Kind::Freq { Scale::Linear } else { Scale::Log };
        Self { threshold, low, high, scale }
    }

    /// The value at `unit`, which goes from 0 at the gentlest end of the range (least
    /// memory fits) to 1 at the most aggressive one. Rounded to what is worth telling
    /// apart: three digits, or pages.
    pub fn value(&self, unit: f64) -> f64 {
        let up = if self.threshold.is_least() { 1.0 - unit } else { unit };
        let (low, high) = (self.warp(self.low), self.warp(self.high));
        let value = self.unwarp(low + up.clamp(0.0, 1.0) * (high - low));
        self.round(value).clamp(self.low, self.high)
    }

    /// Where a value lies in the range: the inverse of [`value`](Self::value), but for
    /// what that rounds.
    pub fn unit(&self, value: f64) -> f64 {
        let (low, high) = (self.warp(self.low), self.warp(self.high));
        let up = ((self.warp(value) - low) / (high - low)).clamp(0.0, 1.0);
        if self.threshold.is_least() { 1.0 - up } else { up }
    }

    /// Where a value lies in the range, from 0 at `low` to 1 at `high`: for axes.
    pub fn place(&self, value: f64) -> f64 {
        let unit = self.unit(value);
        if self.threshold.is_least() { 1.0 - unit } else { unit }
    }

    /// Values of the range to mark on an axis: round ones, few enough to be told apart.
    pub fn marks(&self) -> Vec<f64> {
        let all: Vec<f64> = match (self.scale, self.threshold.kind()) {
            (Scale::Linear, _) => {
                // The range in about six steps of 1, 2 or 5 times a power of ten.
                let least = (self.high - self.low) / 8.0;
                let power = 10f64.powf(least.log10().floor());
                let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|n| n * power >= least);
                let step = times.unwrap_or(10.0) * power;
                let first = (self.low / step - 1e-9).ceil();
                let last = (self.high / step + 1e-9).floor();
                // A range that is hardly one may have a step of 0: a cast of what is no
                // number gives 0.
                let more = ((last - first) as u64).min(MOST_MARKS - 1);
                // Rounded, since sums of shares are not exact.
                let mark = |at: u64| ((first + at as f64) * step * 1e6).round() / 1e6;
                (0..=more).map(mark).collect()
            }
            (Scale::Log, Kind::Size) => {
                std::iter::once(0.0).chain((6..25).map(|at| f64::from(2 * at).exp2())).collect()
            }
            (Scale::Log, _) => {
                let seconds = [0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0];
                seconds.into_iter().chain([600.0, 1200.0, 3600.0]).map(|s| s * 1e6).collect()
            }
        };
        let far = |value: &f64| (self.low..=self.high * (1.0 + 1e-9)).contains(value);
        let mut marks: Vec<f64> = all.into_iter().filter(far).collect();
        marks.dedup();
        if marks.len() < 2 {
            marks = vec![self.low, self.high];
        }
        marks
    }

    /// `min_age=5.3s`.
    pub fn show(&self, value: f64) -> String {
        format!("{}={}", self.threshold.name(), self.threshold.show(value))
    }

    /// The value as its scale sees it.
    fn warp(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => (value / self.knee()).ln_1p(),
        }
    }

    fn unwarp(&self, warped: f64) -> f64 {
        match self.scale {
            Scale::Linear => warped,
            Scale::Log => warped.exp_m1() * self.knee(),
        }
    }

    /// Below it a logarithmic scale is linear.
    fn knee(&self) -> f64 {
        match self.threshold.kind() {
            Kind::Size => 65_536.0,
            Kind::Freq => 0.01,
            Kind::Age => 1e6,
        }
    }

    fn round(&self, value: f64) -> f64 {
        match self.threshold.kind() {
            Kind::Size => {
                // Nine binary digits, and whole pages.
                let step = (value.max(1.0) / 512.0).log2().ceil().exp2().max(4096.0);
                (value / step).round() * step
            }
            Kind::Age => {
                let step = 10f64.powf((value.max(1e5) / 1000.0).log10().ceil());
                (value / step).round() * step
            }
            Kind::Freq => {
                // Divided by a power of ten: 0.053 is the number closest to 53/1000.
                let power = 10f64.powf(3.0 - value.clamp(1e-4, 0.1).log10().ceil());
                (value * power).round() / power
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_marked_with_round_values() {
        let marks = |param: Param| {
            let shown = param.marks().into_iter().map(|mark| param.threshold.show(mark));
            shown.collect::<Vec<_>>().join(" ")
        };
        let age = Param::new(Threshold::MinAge, 0.0, 60e6);
        assert_eq!(marks(age), "0s 500ms 1s 2s 5s 10s 20s 30s 1m");
        assert_eq!(marks(Param { scale: Scale::Linear, ..age }), "0s 10s 20s 30s 40s 50s 1m");
        let freq = Param::new(Threshold::MaxFreq, 0.05, 0.2);
        assert_eq!(marks(freq), "6% 8% 10% 12% 14% 16% 18% 20%");
        let size = Param::new(Threshold::MinSize, 4096.0, 1048576.0);
        assert_eq!(marks(size), "4K 16K 64K 256K 1M");
        let half = Param::new(Threshold::MaxFreq, 0.0, 0.5);
        assert_eq!(marks(half), "0% 10% 20% 30% 40% 50%");
        let narrow = Param::new(Threshold::MinAge, 3e6, 4e6);
        assert_eq!(marks(narrow), "3s 4s");
        // However far from 0 it begins, and however little lies between.
        let low = 9.22e18;
        for high in [9.223e18, low + 2e5, low + 2048.0] {
            let param = Param { scale: Scale::Linear, low, high, ..age };
            let marks = param.marks();
            assert!((2..=12).contains(&marks.len()), "{high}: {marks:?}");
            assert!(marks.is_sorted() && marks[0] >= low, "{high}: {marks:?}");
        }
        let least = Param { low: 0.0, high: f64::MIN_POSITIVE / 1e15, ..freq };
        assert_eq!(least.marks(), [least.low, least.high]);
        // From the left to the right, whichever end is the aggressive one.
        assert_eq!((age.place(0.0), age.place(60e6)), (0.0, 1.0));
        assert_eq!((freq.place(0.05), freq.place(0.2)), (0.0, 1.0));
    }
}
