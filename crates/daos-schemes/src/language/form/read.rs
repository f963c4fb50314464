//! From the shape of a scheme to the scheme.

use super::super::mistake::{Part, Problem};
use super::super::text;
use super::super::value::{self, Side, Unfit};
use super::{FilterForm, GoalForm, QuotaForm, SchemeForm, WatermarksForm, WeightsForm, Word};
use crate::filter::{Filter, Matter};
use crate::goal::Goal;
use crate::pattern::{Bounds, Pattern};
use crate::quota::{Quota, Weights};
use crate::scheme::Scheme;
use crate::watermarks::Watermarks;
use ::toml::Spanned;
use daos_core::metrics::Metric;
use daos_core::units;
use std::ops::Range;

/// A mistake and where in the text it is, in bytes.
type Wrong = (Range<usize>, Problem);

const METRICS: [(&str, Metric); 3] = [
    (Metric::FreeMemory.name(), Metric::FreeMemory),
    (Metric::MemoryPressure.name(), Metric::MemoryPressure),
    (Metric::Resident.name(), Metric::Resident),
];
const VERDICTS: [(&str, bool); 2] = [("allow", true), ("reject", false)];

/// Reads one scheme.
pub(in super::super) fn read(form: &Spanned<SchemeForm>) -> Result<Scheme, Wrong> {
    let SchemeForm {
        name,
        size,
        frequency,
        age,
        action,
        apply_interval,
        quota,
        watermarks,
        goal,
        filter,
    } = form.as_ref();
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
        apply_interval_us: maybe(apply_interval, units::duration_us)?,
        ..Scheme::new(pattern, word(action, text::action)?)
    };
    scheme.validate().map_err(|invalid| {
        let part = match invalid.part {
            Part::Name => name.as_ref().map(Spanned::span),
            Part::Size => Some(size.span()),
            Part::Frequency => Some(frequency.span()),
            Part::Age => Some(age.span()),
            Part::ApplyInterval => apply_interval.as_ref().map(Spanned::span),
            Part::Quota => quota.as_ref().map(Spanned::span),
            Part::Watermarks => watermarks.as_ref().map(Spanned::span),
            Part::Filter(at) => filter.get(at).map(Spanned::span),
            Part::Goal => goal.as_ref().map(Spanned::span),
        };
        (part.unwrap_or(form.span()), Problem::Invalid(invalid))
    })?;
    Ok(scheme)
}

fn read_quota(form: &Option<Spanned<QuotaForm>>) -> Result<Quota, Wrong> {
    let mut quota = Quota::default();
    let Some(form) = form.as_ref().map(Spanned::as_ref) else { return Ok(quota) };
    quota.bytes = maybe(&form.bytes, units::bytes)?;
    quota.time_us = maybe(&form.time, units::duration_us)?;
    quota.reset_us = maybe(&form.per, units::duration_us)?.unwrap_or(quota.reset_us);
    if let Some(WeightsForm { size, frequency, age }) = form.weights {
        quota.weights = Weights { size, rate: frequency, age };
    }
    Ok(quota)
}

fn read_watermarks(form: &Spanned<WatermarksForm>) -> Result<Watermarks, Wrong> {
    let form = form.as_ref();
    Ok(Watermarks {
        metric: word(&form.metric, metric)?,
        interval_us: word(&form.interval, units::duration_us)?,
        high: word(&form.high, units::share)?,
        mid: word(&form.mid, units::share)?,
        low: word(&form.low, units::share)?,
    })
}

fn read_goal(form: &Spanned<GoalForm>) -> Result<Goal, Wrong> {
    let GoalForm { metric: about, target } = form.as_ref();
    Ok(Goal { metric: word(about, metric)?, target: word(target, units::share)? })
}

fn read_filter(form: &Spanned<FilterForm>) -> Result<Filter, Wrong> {
    let FilterForm { verdict, inverted, addresses, memory, cgroup } = form.as_ref();
    let what = match (addresses, memory, cgroup) {
        (Some(range), None, None) => Matter::Addresses(word(range, units::addresses)?),
        (None, Some(kind), None) => {
            let kinds =
                [("anonymous", Matter::Anonymous), ("file", Matter::File), ("huge", Matter::Huge)];
            word(kind, |text| value::word(text, "a kind of memory", &kinds))?
        }
        (None, None, Some(path)) => Matter::Cgroup(path.as_ref().0.clone()),
        (addresses, memory, cgroup) => {
            let count = [addresses, memory, cgroup].into_iter().flatten().count();
            let found = if count == 0 { "a filter for nothing" } else { "several things" };
            let problem = Problem::Unexpected {
                found: found.to_owned(),
                expected: "one of addresses, memory and cgroup in each filter".to_owned(),
                nearest: None,
            };
            return Err((form.span(), problem));
        }
    };
    let allow = word(verdict, |text| value::word(text, "a verdict", &VERDICTS))?;
    Ok(Filter { what, inverted: *inverted, allow })
}

fn metric(text: &str) -> Result<Metric, Unfit> {
    value::word(text, "a metric", &METRICS)
}

fn bounds<T>(
    words: &Spanned<Vec<Word>>,
    read: impl Fn(&str, Side) -> Result<T, Unfit>,
) -> Result<Bounds<T>, Wrong> {
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

fn maybe<T, E: Into<Unfit>>(
    one: &Option<Word>,
    read: impl Fn(&str) -> Result<T, E>,
) -> Result<Option<T>, Wrong> {
    one.as_ref().map(|one| word(one, read)).transpose()
}

fn word<T, E: Into<Unfit>>(word: &Word, read: impl Fn(&str) -> Result<T, E>) -> Result<T, Wrong> {
    let text = &word.as_ref().0;
    read(text).map_err(|error| (word.span(), Problem::unfit(text, error.into())))
}
