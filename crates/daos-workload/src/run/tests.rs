//! Tests of the runner, on little memory and for a short time.

use super::*;
use crate::config::ALIGNMENT;
use std::num::{NonZeroU32, NonZeroU64};

const CONFIG: &str = "\
cold, 4M
hot, 100000
mixed, 2M

both
30ms
hot, random, 0, 3, rw
mixed, stride, 4096, 2, wo
mixed, random, 0, 1, ro

rest
5ms
";

static GO: AtomicBool = AtomicBool::new(false);

fn map(options: RunOptions) -> Workload {
    let config = Config::parse("test", CONFIG).unwrap();
    Workload::map(config, options, &GO).unwrap()
}

fn truth_of(workload: &Workload) -> (RunSummary, Vec<PhaseTruth>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("truth");
    let mut writer = TruthWriter::create(&path).unwrap();
    let summary = workload.run(&GO, Some(&mut writer)).unwrap();
    (summary, PhaseTruth::read_all(&path).unwrap())
}

#[test]
fn regions_lie_in_order_and_apart() {
    let ranges = map(RunOptions::default()).ranges();
    assert_eq!(ranges.len(), 3);
    assert!(ranges.iter().all(|r| r.start.is_multiple_of(ALIGNMENT)));
    assert!(ranges.windows(2).all(|w| w[0].end < w[1].start));
    assert!(ranges.windows(2).all(|w| w[1].start - w[0].end <= ALIGNMENT));
    assert_eq!(ranges[1].pages(), 25);
}

#[test]
fn the_holes_are_unmapped() {
    let workload = map(RunOptions::default());
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for range in workload.ranges() {
        // Other tests may map something right behind, but never the same mapping.
        let line = format!("{:x}-{:x} rw-p", range.start, range.end);
        assert!(maps.lines().any(|l| l.starts_with(&line)), "{line} is not in\n{maps}");
    }
}

#[test]
fn truth_counts_what_the_summary_counts() {
    let workload = map(RunOptions::default());
    let (summary, truth) = truth_of(&workload);
    assert_eq!(truth.len(), 2);

    let both = &truth[0];
    let entries: Vec<_> = both.regions.iter().map(|r| (r.name.as_str(), r.pattern)).collect();
    assert_eq!(
        entries,
        [
            ("cold", PatternKind::Idle),
            ("hot", PatternKind::Random),
            ("mixed", PatternKind::Stride),
            ("mixed", PatternKind::Random),
        ]
    );
    let ranges = workload.ranges();
    assert_eq!(both.regions[1].range(), ranges[1]);
    let counts: Vec<u64> = both.regions.iter().map(|r| r.accesses).collect();
    assert_eq!(counts.iter().sum::<u64>(), summary.phases[0].accesses);
    assert!(counts[3] > 0 && counts[0] == 0);
    // 3 to 2 to 1, up to the part of an access that a round leaves over.
    assert!(counts[1].abs_diff(3 * counts[3]) <= 6 && counts[2].abs_diff(2 * counts[3]) <= 6);
    assert!(both.end_us - both.start_us >= 30_000);

    assert!(truth[1].start_us >= both.end_us);
    assert!(truth[1].regions.iter().all(|r| r.accesses == 0 && r.weight == 0));
    assert!(summary.accesses_per_sec() > 0.0);
}

#[test]
fn memory_holds_what_was_accessed() {
    let workload = map(RunOptions::default());
    // Filling wrote one byte a page; only the phases write others.
    assert!(workload.memory.bytes(1)[1..4096].iter().all(|b| b.load(Ordering::Relaxed) == 0));
    workload.run(&GO, None).unwrap();
    let written = |region: usize| {
        workload.memory.bytes(region).iter().filter(|b| b.load(Ordering::Relaxed) != 0).count()
    };
    assert_eq!(written(0), 1024);
    assert!(written(1) > 25);
    // Strides of a page meet the filled bytes; the random accesses only read.
    assert_eq!(written(2), 512);
}

