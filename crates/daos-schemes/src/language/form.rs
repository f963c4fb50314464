//! The shape of schemes in TOML and JSON, and the way from there to a [`Scheme`](super::Scheme)
//! and back.
//!
//! A value stands in it as the text that people write (`"4K"`), together with its place,
//! so that a mistake is shown where it is. What is not known is refused, not ignored: a
//! scheme whose quota was lost to a slip of the pen would do harm.

mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;

use ::toml::Spanned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A file of schemes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Form {
    #[serde(default)]
    pub scheme: Vec<Spanned<SchemeForm>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemeForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Spanned<String>>,
    size: Spanned<Vec<Word>>,
    frequency: Spanned<Vec<Word>>,
    age: Spanned<Vec<Word>>,
    action: Word,
    #[serde(skip_serializing_if = "Option::is_none")]
    apply_interval: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quota: Option<Spanned<QuotaForm>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    watermarks: Option<Spanned<WatermarksForm>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<Spanned<GoalForm>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    filter: Vec<Spanned<FilterForm>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaForm {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<WeightsForm>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightsForm {
    size: f64,
    frequency: f64,
    age: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WatermarksForm {
    metric: Word,
    high: Word,
    mid: Word,
    low: Word,
    interval: Word,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GoalForm {
    metric: Word,
    target: Word,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilterForm {
    verdict: Word,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    inverted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    addresses: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cgroup: Option<Word>,
}

/// A value and its place.
type Word = Spanned<Value>;

/// A value as text; a number stands for its digits.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(super) struct Value(String);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a number")
            }
            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value(value.trim().to_owned()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value(value.to_string()))
            }
        }
        from.deserialize_any(Visitor)
    }
}
