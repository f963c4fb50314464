//! Whether the parts of a scheme make sense, alone and together.
//!
//! In one place, for schemes from a text, from TOML and from a program alike.

use super::mistake::{Invalid, SchemePart};
use super::value::{show_age_bound, show_rate_bound, show_size_bound};
use crate::scheme::{
    Age, Filter, FilterType, Goal, Pattern, Quota, Rate, RefaultBound, Scheme, Watermarks,
};
use daos_core::units::show_share;
use daos_core::{Action, PAGE_SIZE};

impl Scheme {
    /// Refuses what can't be meant: reversed bounds, shares outside of 0 to 1, quotas
    /// and intervals of zero, watermarks out of order, filters for nothing.
    ///
    /// Bounds of ages of which one is a time and the other a number of intervals can
    /// only be compared where it is known how long an interval is: not here.
    pub fn validate(&self) -> Result<(), Invalid> {
        if let Some(name) = &self.name {
            check(
                !name.trim().is_empty() && !name.contains(char::is_control),
                SchemePart::Name,
                || format!("the name {name:?} is blank or has characters that can't be shown"),
            )?;
        }
        pattern(&self.pattern)?;
        check(self.apply_interval_us != Some(0), SchemePart::ApplyInterval, || {
            "the apply interval is 0; leave it out to apply the scheme every aggregation \
             interval"
                .to_owned()
        })?;
        self.max_refault.as_ref().map_or(Ok(()), |bound| max_refault(self, bound))?;
        quota(&self.quota)?;
        self.watermarks.as_ref().map_or(Ok(()), watermarks)?;
        self.filters.iter().enumerate().try_for_each(|(at, one)| filter(at, one))?;
        self.goal.as_ref().map_or(Ok(()), goal)
    }
}

fn pattern(pattern: &Pattern) -> Result<(), Invalid> {
    let Pattern { size, rate, age } = pattern;
    check(size.min <= size.max, SchemePart::Size, || {
        reversed("size", show_size_bound(size.min), show_size_bound(size.max))
    })?;
    for rate in [rate.min, rate.max] {
        match rate {
            Rate::Share(share) => {
                check((0.0..=1.0).contains(&share), SchemePart::Frequency, || {
                    format!("a frequency of {share} is no share of the checks, 0 to 1")
                })
            }
            Rate::PerSecond(rate) => {
                check((0.0..=f64::MAX).contains(&rate), SchemePart::Frequency, || {
                    format!("a frequency of {rate} a second is none")
                })
            }
        }?;
    }
    // One in percent and one a second are compared at the usual sampling interval.
    check(rate.min.share(0) <= rate.max.share(0), SchemePart::Frequency, || {
        reversed("freq", show_rate_bound(rate.min), show_rate_bound(rate.max))
    })?;
    check(!is_longer(age.min, age.max), SchemePart::Age, || {
        reversed("age", show_age_bound(age.min), show_age_bound(age.max))
    })
}

fn max_refault(scheme: &Scheme, bound: &RefaultBound) -> Result<(), Invalid> {
    let RefaultBound { share, per_us } = *bound;
    check(share > 0.0 && share <= 1.0 && per_us > 0, SchemePart::MaxRefault, || {
        "max_refault is 0; leave it out to do without".to_owned()
    })?;
    let is_reclaim = scheme.action == Action::Pageout && scheme.pattern.is_of_idle();
    check(is_reclaim, SchemePart::MaxRefault, || {
        "max_refault is for what pages out idle memory: action \"pageout\", frequency \
         [\"min\", \"min\"]"
            .to_owned()
    })
}

fn quota(quota: &Quota) -> Result<(), Invalid> {
    let none = |what: &str| format!("a quota of 0 {what}; a scheme that may do nothing is no use");
    check(quota.bytes != Some(0), SchemePart::Quota, || none("bytes"))?;
    check(quota.bytes.is_none_or(|bytes| bytes >= PAGE_SIZE), SchemePart::Quota, || {
        format!("a quota of less than a page, {PAGE_SIZE} bytes; that allows nothing")
    })?;
    check(quota.time_us != Some(0), SchemePart::Quota, || none("time"))?;
    check(quota.reset_us > 0, SchemePart::Quota, || "the quota's reset interval is 0".to_owned())?;
    let weights = [quota.weights.size, quota.weights.rate, quota.weights.age];
    let are_numbers = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
    let sum: f64 = weights.iter().sum();
    check(are_numbers && sum.is_finite(), SchemePart::Quota, || {
        "a weight is negative or no finite number".to_owned()
    })?;
    check(sum > 0.0, SchemePart::Quota, || "all weights are 0; at least one must count".to_owned())
}

