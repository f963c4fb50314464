//! Any valid scheme, for property tests.

use crate::{
    Age, Bounds, Filter, FilterType, Goal, Pattern, Quota, Rate, RefaultBound, Scheme, Watermarks,
    Weights,
};
use daos_core::{Action, AddrRange, Metric};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

/// A scheme with a pattern and an action only.
pub fn plain() -> impl Strategy<Value = Scheme> {
    (pattern(), select(Action::ALL)).prop_map(|(pattern, action)| Scheme::new(pattern, action))
}

/// A scheme with anything.
pub fn any_scheme() -> impl Strategy<Value = Scheme> {
    let around = (
        of("[ -~äµ]{0,8}[a-z]"),
        quota(),
        of(watermarks()),
        prop::collection::vec(filter(), 0..4),
        of(goal()),
        of(1..=u64::MAX),
    );
    let with = |(plain, around)| {
        let (name, quota, watermarks, filters, goal, apply_interval_us) = around;
        Scheme { name, quota, watermarks, filters, goal, apply_interval_us, ..plain }
    };
    ((plain(), around).prop_map(with), of(refault_bound())).prop_map(|(scheme, max_refault)| {
        // It is for such schemes alone.
        let idle = Bounds { min: Rate::MIN, max: Rate::MIN };
        match max_refault {
            None => scheme,
            Some(_) => Scheme {
                pattern: Pattern { rate: idle, ..scheme.pattern },
                action: Action::Pageout,
                max_refault,
                ..scheme
            },
        }
    })
}

fn refault_bound() -> impl Strategy<Value = RefaultBound> {
    (share(), number())
        .prop_map(|(share, per_us)| RefaultBound { share: share.max(1e-9), per_us: per_us.max(1) })
}

/// Numbers of any magnitude, the ends and round ones included.
fn number() -> impl Strategy<Value = u64> {
    let unit = select(vec![1, 1 << 10, 1 << 20, 1000, 1_000_000, 60_000_000]);
    prop_oneof![
        Just(0),
        Just(u64::MAX),
        (0u64..1000, unit).prop_map(|(count, unit)| count * unit),
        (any::<u64>(), 0u32..64).prop_map(|(bits, shift)| bits >> shift),
    ]
}

fn share() -> impl Strategy<Value = f64> {
    let round = (0u32..=1000).prop_map(|permille| f64::from(permille) / 1000.0);
    prop_oneof![Just(0.0), Just(1.0), round, 0.0..=1.0f64, 0.0..1e-9f64]
}

fn metric() -> impl Strategy<Value = Metric> {
    select(Metric::ALL)
}

fn ordered<T: PartialOrd>((one, other): (T, T)) -> Bounds<T> {
    if one <= other { Bounds { min: one, max: other } } else { Bounds { min: other, max: one } }
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let times = (number(), number()).prop_map(|(one, other)| {
        let Bounds { min, max } = ordered((one, other));
        Bounds { min: Age::Time(min), max: Age::Time(max) }
    });
    let counts = (number(), number()).prop_map(|(one, other)| {
        let Bounds { min, max } = ordered((one, other));
        Bounds { min: Age::Intervals(min), max: Age::Intervals(max) }
    });
    let mixed = (number(), 1..u64::MAX)
        .prop_map(|(min, max)| Bounds { min: Age::Intervals(min), max: Age::Time(max) });
    let size = (number(), number()).prop_map(ordered);
    let shares = (share(), share()).prop_map(|rates| {
        let Bounds { min, max } = ordered(rates);
        Bounds { min: Rate::Share(min), max: Rate::Share(max) }
    });
    let a_second = (0.0..1e3f64, 0.0..1e3f64).prop_map(|rates| {
        let Bounds { min, max } = ordered(rates);
        Bounds { min: Rate::PerSecond(min), max: Rate::PerSecond(max) }
    });
    let rate = prop_oneof![shares, a_second];
    (size, rate, prop_oneof![times, counts, mixed]).prop_map(|(size, rate, age)| Pattern {
        size,
        rate,
        age,
    })
}

fn quota() -> impl Strategy<Value = Quota> {
    let weights = (0.0..1e6f64, 0.0..=1.0f64, 0.1..3.0f64);
    let some = (of(1..=u64::MAX), of(1..=u64::MAX), 1..=u64::MAX, weights).prop_map(
        |(bytes, time_us, reset_us, (size, rate, age))| Quota {
            bytes,
            time_us,
            reset_us,
            weights: Weights { size, rate, age },
        },
    );
    prop_oneof![Just(Quota::default()), some]
}

fn watermarks() -> impl Strategy<Value = Watermarks> {
    (metric(), 1..=u64::MAX, [share(), share(), share()]).prop_map(
        |(metric, interval_us, mut marks)| {
            marks.sort_by(f64::total_cmp);
            let [low, mid, high] = marks;
            Watermarks { metric, interval_us, high, mid, low }
        },
    )
}

fn goal() -> impl Strategy<Value = Goal> {
    (metric(), share()).prop_map(|(metric, share)| Goal { metric, target: share.max(1e-9) })
}

fn filter() -> impl Strategy<Value = Filter> {
    let range = (0..1u64 << 47, 1..1u64 << 40)
        .prop_map(|(start, size)| FilterType::Addresses(AddrRange::new(start, start + size)));
    let filter_type = prop_oneof![
        range,
        "/[a-z.\"' ]{0,6}[a-z]".prop_map(FilterType::Cgroup),
        Just(FilterType::Anonymous),
        Just(FilterType::File),
        Just(FilterType::Huge),
    ];
    (filter_type, any::<bool>(), any::<bool>()).prop_map(|(filter_type, inverted, allow)| Filter {
        filter_type,
        inverted,
        allow,
    })
}
