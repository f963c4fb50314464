//! `daos-eval suite` on a small program: what is measured is what happened, it goes on where it
//! was, and nothing of it stays.

use daos_testing::{Place, Process, eval, eventually, until};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use test_tag::tag;

const POLICY: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// A child fills 100 MiB and uses none of it any more, and what it starts outlives it.
const SUITE: &str = r#"
[[workload]]
name = "small/idle"
setup = "echo 100 >size"
seconds = 20
command = """
sleep 1000 &
perl -e 'my $text = "x" x ($ARGV[0] << 20); my $end = time + 16; select undef, undef, undef, 0.01 while time < $end; print length $text' $(cat size)
"""

[[workload]]
name = "broken"
command = "echo no such luck; exit 3"
"#;

fn runs(place: &Place) -> Vec<Value> {
    let lines = fs::read_to_string(place.path("out/runs.jsonl")).unwrap_or_default();
    lines.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// Processes whose command line has this word.
fn processes_with(word: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let has = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|one| one == word.as_bytes())
    };
    entries.filter(|entry| has(&entry.path())).count()
}

#[tag(root, quiet)]
#[test]
fn what_is_idle_is_saved_and_what_fails_is_told() {
    let policy = fs::read_to_string(POLICY).unwrap();
    eventually(|| {
        let place = Place::new("daos-eval");
        // A number that no other test has.
        fs::write(place.path("suite.toml"), SUITE.replace("1000", "100071")).unwrap();
        let args = ["suite", "--suite", "suite.toml", "--out", "out", "--runs", "1"];
        let both = [&args[..], &["--configs", "orig,prcl", "--zram", "512M"]].concat();
        let ran = place.run(&both).succeeded();
        assert!(ran.stderr.contains("broken, orig: broken failed (exit status 3): no such luck"));
        let all = runs(&place);
        assert_eq!(all.len(), 3, "nothing is compared with what failed: {all:?}");
        let mib = |at: usize, key: &str| all[at][key].as_f64().unwrap() / f64::from(1 << 20);
        assert!(mib(0, "rss_bytes") > 95.0, "{all:?}");
        assert!(mib(1, "rss_bytes") < 0.85 * mib(0, "rss_bytes"), "{all:?}");
        assert!(mib(1, "swap_bytes") > 10.0 && mib(1, "daos_rss_bytes") > 1.0, "{all:?}");
        assert!(all[0]["user_s"].as_f64() > Some(0.0) && all[1]["daos_cpu_s"].as_f64() > Some(0.0));
        assert_eq!(processes_with("100071"), 0);
        // What was measured is not run again, and huge pages are put back.
        let more = [&args[..], &["--configs", "orig,thp", "--zram", "512M", "--only", "small"]];
        let ran = place.run(&more.concat()).succeeded();
        assert_eq!(runs(&place).len(), 4, "{}", ran.stderr);
        // At equal memory: what it starts is within the limit, too.
        let more = [&args[..], &["--configs", "orig,limit", "--zram", "512M", "--only", "small"]];
        place.run(&more.concat()).succeeded();
        let all = runs(&place);
        let mib = |at: usize, key: &str| all[at][key].as_f64().unwrap() / f64::from(1 << 20);
        assert!(mib(4, "rss_bytes") < 1.1 * mib(1, "rss_bytes"), "{all:?}");
        assert!(mib(4, "swap_bytes") > 10.0, "{all:?}");
        let page = fs::read_to_string(place.path("out/report.html")).unwrap();
        assert!(page.contains("no such luck") && page.contains("<svg"));
        assert!(!place.path("out/work/small/idle").exists());
    });
    assert_eq!(fs::read_to_string(POLICY).unwrap(), policy);
}

#[tag(root, quiet)]
#[test]
fn an_interrupted_one_puts_all_back() {
    let policy = fs::read_to_string(POLICY).unwrap();
    for signal in [Signal::TERM, Signal::KILL] {
        let place = Place::new("daos-eval");
        let out = place.path("out").display().to_string();
        let args = ["suite", "--configs", "thp,orig", "--runs", "1", "--out", &out];
        let mut suite = eval(&[&args[..], &["--", "sleep", "100072"]].concat());
        let mut suite = Process::start(suite.stdout(Stdio::null()).stderr(Stdio::null()));
        assert!(until(|| processes_with("100072") > 1), "the workload has not begun");
        assert!(fs::read_to_string(POLICY).unwrap().contains("[always]"));
        // Another one is noticed.
        let other = place.path("other").display().to_string();
        let other = ["suite", "--configs", "orig", "--out", &other, "--", "true"];
        place.cannot(&other, "another evaluation is running");
        suite.signal(signal);
        let status = suite.end();
        assert!(until(|| fs::read_to_string(POLICY).unwrap() == policy), "{signal:?}");
        if signal == Signal::TERM {
            assert_eq!(status.code(), Some(1));
        }
        assert!(until(|| processes_with("100072") == 0), "{signal:?}");
    }
}

/// There are no pairs where there is one CPU.
fn has_two_cpus() -> bool {
    std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1)
}

/// Each copy says on which CPUs it is, and ends when it has seen the other one.
const MEETING: &str = r#"
[[workload]]
name = "meeting"
setup = "echo $COPY >number"
seconds = 1
command = """
grep Cpus_allowed_list /proc/self/status
test $COPY = $(cat number)
sleep 100073 &
mkdir $SUITE/copy-$COPY
for turn in $(seq 300); do
    test -e $SUITE/copy-$((3 - COPY)) && met=yes && break
    sleep 0.1
done
sleep 3
rmdir $SUITE/copy-$COPY
test $met = yes
"""

