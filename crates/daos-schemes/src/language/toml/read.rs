//! From a table to the scheme.

use super::super::mistake::{Problem, SchemePart};
use super::super::text;
use super::super::value::{self, Side, ValueError};
use super::table::{
    FilterTable, GoalTable, QuotaTable, SchemeTable, WatermarksTable, WeightsTable, Word,
};
use crate::scheme::{
    Bounds, Filter, FilterType, Goal, Pattern, Quota, Scheme, Watermarks, Weights,
};
use ::toml::Spanned;
use daos_core::{Metric, units};
use std::ops::Range;

/// A mistake and where in the text it is, in bytes.
type Mistake = (Range<usize>, Problem);

const METRICS: [(&str, Metric); 3] = [
    (Metric::FreeMemory.name(), Metric::FreeMemory),
    (Metric::MemoryPressure.name(), Metric::MemoryPressure),
    (Metric::Resident.name(), Metric::Resident),
];
const VERDICTS: [(&str, bool); 2] = [("allow", true), ("reject", false)];

/// Reads one scheme.
pub(super) fn read(table: &Spanned<SchemeTable>) -> Result<Scheme, Mistake> {
    let SchemeTable {
        name,
        size,
        frequency,
        age,
        action,
        apply_interval,
        max_refault,
        quota,
        watermarks,
        goal,
        filter,
    } = table.as_ref();
    let pattern = Pattern {
        size: bounds(size, value::size_bound)?,
        rate: bounds(frequency, value::rate_bound)?,
        age: bounds(age, value::age_bound)?,
    };
    let scheme = Scheme {
        name: name.as_ref().map(|name| name.as_ref().clone()),
        quota: read_quota(quota)?,
        watermarks: watermarks.as_ref().map(read_watermarks).transpose()?,
        filters: filter.iter().map(read_filter).collect::<Result<_, _>>()?,
        goal: goal.as_ref().map(read_goal).transpose()?,
        max_refault: maybe(max_refault, value::refault_bound)?,
        apply_interval_us: maybe(apply_interval, units::duration_us)?,
        ..Scheme::new(pattern, word(action, text::action)?)
    };
    scheme.validate().map_err(|invalid| {
        let part = match invalid.part {
            SchemePart::Name => name.as_ref().map(Spanned::span),
            SchemePart::Size => Some(size.span()),
            SchemePart::Frequency => Some(frequency.span()),
            SchemePart::Age => Some(age.span()),
            SchemePart::ApplyInterval => apply_interval.as_ref().map(Spanned::span),
            SchemePart::MaxRefault => max_refault.as_ref().map(Spanned::span),
            SchemePart::Quota => quota.as_ref().map(Spanned::span),
            SchemePart::Watermarks => watermarks.as_ref().map(Spanned::span),
            SchemePart::Filter(at) => filter.get(at).map(Spanned::span),
            SchemePart::Goal => goal.as_ref().map(Spanned::span),
        };
        (part.unwrap_or(table.span()), Problem::Invalid(invalid))
    })?;
    Ok(scheme)
}

fn read_quota(table: &Option<Spanned<QuotaTable>>) -> Result<Quota, Mistake> {
    let mut quota = Quota::default();
    let Some(table) = table.as_ref().map(Spanned::as_ref) else { return Ok(quota) };
    quota.bytes = maybe(&table.bytes, units::bytes)?;
    quota.time_us = maybe(&table.time, units::duration_us)?;
    quota.reset_us = maybe(&table.per, units::duration_us)?.unwrap_or(quota.reset_us);
    if let Some(WeightsTable { size, frequency, age }) = table.weights {
        quota.weights = Weights { size, rate: frequency, age };
    }
    Ok(quota)
}

fn read_watermarks(table: &Spanned<WatermarksTable>) -> Result<Watermarks, Mistake> {
    let table = table.as_ref();
    Ok(Watermarks {
        metric: word(&table.metric, metric)?,
        interval_us: word(&table.interval, units::duration_us)?,
        high: word(&table.high, units::share)?,
        mid: word(&table.mid, units::share)?,
        low: word(&table.low, units::share)?,
    })
}

fn read_goal(table: &Spanned<GoalTable>) -> Result<Goal, Mistake> {
    let GoalTable { metric: about, target } = table.as_ref();
    Ok(Goal { metric: word(about, metric)?, target: word(target, units::share)? })
}

fn read_filter(table: &Spanned<FilterTable>) -> Result<Filter, Mistake> {
    let FilterTable { verdict, inverted, addresses, memory, cgroup } = table.as_ref();
    let filter_type = match (addresses, memory, cgroup) {
        (Some(range), None, None) => FilterType::Addresses(word(range, units::addresses)?),
        (None, Some(kind), None) => {
            let kinds = [
                ("anonymous", FilterType::Anonymous),
                ("file", FilterType::File),
                ("huge", FilterType::Huge),
            ];
            word(kind, |text| value::word(text, "a kind of memory", &kinds))?
        }
        (None, None, Some(path)) => FilterType::Cgroup(path.as_ref().0.clone()),
        (addresses, memory, cgroup) => {
            let count = [addresses, memory, cgroup].into_iter().flatten().count();
            let found = if count == 0 { "a filter for nothing" } else { "several things" };
            let problem = Problem::Unexpected {
                found: found.to_owned(),
                expected: "one of addresses, memory and cgroup in each filter".to_owned(),
                nearest: None,
            };
            return Err((table.span(), problem));
        }
    };
    let allow = word(verdict, |text| value::word(text, "a verdict", &VERDICTS))?;
    Ok(Filter { filter_type, inverted: *inverted, allow })
}

fn metric(text: &str) -> Result<Metric, ValueError> {
    value::word(text, "a metric", &METRICS)
}

fn bounds<T>(
    words: &Spanned<Vec<Word>>,
    read: impl Fn(&str, Side) -> Result<T, ValueError>,
) -> Result<Bounds<T>, Mistake> {
    // An array would do, but the reader of TOML lets further values pass.
    let [min, max] = words.as_ref().as_slice() else {
        let problem = Problem::Unexpected {
            found: format!("a list of {}", words.as_ref().len()),
            expected: "two bounds, such as [\"min\", \"max\"]".to_owned(),
            nearest: None,
        };
        return Err((words.span(), problem));
    };
    Ok(Bounds {
        min: word(min, |text| read(text, Side::Min))?,
        max: word(max, |text| read(text, Side::Max))?,
    })
}

fn maybe<T, E: Into<ValueError>>(
    one: &Option<Word>,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, Mistake> {
    one.as_ref().map(|one| word(one, read)).transpose()
}

fn word<T, E: Into<ValueError>>(
    word: &Word,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<T, Mistake> {
    let text = &word.as_ref().0;
    read(text).map_err(|error| (word.span(), Problem::of_value(text, error.into())))
}
