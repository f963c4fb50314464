//! From a scheme to its table.

use super::super::value;
use super::table::{
    FilterTable, GoalTable, QuotaTable, SchemeFile, SchemeTable, Value, WatermarksTable,
    WeightsTable, Word,
};
use crate::scheme::{Filter, FilterType, Pattern, Quota, Scheme, Weights};
use ::toml::Spanned;
use daos_core::units;

/// Writes schemes.
pub(super) fn write(schemes: &[Scheme]) -> SchemeFile {
    SchemeFile { scheme: schemes.iter().map(|scheme| spanned(write_scheme(scheme))).collect() }
}

fn write_scheme(scheme: &Scheme) -> SchemeTable {
    let Scheme {
        name,
        pattern,
        action,
        quota,
        watermarks,
        filters,
        goal,
        max_refault,
        apply_interval_us,
    } = scheme;
    let Pattern { size, rate, age } = pattern;
    let pair = |bounds: [String; 2]| spanned(bounds.map(word).to_vec());
    SchemeTable {
        name: name.clone().map(spanned),
        size: pair([size.min, size.max].map(value::show_size_bound)),
        frequency: pair([rate.min, rate.max].map(value::show_rate_bound)),
        age: pair([age.min, age.max].map(value::show_age_bound)),
        action: word(action.name().to_owned()),
        apply_interval: apply_interval_us.map(|us| word(units::show_duration(us))),
        max_refault: max_refault.map(|bound| word(value::show_refault_bound(bound))),
        quota: write_quota(quota),
        watermarks: watermarks.map(|marks| {
            spanned(WatermarksTable {
                metric: word(marks.metric.name().to_owned()),
                high: word(units::show_share(marks.high)),
                mid: word(units::show_share(marks.mid)),
                low: word(units::show_share(marks.low)),
                interval: word(units::show_duration(marks.interval_us)),
            })
        }),
        goal: goal.map(|goal| {
            spanned(GoalTable {
                metric: word(goal.metric.name().to_owned()),
                target: word(units::show_share(goal.target)),
            })
        }),
        filter: filters.iter().map(|filter| spanned(write_filter(filter))).collect(),
    }
}

fn write_quota(quota: &Quota) -> Option<Spanned<QuotaTable>> {
    if *quota == Quota::default() {
        return None;
    }
    let Weights { size, rate, age } = quota.weights;
    let weights = WeightsTable { size, frequency: rate, age };
    Some(spanned(QuotaTable {
        bytes: quota.bytes.map(|bytes| word(units::show_bytes(bytes))),
        time: quota.time_us.map(|us| word(units::show_duration(us))),
        per: Some(word(units::show_duration(quota.reset_us))),
        weights: (quota.weights != Weights::default()).then_some(weights),
    }))
}

fn write_filter(filter: &Filter) -> FilterTable {
    let (mut addresses, mut memory, mut cgroup) = (None, None, None);
    match &filter.filter_type {
        FilterType::Addresses(range) => addresses = Some(word(units::show_addresses(range))),
        FilterType::Anonymous => memory = Some(word("anonymous".to_owned())),
        FilterType::File => memory = Some(word("file".to_owned())),
        FilterType::Huge => memory = Some(word("huge".to_owned())),
        FilterType::Cgroup(path) => cgroup = Some(word(path.clone())),
    }
    let verdict = if filter.allow { "allow" } else { "reject" };
    let verdict = word(verdict.to_owned());
    FilterTable { verdict, inverted: filter.inverted, addresses, memory, cgroup }
}

fn word(text: String) -> Word {
    spanned(Value(text))
}

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}
