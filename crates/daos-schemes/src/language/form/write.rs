//! From a scheme to its shape.

use super::super::value;
use super::{
    FilterForm, Form, GoalForm, QuotaForm, SchemeForm, Value, WatermarksForm, WeightsForm, Word,
};
use crate::filter::{Filter, Matter};
use crate::pattern::Pattern;
use crate::quota::{Quota, Weights};
use crate::scheme::Scheme;
use ::toml::Spanned;
use daos_core::units;

/// Writes schemes.
pub(in super::super) fn write(schemes: &[Scheme]) -> Form {
    Form { scheme: schemes.iter().map(|scheme| spanned(write_scheme(scheme))).collect() }
}

fn write_scheme(scheme: &Scheme) -> SchemeForm {
    let Scheme { name, pattern, action, quota, watermarks, filters, goal, apply_interval_us } =
        scheme;
    let Pattern { size, rate, age } = pattern;
    let pair = |bounds: [String; 2]| spanned(bounds.map(new).to_vec());
    SchemeForm {
        name: name.clone().map(spanned),
        size: pair([size.min, size.max].map(value::show_size_bound)),
        frequency: pair([rate.min, rate.max].map(value::show_rate_bound)),
        age: pair([age.min, age.max].map(value::show_age_bound)),
        action: new(action.name().to_owned()),
        apply_interval: apply_interval_us.map(|us| new(units::show_duration(us))),
        quota: write_quota(quota),
        watermarks: watermarks.map(|marks| {
            spanned(WatermarksForm {
                metric: new(marks.metric.name().to_owned()),
                high: new(units::show_share(marks.high)),
                mid: new(units::show_share(marks.mid)),
                low: new(units::show_share(marks.low)),
                interval: new(units::show_duration(marks.interval_us)),
            })
        }),
        goal: goal.map(|goal| {
            spanned(GoalForm {
                metric: new(goal.metric.name().to_owned()),
                target: new(units::show_share(goal.target)),
            })
        }),
        filter: filters.iter().map(|filter| spanned(write_filter(filter))).collect(),
    }
}

fn write_quota(quota: &Quota) -> Option<Spanned<QuotaForm>> {
    if *quota == Quota::default() {
        return None;
    }
    let Weights { size, rate, age } = quota.weights;
    let weights = WeightsForm { size, frequency: rate, age };
    Some(spanned(QuotaForm {
        bytes: quota.bytes.map(|bytes| new(units::show_bytes(bytes))),
        time: quota.time_us.map(|us| new(units::show_duration(us))),
        per: Some(new(units::show_duration(quota.reset_us))),
        weights: (quota.weights != Weights::default()).then_some(weights),
    }))
}

fn write_filter(filter: &Filter) -> FilterForm {
    let (mut addresses, mut memory, mut cgroup) = (None, None, None);
    match &filter.what {
        Matter::Addresses(range) => addresses = Some(new(units::show_addresses(range))),
        Matter::Anonymous => memory = Some(new("anonymous".to_owned())),
        Matter::File => memory = Some(new("file".to_owned())),
        Matter::Huge => memory = Some(new("huge".to_owned())),
        Matter::Cgroup(path) => cgroup = Some(new(path.clone())),
    }
    let verdict = if filter.allow { "allow" } else { "reject" };
    let verdict = new(verdict.to_owned());
    FilterForm { verdict, inverted: filter.inverted, addresses, memory, cgroup }
}

fn new(text: String) -> Word {
    spanned(Value(text))
}

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}
