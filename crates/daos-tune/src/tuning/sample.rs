//! What a sample was, as it is kept.

use crate::score::Values;
use crate::search::Why;
use crate::space::At;
use daos_core::Side;
use serde::{Deserialize, Serialize};

/// One sample. It holds what was measured; scores are computed from that, for they
/// change with every baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Where it was taken.
    pub at: At,
    /// Why it was taken.
    pub why: Why,
    /// What was measured.
    pub metrics: Values,
    /// What ran beside it, if it was one of a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
    /// Whether it was ended early, as it violated the service level.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// The share of performance that was allowed to be lost then; `None` in those of versions that
    /// did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_at_loss: Option<f64>,
    /// Why nothing is known from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
    /// Seconds that it took, with all that belongs to it.
    pub took_s: f64,
}

/// The copy of a pair that ran without a scheme, at the same time as the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// On which side it ran.
    pub side: Side,
    /// What was measured of it.
    pub metrics: Values,
}

impl SampleRecord {
    /// Whether it is a baseline that went well.
    pub fn is_baseline(&self) -> bool {
        self.at == At::NoScheme && self.void.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_it_was_written() {
        let record = SampleRecord {
            at: At::Point(vec![5e6, 0.25]),
            why: Why::Repeat,
            metrics: Values::from([("runtime".to_owned(), 0.1 + 0.2)]),
            beside: None,
            cut_short: false,
            cut_at_loss: None,
            void: None,
            took_s: 12.5,
        };
        let none = SampleRecord { at: At::NoScheme, why: Why::Baseline, ..record.clone() };
        let cut_short = SampleRecord { cut_short: true, cut_at_loss: Some(0.05), ..record.clone() };
        let beside = Beside { side: Side::Second, metrics: record.metrics.clone() };
        let pair = SampleRecord { beside: Some(beside), ..record.clone() };
        let void = SampleRecord { void: Some("exit status 1".to_owned()), ..record.clone() };
        for record in [&record, &none, &cut_short, &pair, &void] {
            let text = serde_json::to_string(record).unwrap();
            assert_eq!(serde_json::from_str::<SampleRecord>(&text).unwrap(), *record, "{text}");
        }
    }

    #[test]
    fn its_form_in_the_file_stays() {
        let text = |at, why| {
            format!(r#"{{"at":{at},"why":"{why}","metrics":{{"rss":2.0}},"took_s":1.5}}"#)
        };
        for (at, why) in [("[5000000.0]", "improve"), ("null", "baseline")] {
            let record: SampleRecord = serde_json::from_str(&text(at, why)).unwrap();
            assert_eq!(serde_json::to_string(&record).unwrap(), text(at, why));
            assert_eq!(record.why.name(), why);
        }
        let pair = r#"{"at":null,"why":"baseline","metrics":{},"beside":{"side":"second","metrics":{"rss":2.0}},"took_s":1.5}"#;
        let record: SampleRecord = serde_json::from_str(pair).unwrap();
        assert_eq!(serde_json::to_string(&record).unwrap(), pair);
        let other: SampleRecord = serde_json::from_str(&text("[1.0]", "of another")).unwrap();
        assert_eq!(other.why, Why::Explore);
    }
}
