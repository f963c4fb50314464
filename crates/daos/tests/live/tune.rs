//! `daos tune` on real memory: what it finds, what it takes for void, and how it ends.

mod bench;
mod service;

use bench::{Bench, HARMLESS, number};
use daos_linux::halves;
use daos_testing::{Process, built, eventually, sleep_s, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use test_tag::tag;

const MIB: f64 = (1 << 20) as f64;

/// 16 MiB in use, 112 MiB idle, for five seconds.
const IDLE: &str = "hot, 16M\ncold, 112M\n\nrun\n5s\nhot, random, 1, 1\n";

#[tag(root)]
#[test]
fn a_command_is_tuned_within_the_limit() {
    eventually(|| {
        let bench = Bench::new();
        bench.scratch.configure(IDLE);
        let load = bench.scratch.text("load.cfg");
        let workload = built("daos-eval").display().to_string();
        let command = [&workload, "workload", &load];
        // By memory alone: how long it runs is a matter of the machine.
        let options =
            ["--scheme", "prcl", "--zram", bench.zram.text(), "--param", "min_age=0s..500ms"];
        let ran =
            bench.run(&[&options[..], &["--limit", "36s", "--score", "m"]].concat(), &command);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("better than no scheme by 0."), "{}", ran.stdout);
        bench.zram.assert_gone();

        let samples = bench.samples();
        let took: Vec<f64> = samples.iter().map(|sample| number(sample, "/took_s")).collect();
        let (sum, longest) = (took.iter().sum::<f64>(), took.iter().copied().fold(0.0, f64::max));
        assert!(sum <= 36.0 + longest && took.len() >= 4, "{took:?}");
        for sample in &samples {
            let [rss, most, swap, runtime, user] = ["rss", "rss_max", "swap", "runtime", "user"]
                .map(|name| number(sample, &format!("/metrics/{name}")));
            assert!(most > 128.0 * MIB && most >= rss, "{sample}");
            assert!(!sample["at"].is_null() || (rss > 100.0 * MIB && swap < MIB), "{sample}");
            // It is at it all the time.
            assert!((4.9..15.0).contains(&runtime) && user > 0.3, "{sample}");
        }
        let swap = |sample: &Value| number(sample, "/metrics/swap");
        let most_swapped = samples.iter().max_by(|a, b| swap(a).total_cmp(&swap(b))).unwrap();
        assert!(swap(most_swapped) > 30.0 * MIB, "{most_swapped}");
        assert!(number(most_swapped, "/metrics/rss") < 110.0 * MIB, "{most_swapped}");
        assert!(number(most_swapped, "/metrics/zram") < swap(most_swapped), "{most_swapped}");

        let result = bench.result();
        assert_eq!(result["better_than_none"], true, "{result}");
        assert!(number(&result, "/gain/low") > 0.0, "{result}");
        let best = fs::read_to_string(bench.path("best.scheme")).expect("it is there");
        assert!(best.ends_with(&format!("{}\n", result["scheme"].as_str().unwrap())), "{best}");
        let log = bench.log();
        assert!(log.contains("--- sample 1: no scheme\nready: pid "), "{log}");
        assert!(log.contains("--- sample 2: 4K max min min "), "{log}");
    });
}

#[tag(root)]
#[test]
fn a_run_that_fails_is_void_and_it_goes_on() {
    let bench = Bench::new();
    let job = bench.job("sleep 0.8; [ $((n % 3)) != 0 ] || { echo no luck; exit 3; }");
    let ran = bench.run(&[HARMLESS, &["--samples", "7"]].concat(), &job);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let says = format!("void: it failed with status 3; see {}", bench.text("output.log"));
    assert_eq!(ran.stdout.matches(&says).count(), 2, "{}", ran.stdout);
    assert!(ran.stdout.contains(", 2 void"), "{}", ran.stdout);
    assert_eq!(bench.log().matches("no luck\n").count(), 2);
    let void: Vec<bool> = bench.samples().iter().map(|s| s["void"].is_string()).collect();
    assert_eq!(void, [false, false, true, false, false, true, false]);
    let result = bench.result();
    assert_eq!((&result["samples"], &result["void"]), (&json!(7), &json!(2)));
    assert_ne!(result["score"], Value::Null, "{result}");
}

