//! The tables of schemes in TOML and JSON, and their keys.
//!
//! A value stands in it as the text that people write (`"4K"`), together with its place,
//! so that a mistake is shown where it is. What is not known is refused, not ignored: a
//! scheme whose quota was lost to a slip of the pen would do harm.

use ::toml::Spanned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A file of schemes.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemeFile {
    #[serde(default)]
    pub scheme: Vec<Spanned<SchemeTable>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SchemeTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Spanned<String>>,
    pub size: Spanned<Vec<Word>>,
    pub frequency: Spanned<Vec<Word>>,
    pub age: Spanned<Vec<Word>>,
    pub action: Word,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub apply_interval: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_refault: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<Spanned<QuotaTable>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watermarks: Option<Spanned<WatermarksTable>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Spanned<GoalTable>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<Spanned<FilterTable>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuotaTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<WeightsTable>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WeightsTable {
    pub size: f64,
    pub frequency: f64,
    pub age: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WatermarksTable {
    pub metric: Word,
    pub high: Word,
    pub mid: Word,
    pub low: Word,
    pub interval: Word,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GoalTable {
    pub metric: Word,
    pub target: Word,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FilterTable {
    pub verdict: Word,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inverted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Word>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<Word>,
}

/// A value and its place.
pub(super) type Word = Spanned<Value>;

/// A value as text; a number stands for its digits.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub(super) struct Value(pub String);

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
