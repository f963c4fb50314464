//! Compares the tuner's methods on the six shapes of scores.
//!
//! ```text
//! cargo run --release -p daos-bench --example tuning [SEEDS]
//! ```

use daos_bench::tuning::{TuningPlan, compare_tuning, tuning_text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut plan = TuningPlan::default();
    if let Some(seeds) = std::env::args().nth(1) {
        plan.seeds = seeds.parse().map_err(|_| format!("{seeds:?} is no number of seeds"))?;
    }
    let tuned = compare_tuning(&plan, |_| {});
    tuning_text(&tuned, &plan, &mut std::io::stdout().lock())?;
    Ok(())
}