[[workload]]
name = "single"
command = "true"
pairs = false
"#;

#[tag(root, quiet)]
#[test]
fn two_copies_run_at_once_on_cpus_of_their_own() {
    if !has_two_cpus() {
        return;
    }
    let place = Place::new("daos-eval");
    fs::write(place.path("suite.toml"), MEETING).unwrap();
    let args = ["suite", "--suite", "suite.toml", "--out", "out", "--pairs", "--runs", "1"];
    let ran = place.run(&[&args[..], &["--configs", "rec,scan"]].concat()).succeeded();
    assert!(ran.stderr.contains("cannot run twice at once: single"), "{}", ran.stderr);
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("2 pairs of each") && !text.contains("memused.avg"), "{text}");
    let all = runs(&place);
    let made: Vec<String> =
        all.iter().map(|run| format!("{} {}", run["config"], run["round"])).collect();
    assert_eq!(made, [r#""rec" 0"#, r#""rec" 1"#, r#""scan" 0"#, r#""scan" 1"#]);
    assert!(text.contains("scan: reading all pages once a second takes"), "{text}");
    for run in &all {
        let cpu = |run: &Value| run["daos_cpu_s"].as_f64().unwrap();
        assert!(cpu(run) > 0.0 && cpu(&run["beside"]) == 0.0, "{run}");
        let memory = |run: &Value| run["rss_bytes"].as_f64().unwrap();
        assert!(memory(run) > 0.0 && memory(&run["beside"]) > 0.0, "{run}");
    }
    // Each configuration was on either half, and both of a pair never on the same.
    let said = |log: &str| fs::read_to_string(place.path("out/logs/meeting").join(log)).unwrap();
    assert_eq!((said("rec"), said("rec-2")), (said("orig"), said("orig-2")));
    assert_ne!(said("rec"), said("rec-2"));
    assert_eq!(processes_with("100073"), 0);
    assert!(!place.path("out/work/meeting").exists() && !place.path("out/work-2/meeting").exists());
    // It goes on where it was, as what it is.
    place.run(&[&args[..], &["--configs", "rec"]].concat()).succeeded();
    assert_eq!(runs(&place).len(), 4);
    let in_turn = ["suite", "--suite", "suite.toml", "--out", "out", "--configs", "orig"];
    let ran = place.run(&in_turn);
    assert!(
        ran.status == Some(1) && ran.stderr.contains("was made with --pairs"),
        "{}",
        ran.stderr
    );
}

/// Each copy works where its own input is, and ends when it has met the other one.
const TUNED: &str = r#"
[[workload]]
name = "tuned"
setup = "echo $COPY >number"
seconds = 1
command = """
test $COPY = $(cat number)
touch $SUITE/at-$COPY-$(ls $SUITE | grep -c at-$COPY-)
seen=$(ls $SUITE | grep -c at-$COPY-)
until [ $(ls $SUITE | grep -c at-$((3 - COPY))-) -ge $seen ]; do sleep 0.02; done
sleep 0.7
"""
"#;

#[tag(root, quiet)]
#[test]
fn a_scheme_is_tuned_in_pairs_for_pairs() {
    if !has_two_cpus() {
        return;
    }
    let place = Place::new("daos-eval");
    fs::write(place.path("suite.toml"), TUNED).unwrap();
    let args = ["suite", "--suite", "suite.toml", "--out", "out", "--pairs", "--runs", "1"];
    place.run(&[&args[..], &["--configs", "prcl-tuned", "--zram", "64M"]].concat()).succeeded();
    let samples = fs::read_to_string(place.path("out/tuned/prcl-tuned/tuned/samples.jsonl"));
    let samples = samples.unwrap();
    assert_eq!(samples.lines().count(), 10);
    for sample in samples.lines() {
        let sample: Value = serde_json::from_str(sample).unwrap();
        assert!(sample["void"].is_null(), "{sample}");
        assert!(sample["beside"]["metrics"]["runtime"].as_f64().unwrap() >= 0.7, "{sample}");
    }
}

#[tag(root, quiet)]
#[test]
fn a_pair_that_fails_or_is_interrupted_leaves_nothing() {
    if !has_two_cpus() {
        return;
    }
    let place = Place::new("daos-eval");
    let text = "[[workload]]\nname = \"one\"\ncommand = \"\"\"\ntest $COPY = 1 || { echo alas; exit 3; }\nsleep 100074\n\"\"\"\n";
    fs::write(place.path("suite.toml"), text).unwrap();
    let args = ["suite", "--suite", "suite.toml", "--out", "out", "--configs", "rec", "--pairs"];
    let ran = place.run(&args);
    assert!(ran.stderr.contains("one, rec: the copy in orig: one failed (exit status 3): alas"));
    assert_eq!(runs(&place).len(), 1, "there is nothing to compare with");
    assert_eq!(processes_with("100074"), 0);
    for signal in [Signal::TERM, Signal::KILL] {
        let out = place.path("other").display().to_string();
        let args = ["suite", "--configs", "rec", "--pairs", "--runs", "1", "--out", &out];
        let mut suite = eval(&[&args[..], &["--", "sleep", "100075"]].concat());
        let mut suite = Process::start(suite.stdout(Stdio::null()).stderr(Stdio::null()));
        // Two copies, and the suite itself.
        assert!(until(|| processes_with("100075") > 2), "the copies have not begun");
        suite.signal(signal);
        suite.end();
        assert!(until(|| processes_with("100075") == 0), "{signal:?}");
        assert!(fs::read_to_string(place.path("other/runs.jsonl")).unwrap().is_empty());
    }
}
