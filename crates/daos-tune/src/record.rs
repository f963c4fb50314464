//! What a sample was, as it is kept.

use crate::search::{At, Values, Why};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One sample. It holds what was measured; scores are computed from that, for they
/// change with every baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The values of the thresholds, in the order of the space; `None` without a scheme.
    pub at: Option<Vec<f64>>,
    /// Why it was taken.
    pub why: String,
    /// What was measured.
    pub metrics: Values,
    /// Whether it was ended early, as it violated the service level.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_short: bool,
    /// Why nothing is known from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
    /// Seconds that it took, with all that belongs to it.
    pub took_s: f64,
}

impl Record {
    /// Where it was taken.
    pub fn at(&self) -> At {
        self.at.clone().map_or(At::NoScheme, At::Point)
    }

    /// Whether it is a baseline that went well.
    pub fn is_baseline(&self) -> bool {
        self.at.is_none() && self.void.is_none()
    }

    /// Why it was taken; a word that nobody knows is as good as none.
    pub fn why(&self) -> Why {
        let all = [Why::Baseline, Why::Improve, Why::Repeat];
        all.into_iter().find(|why| why.name() == self.why).unwrap_or(Why::Explore)
    }
}

/// What is tuned for what: samples of the same subject can stand beside each other,
/// however they are scored and whatever asked for them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Subject(pub BTreeMap<String, String>);

impl Subject {
    /// The first thing in which another differs: its name, what it is here, and there.
    pub fn difference<'a>(&'a self, other: &'a Self) -> Option<(&'a str, &'a str, &'a str)> {
        let none = "none";
        let of = |subject: &'a Self, key: &str| subject.0.get(key).map_or(none, String::as_str);
        let keys = self.0.keys().chain(other.0.keys());
        let differs = |key: &&String| self.0.get(*key) != other.0.get(*key);
        keys.into_iter().find(differs).map(|key| (key.as_str(), of(self, key), of(other, key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_as_it_was_written() {
        let record = Record {
            at: Some(vec![5e6, 0.25]),
            why: Why::Repeat.name().to_owned(),
            metrics: Values::from([("runtime".to_owned(), 0.1 + 0.2)]),
            cut_short: false,
            void: None,
            took_s: 12.5,
        };
        let cut_short = Record { cut_short: true, ..record.clone() };
        let void = Record { void: Some("exit status 1".to_owned()), ..record.clone() };
        for record in [&record, &cut_short, &void] {
            let text = serde_json::to_string(record).unwrap();
            assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), *record, "{text}");
        }
        assert_eq!(record.why(), Why::Repeat);
        assert_eq!(record.at(), At::Point(vec![5e6, 0.25]));
    }

    #[test]
    fn what_differs_is_named() {
        let subject = |list: &[(&str, &str)]| {
            Subject(list.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect())
        };
        let (a, b) = (subject(&[("x", "1"), ("y", "2")]), subject(&[("x", "1")]));
        assert_eq!(a.difference(&a), None);
        assert_eq!(a.difference(&b), Some(("y", "2", "none")));
        assert_eq!(b.difference(&a), Some(("y", "none", "2")));
    }
}