#[tag(root)]
#[test]
fn of_a_script_that_leaves_the_work_to_others_it_is_told_that_this_does_not_count() {
    let bench = Bench::new();
    let job = bench.job("perl -e 'our $x = \"x\" x (16 << 20); sleep 1'; :");
    let samples = [HARMLESS, &["--samples", "2"]].concat();
    let ran = bench.run(&samples, &job);
    assert_eq!((ran.status, bench.runs()), (Some(0), 2), "{ran:?}");
    let told = "which does not count and is not acted on: give --children";
    assert_eq!(ran.stderr.matches(told).count(), 1, "{ran:?}");
    let ran = bench.run(&[&samples[..], &["--children", "--fresh"]].concat(), &job);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let rss = number(&bench.samples()[0], "/metrics/rss_max");
    assert!(rss > 16.0 * MIB, "{rss}");
}

#[tag(root)]
#[test]
fn what_a_run_does_while_it_settles_is_not_measured() {
    eventually(|| {
        let bench = Bench::new();
        // The third run ends while it settles.
        let job = bench.job(
            "x=$(head -c 40M /dev/zero | tr '\\0' x); sleep 0.3; [ $n != 3 ] || exit 0; exec sleep 4.5",
        );
        let ran = bench.run(&[HARMLESS, &["--samples", "3", "--settle", "3s"]].concat(), &job);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("void: it ended within the 3 s it has to settle"), "{ran:?}");
        let samples = bench.samples();
        for sample in &samples[..2] {
            assert!(number(sample, "/metrics/rss_max") < 20.0 * MIB, "{sample}");
            let runtime = number(sample, "/metrics/runtime");
            assert!((0.8..number(sample, "/took_s") - 2.9).contains(&runtime), "{sample}");
        }
    });
}

#[tag(root)]
#[test]
fn a_metric_reads_what_its_run_printed() {
    let bench = Bench::new();
    let job = bench.job("sleep 0.6; echo worked $n.5; echo and more >&2");
    let metric = ["--metric", "grep worked | tr -d 'a-z \\n'", "--metric-is", "less"];
    let ran = bench.run(&[HARMLESS, &metric, &["--samples", "3"]].concat(), &job);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let samples = bench.samples();
    let read: Vec<f64> = samples.iter().map(|s| number(s, "/metrics/metric")).collect();
    assert_eq!(read, [1.5, 2.5, 3.5]);
}

/// There are no pairs where there is one CPU.
#[tag(root)]
#[test]
fn in_pairs_each_sample_is_compared_with_what_ran_beside_it() {
    let Ok([first, second]) = halves::of_cpus(Path::new("/")) else { return };
    let bench = Bench::new();
    // Each says which copy it is and where it runs, and goes on when the other is there. In the
    // third and fourth sample both take longer.
    let here = bench.scratch.text("copy");
    let job = bench.job(&format!(
        "echo $COPY $(grep Cpus_allowed_list /proc/self/status); \
         echo run >>{here}$COPY; k=$(wc -l <{here}$COPY); touch {here}$COPY-$k; \
         until [ -e {here}$((3 - COPY))-$k ]; do sleep 0.02; done; \
         [ $k -le 2 ] && exec sleep 1; exec sleep 3"
    ));
    let ran = bench.run(&[HARMLESS, &["--pairs", "--samples", "4"]].concat(), &job);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    bench.assert_nothing_left();
    let samples = bench.samples();
    assert_eq!((samples.len(), bench.runs()), (4, 8));
    for (at, sample) in samples.iter().enumerate() {
        let side = if at % 2 == 0 { "second" } else { "first" };
        assert_eq!(sample["beside"]["side"], side, "{sample}");
        for runtime in ["/metrics/runtime", "/beside/metrics/runtime"] {
            assert!(number(sample, runtime) >= if at < 2 { 0.9 } else { 2.9 }, "{sample}");
        }
        assert!(number(sample, "/beside/metrics/rss") > 0.0, "{sample}");
    }
    let said = |name: &str| fs::read_to_string(bench.path(name)).expect("it is text");
    let lines = |name: &str| {
        let said = said(name);
        said.lines().filter(|line| !line.starts_with("---")).map(str::to_owned).collect::<Vec<_>>()
    };
    // Copy 1 is on the first half, and copy 2 on the other.
    let of_copy = |line: &String| match line.split_once(' ') {
        Some(("1", _)) => ('1', &first),
        _ => ('2', &second),
    };
    for (name, expected) in [("output.log", "1212"), ("output-beside.log", "2121")] {
        let lines = lines(name);
        assert_eq!(lines.iter().map(|line| of_copy(line).0).collect::<String>(), expected);
        for line in &lines {
            let last = line.rsplit([' ', ',', '-']).next().expect("there is one");
            assert!(of_copy(line).1.contains(&last.parse().expect("a CPU")), "{line}");
        }
    }
    assert!(said("output-beside.log").contains("--- sample 2: no scheme\n"));
    assert!(ran.stdout.lines().next().unwrap().contains("runtime     beside"), "{}", ran.stdout);

    // Without pairs it would be another tuning.
    let ran = bench.run(&[HARMLESS, &["--samples", "4"]].concat(), &job);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("another pairs: there it is \"two at once\""), "{}", ran.stderr);
}