fn watermarks(marks: &Watermarks) -> Result<(), Invalid> {
    let Watermarks { interval_us, high, mid, low, .. } = *marks;
    check(interval_us > 0, SchemePart::Watermarks, || "the watermarks' interval is 0".to_owned())?;
    for mark in [high, mid, low] {
        check((0.0..=1.0).contains(&mark), SchemePart::Watermarks, || {
            format!("a watermark of {mark} is no share, 0 to 1")
        })?;
    }
    check(low <= mid && mid <= high, SchemePart::Watermarks, || {
        let [low, mid, high] = [low, mid, high].map(show_share);
        format!("watermarks out of order: expected low ({low}) <= mid ({mid}) <= high ({high})")
    })
}

fn filter(at: usize, filter: &Filter) -> Result<(), Invalid> {
    match &filter.filter_type {
        FilterType::Addresses(range) => check(!range.is_empty(), SchemePart::Filter(at), || {
            format!("no address lies in the filter's range {range:?}")
        }),
        FilterType::Cgroup(path) => {
            let is_path = path.starts_with('/') && !path.contains(char::is_control);
            check(is_path, SchemePart::Filter(at), || {
                format!("the cgroup {path:?} is no path from the root of the hierarchy, as /a/b")
            })
        }
        FilterType::Anonymous | FilterType::File | FilterType::Huge => Ok(()),
    }
}

fn goal(goal: &Goal) -> Result<(), Invalid> {
    let target = goal.target;
    check(target > 0.0 && target <= 1.0, SchemePart::Goal, || {
        format!("the goal's target of {} is not above 0% and at most 100%", 100.0 * target)
    })
}

/// Whether one age is longer than another however long an aggregation interval is.
fn is_longer(one: Age, other: Age) -> bool {
    match (one, other) {
        (Age::Time(one), Age::Time(other)) => one > other,
        (Age::Intervals(one), Age::Intervals(other)) => one > other,
        (Age::Intervals(count), Age::Time(us)) => count > 0 && us == 0,
        (Age::Time(us), Age::Intervals(_)) => us == u64::MAX,
    }
}

fn reversed(field: &str, min: String, max: String) -> String {
    format!("bounds reversed: min_{field} ({min}) is above max_{field} ({max})")
}

