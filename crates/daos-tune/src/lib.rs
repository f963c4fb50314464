//! The auto-tuning runtime (the paper's §3.3 to §3.5): which thresholds of a scheme are best
//! for a workload.
//!
//! A tuning measures a workload again and again, with the scheme at thresholds that a
//! search asks for and now and then without it, scores what was measured, and says which
//! thresholds to use, or that no scheme is as good.
//!
//! | module | holds |
//! |---|---|
//! | [`space`] | what is tuned: thresholds, their ranges, their scale |
//! | [`search`] | which point to measure next, and which is the best: the methods |
//! | [`score`] | from what was measured to a score |
//! | [`tuning`] | the order of samples, the limit, the end; what is kept, and what came out |
//! | [`classify`](mod@classify) | which of the paper's six shapes the scores of a sweep have |
//! | [`math`] | means, normal numbers, Student's t, matrices |

#![forbid(unsafe_code)]

pub mod classify;
pub mod math;
pub mod score;
pub mod search;
pub mod space;
pub mod tuning;

pub use classify::{Classification, LogisticStep, ScoreCurve, Shape, classify};
pub use math::{MeanSd, gaussian};
pub use score::{
    Better, ExprError, Expression, RSS, RUNTIME, SampleScore, ScoreCommand, ScoreError,
    ScoreFunction, Scored, Scorer, Scoring, Values, last_number, listing_2,
};
pub use search::{
    Ask, CONFIDENCE, ConfidenceInterval, Estimate, Gp, Method, OneThreshold, Poly, Random, Sample,
    Search, Sweep, Why,
};
pub use space::{At, Param, Scale, SearchSpace, SpaceError, Threshold};
pub use tuning::{
    Aim, Beside, Give, Measurement, Next, PlannedSample, PointStats, RunBounds, SampleRecord,
    ServiceLevel, Store, StoreError, Subject, Tuning, TuningEnd, TuningError, TuningLimits,
    TuningResult, Workload, view,
};
