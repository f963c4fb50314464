//! Evaluations that were made by hand.

use crate::suite::store::{Header, Measured, Named, Outcome, RawRun, Store};
use crate::suite::{Machine, Suite};

/// One whose runs took these seconds, in this order. Their resident sets are 100 MiB and that
/// many KiB, the memory used a MiB more.
pub fn store(runs: &[(&str, &str, &[f64])]) -> Store {
    let mut all = Vec::new();
    for (workload, config, seconds) in runs {
        for (round, &runtime_s) in seconds.iter().enumerate() {
            let rss_bytes = 1024.0 * (102_400.0 + runtime_s);
            let measured = Measured {
                runtime_s,
                user_s: runtime_s / 2.0,
                rss_bytes,
                memused_bytes: rss_bytes + 1_048_576.0,
                ..Measured::default()
            };
            all.push(RawRun {
                workload: (*workload).to_owned(),
                config: (*config).to_owned(),
                round: round as u32,
                at: 0,
                outcome: Outcome::Measured(measured),
                beside: None,
            });
        }
    }
    of_runs(all)
}

/// One of these runs.
pub fn of_runs(runs: Vec<RawRun>) -> Store {
    let names = |of: fn(&RawRun) -> &String| {
        let mut all: Vec<Named> = Vec::new();
        for name in runs.iter().map(of) {
            if all.iter().all(|one| one.name != *name) {
                let (about, definition) = (String::new(), String::new());
                all.push(Named { name: name.clone(), about, definition });
            }
        }
        all
    };
    let machine = Machine {
        kernel: "6.1.0".into(),
        processor: "A Processor".into(),
        cpus: 2,
        memory_bytes: 8 << 30,
    };
    let dir = tempfile::tempdir().expect("a directory can be made");
    let none = Suite { workloads: Vec::new(), directory: None };
    let header = Header { zram_bytes: 4 << 30, ..Header::new(machine) };
    let mut store =
        Store::open(dir.path(), header, &none.workloads, &[]).expect("an evaluation can be begun");
    let (workloads, configurations) = (names(|run| &run.workload), names(|run| &run.config));
    store.header = Header { workloads, configurations, ..store.header.clone() };
    for run in runs {
        store.add(run).expect("a run can be written down");
    }
    store
}

/// The seconds of the runs.
pub fn runtimes(store: &Store, workload: &str, config: &str) -> Vec<f64> {
    store.measured(workload, config).iter().map(|run| run.runtime_s).collect()
}