fn check(holds: bool, part: SchemePart, why: impl FnOnce() -> String) -> Result<(), Invalid> {
    if holds { Ok(()) } else { Err(Invalid { part, why: why() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bounds, Weights};
    use daos_core::{Action, AddrRange, Metric};

    fn refused(change: impl FnOnce(&mut Scheme)) -> Invalid {
        let mut scheme = Scheme::new(Pattern::ANY, Action::Stat);
        assert_eq!(scheme.validate(), Ok(()));
        change(&mut scheme);
        scheme.validate().unwrap_err()
    }

    #[test]
    fn refuses_what_cannot_be_meant() {
        let marks = Watermarks {
            metric: Metric::FreeMemory,
            interval_us: 1,
            high: 0.5,
            mid: 0.4,
            low: 0.2,
        };
        let rates = |min, max| {
            let (min, max) = (Rate::Share(min), Rate::Share(max));
            move |s: &mut Scheme| s.pattern.rate = Bounds { min, max }
        };
        let a_second = |min, max| {
            let (min, max) = (Rate::PerSecond(min), Rate::PerSecond(max));
            move |s: &mut Scheme| s.pattern.rate = Bounds { min, max }
        };
        let ages = |min, max| move |s: &mut Scheme| s.pattern.age = Bounds { min, max };
        let weigh = |w: f64| {
            move |s: &mut Scheme| {
                s.quota.weights = Weights { size: 0.0, rate: w, age: 0.0 };
            }
        };
        let about = |filter_type| {
            move |s: &mut Scheme| {
                s.filters = vec![Filter { filter_type, inverted: false, allow: true }];
            }
        };
        let parts = [
            (refused(|s| s.name = Some(" ".into())), SchemePart::Name),
            (refused(|s| s.pattern.size = Bounds { min: 2, max: 1 }), SchemePart::Size),
            (refused(rates(0.5, 0.4)), SchemePart::Frequency),
            (refused(rates(-0.1, 0.4)), SchemePart::Frequency),
            (refused(a_second(2.0, 1.0)), SchemePart::Frequency),
            (refused(a_second(-1.0, 1.0)), SchemePart::Frequency),
            (refused(a_second(0.0, f64::INFINITY)), SchemePart::Frequency),
            (refused(rates(0.1, 1.1)), SchemePart::Frequency),
            (refused(rates(f64::NAN, 1.0)), SchemePart::Frequency),
            (refused(ages(Age::Time(2), Age::Time(1))), SchemePart::Age),
            (refused(ages(Age::Intervals(2), Age::Intervals(1))), SchemePart::Age),
            (refused(ages(Age::Intervals(2), Age::MIN)), SchemePart::Age),
            (refused(ages(Age::MAX, Age::Intervals(2))), SchemePart::Age),
            (refused(|s| s.apply_interval_us = Some(0)), SchemePart::ApplyInterval),
            (refused(|s| s.quota.bytes = Some(0)), SchemePart::Quota),
            (refused(|s| s.quota.time_us = Some(0)), SchemePart::Quota),
            (refused(|s| s.quota.reset_us = 0), SchemePart::Quota),
            (refused(weigh(0.0)), SchemePart::Quota),
            (refused(weigh(-1.0)), SchemePart::Quota),
            (refused(weigh(f64::INFINITY)), SchemePart::Quota),
            (
                refused(|s| s.watermarks = Some(Watermarks { mid: 0.6, ..marks })),
                SchemePart::Watermarks,
            ),
            (
                refused(|s| s.watermarks = Some(Watermarks { low: 0.45, ..marks })),
                SchemePart::Watermarks,
            ),
            (
                refused(|s| s.watermarks = Some(Watermarks { high: 1.5, ..marks })),
                SchemePart::Watermarks,
            ),
            (
                refused(|s| s.watermarks = Some(Watermarks { interval_us: 0, ..marks })),
                SchemePart::Watermarks,
            ),
            (refused(about(FilterType::Cgroup("a".into()))), SchemePart::Filter(0)),
            (refused(about(FilterType::Addresses(AddrRange::new(1, 1)))), SchemePart::Filter(0)),
            (
                refused(|s| s.goal = Some(Goal { metric: Metric::Resident, target: 0.0 })),
                SchemePart::Goal,
            ),
        ];
        for (invalid, part) in parts {
            assert_eq!(invalid.part, part, "{invalid}");
        }
        let bound = |share, per_us| Some(RefaultBound { share, per_us });
        let idle = Bounds { min: Rate::MIN, max: Rate::MIN };
        let reclaim = |max_refault| {
            move |s: &mut Scheme| {
                (s.pattern.rate, s.action) = (idle, Action::Pageout);
                s.max_refault = max_refault;
            }
        };
        for max_refault in [bound(0.0, 1), bound(0.1, 0)] {
            assert_eq!(refused(reclaim(max_refault)).part, SchemePart::MaxRefault);
        }
        let used = refused(|s| (s.action, s.max_refault) = (Action::Pageout, bound(0.1, 1)));
        assert!(used.why.contains("idle memory"), "{used}");
        let mut fine = Scheme::new(Pattern::ANY, Action::Stat);
        fine.watermarks = Some(marks);
        ages(Age::Intervals(50), Age::Time(1))(&mut fine);
        assert_eq!(fine.validate(), Ok(()));
        reclaim(bound(0.1, 1))(&mut fine);
        assert_eq!(fine.validate(), Ok(()));
    }

    #[test]
    fn says_both_bounds() {
        let invalid = refused(|s| s.pattern.size = Bounds { min: 2 << 20, max: 4096 });
        assert_eq!(invalid.why, "bounds reversed: min_size (2M) is above max_size (4K)");
    }
}