#[test]
fn memory_may_be_left_alone_or_hold_something() {
    let bytes_set = |fill| {
        let workload = map(RunOptions { fill, ..RunOptions::default() });
        let bytes = workload.memory.bytes(0)[..4096].iter();
        bytes.filter(|b| b.load(Ordering::Relaxed) != 0).count()
    };
    assert_eq!((bytes_set(Fill::None), bytes_set(Fill::Touch)), (0, 1));
    assert!((1900..=2048).contains(&bytes_set(Fill::Half)));
}

#[test]
fn threads_share_the_work_and_count_together() {
    let threads = NonZeroU32::new(3).unwrap();
    let (summary, truth) = truth_of(&map(RunOptions { threads, ..RunOptions::default() }));
    let counted: u64 = truth[0].regions.iter().map(|r| r.accesses).sum();
    assert_eq!(counted, summary.phases[0].accesses);
    assert!(counted > 0);
}

#[test]
fn the_rate_is_a_limit() {
    let rate = NonZeroU64::new(100_000);
    let options = RunOptions { rate, repeat: NonZeroU32::new(2).unwrap(), ..RunOptions::default() };
    let summary = map(options).run(&GO, None).unwrap();
    assert_eq!(summary.phases.len(), 4);
    for phase in &summary.phases {
        let allowed = phase.elapsed_us / 10 + 100;
        assert!(phase.accesses <= allowed, "{} of {allowed}", phase.accesses);
    }
}

#[test]
fn a_stop_ends_it_at_once() {
    let stop = AtomicBool::new(true);
    let config = Config::parse("test", CONFIG).unwrap();
    let workload = Workload::map(config, RunOptions::default(), &stop).unwrap();
    assert!(workload.run(&stop, None).unwrap().phases.is_empty());
}

#[test]
fn a_stop_in_a_phase_keeps_its_truth() {
    let config = Config::parse("long", "a, 1M\n\nlong\n1h\na, random, 0, 1\n").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("truth");
    let mut writer = TruthWriter::create(&path).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            stop.store(true, Ordering::Relaxed);
        });
        let workload = Workload::map(config, RunOptions::default(), &GO).unwrap();
        workload.run(&stop, Some(&mut writer)).unwrap();
    });
    assert_eq!(PhaseTruth::read_all(&path).unwrap().len(), 1);
}

#[test]
fn other_kinds_of_memory_work_too() {
    for huge_pages in [HugePages::Always, HugePages::Never] {
        map(RunOptions { huge_pages, ..RunOptions::default() }).run(&GO, None).unwrap();
    }
    map(RunOptions { backing: Backing::Shared, ..RunOptions::default() }).run(&GO, None).unwrap();
}

#[test]
fn what_cannot_be_mapped_is_named() {
    let config = Config::parse("big", "big, 64T\n\nrun\n1\n").unwrap();
    let error = Workload::map(config, RunOptions::default(), &GO).unwrap_err().to_string();
    assert!(error.contains("cannot "), "{error}");
}

#[test]
fn a_file_is_mapped_and_has_no_name() {
    let options = RunOptions { backing: Backing::File, ..RunOptions::default() };
    let workload = map(options);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for range in workload.ranges() {
        let is_it =
            |line: &&str| line.starts_with(&format!("{:x}-{:x} rw-s", range.start, range.end));
        let line = maps.lines().find(is_it).expect("it is shared");
        assert!(line.ends_with("(deleted)"), "{line}");
    }
    for region in 0..3 {
        let bytes = workload.memory.bytes(region);
        let is_filled = |page: &[std::sync::atomic::AtomicU8]| page[0].load(Ordering::Relaxed) == 1;
        assert!(bytes.chunks(4096).all(is_filled));
    }
    let (summary, truth) = truth_of(&workload);
    assert!(summary.phases[0].accesses > 0);
    assert_eq!(truth.len(), 2);
}