#[tag(root)]
#[test]
fn where_one_copy_of_a_pair_fails_the_other_is_given_up() {
    let Ok(_) = halves::of_cpus(Path::new("/")) else { return };
    let bench = Bench::new();
    let script = format!("[ $COPY = 1 ] || {{ {HANGS}; }}; sleep 0.5; echo alas; exit 3");
    let job = bench.job(&script);
    let ran = bench.run(&[HARMLESS, &["--pairs", "--limit", "1h"]].concat(), &job);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let failed = |of: &str, log: &str| {
        let says = format!("void: {of}it failed with status 3; see {}", bench.text(log));
        ran.stdout.matches(&says).count()
    };
    // The one with the scheme is on the first side, then on the second, then on the first.
    assert_eq!(failed("", "output.log"), 2, "{}", ran.stdout);
    assert_eq!(failed("the copy alone: ", "output-beside.log"), 1, "{}", ran.stdout);
    bench.assert_nothing_left();
}

#[tag(root)]
#[test]
fn the_third_void_in_a_row_ends_it_with_what_is_known() {
    let bench = Bench::new();
    let job = bench.job("sleep 0.6; [ $n -le 3 ]");
    let ran = bench.run(&[HARMLESS, &["--samples", "20"]].concat(), &job);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("three samples in a row were void: 6 in "), "{}", ran.stdout);
    let result = bench.result();
    assert_eq!((&result["end"], &result["samples"]), (&json!("void"), &json!(6)));
    assert!(number(&result, "/orig/runtime") > 0.5, "{result}");
    assert_ne!(result["score"], Value::Null, "{result}");
    assert!(bench.path("plot.svg").exists());
    bench.assert_nothing_left();
}

#[tag(root)]
#[test]
fn a_command_that_never_goes_well_is_known_soon() {
    let bench = Bench::new();
    let job = bench.job("kill -SEGV $$");
    let ran = bench.run(&[HARMLESS, &["--limit", "1h"]].concat(), &job);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert_eq!(
        ran.stdout.matches("void: it ended with status 139, as of signal 11").count(),
        3,
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("nothing is known yet"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("in a row were void; the last: it ended with status 139"),
        "{}",
        ran.stderr
    );
    assert_eq!(bench.runs(), 3);
    assert_eq!(bench.result()["scheme"], Value::Null);
    assert!(!bench.path("best.scheme").exists());
}

/// It, and what it has started in the background, which won't go when it is asked to.
const HANGS: &str = "(trap '' TERM; sleep 600) & sleep 600";

#[tag(root)]
#[test]
fn a_run_that_hangs_is_void_and_none_of_it_is_left() {
    eventually(|| {
        let bench = Bench::new();
        let job = bench.job(&format!("sleep 0.6; [ $n != 2 ] || {{ {HANGS}; }}"));
        // Every point of a sweep is measured to its end.
        let sweep = ["--scheme", "4K max min min 1s max stat", "--sweep", "min_age=0s..1s/1s"];
        let ran = bench.run(&sweep, &job);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("void: it did not end within 1"), "{}", ran.stdout);
        bench.assert_nothing_left();
        // Its point is measured again.
        assert_eq!((bench.runs(), bench.result()["void"].as_u64()), (4, Some(1)));
    });
}

#[tag(root)]
#[test]
fn a_run_that_is_lost_is_cut_short_and_none_of_it_is_left() {
    eventually(|| {
        let bench = Bench::new();
        let job = bench.job(&format!("sleep 1; [ $n -le 2 ] || {{ {HANGS}; }}"));
        let ran = bench.run(&[HARMLESS, &["--samples", "4", "--method", "random"]].concat(), &job);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        bench.assert_nothing_left();
        let samples = bench.samples();
        let cut: Vec<bool> = samples.iter().map(|sample| sample["cut_short"] == true).collect();
        // The second may be slow where all is.
        assert!(matches!(cut[..], [false, _, true, true]), "{cut:?}");
        assert!(ran.stdout.matches("  cut short").count() >= 2, "{}", ran.stdout);
    });
}

#[tag(root)]
#[test]
fn a_command_that_cannot_be_started_says_so() {
    let bench = Bench::new();
    let nowhere = bench.text("nothing-here");
    for command in [nowhere.as_str(), "no-such-command-here", "/dev/null"] {
        let ran = bench.run(&[HARMLESS, &["--quiet", "--samples", "3"]].concat(), &[command]);
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.stderr.contains(&format!("{command:?}; check its name")), "{ran:?}");
        assert!(!bench.path("samples.jsonl").exists());
    }
    let job = bench.job("sleep 1");
    let limit = [HARMLESS, &["--limit", "1200ms"]].concat();
    let ran = bench.run(&limit, &job);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("no time for another: give --limit 1"), "{ran:?}");
}

/// Interrupts the run of this number in the middle, and goes on after that.
fn interrupted_in(run: usize) {
    let bench = Bench::new();
    let asked = bench.text("asked");
    let job = bench.job(&format!(
        "if [ $n = {run} ]; then (trap '' TERM; sleep 600) & \
         trap 'echo asked >{asked}; exit 0' TERM; sleep 600 & wait; fi; sleep 0.6"
    ));
    let options = [
        "--scheme",
        "prcl",
        "--zram",
        bench.zram.text(),
        "--sweep",
        "min_age=0s..1s/0.5s",
        "--limit",
        "1m",
    ];
    let mut daos = Process::start(&mut bench.command(&options, &job));
    bench.wait_until(&mut daos, || bench.runs() == run);
    assert!(until(|| bench.zram.devices().len() == 1));
    sleep_s(0.7);
    daos.signal(Signal::INT);
    assert_eq!(daos.end().code(), Some(130));
    bench.assert_nothing_left();
    bench.zram.assert_gone();
    assert!(bench.path("asked").exists(), "it is asked to end before it is killed");
    let before = bench.samples();
    assert_eq!(before.len(), run - 1);
    let result = bench.result();
    assert_eq!(
        (&result["end"], result["samples"].as_u64()),
        (&json!("interrupted"), Some(run as u64 - 1))
    );

    let ran = bench.run(&options, &job);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let samples = bench.samples();
    assert_eq!((&samples[..before.len()], samples.len()), (&before[..], 4));
    assert_eq!(bench.result()["end"], "samples");
    bench.assert_nothing_left();
    bench.zram.assert_gone();
}

#[tag(root)]
#[test]
fn interrupted_without_a_scheme_it_leaves_nothing_and_goes_on_later() {
    interrupted_in(1);
}

#[tag(root)]
#[test]
fn interrupted_with_a_scheme_it_leaves_nothing_and_goes_on_later() {
    interrupted_in(3);
}
