//! `daos tune` on simulated workloads: what it shows, and what it keeps.

mod going_on;
mod mistakes;

use daos_testing::{Place, Ran};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

const MIB: f64 = (1 << 20) as f64;
/// Where `LOAD` is best tuned: it lasts three seconds, and its cold part is cold from the
/// first on.
const RANGE: &str = "min_age=0s..2s";
const SIM: [&str; 6] = ["--sim", "load.cfg", "--zram", "256M", "--scheme", "prcl"];

/// Tunes with these words, and those that all have in common.
fn tune(place: &Place, args: &[&str]) -> Ran {
    place.run(&[&["tune"][..], &SIM, args].concat())
}

/// The same, without a word, into `dir`.
#[track_caller]
fn tuned(place: &Place, dir: &str, args: &[&str]) -> Kept {
    let ran = tune(place, &[&["--quiet", "--out", dir], args].concat()).succeeded();
    assert_eq!((ran.stderr.as_str(), ran.stdout.as_slice()), ("", &[][..]));
    Kept(place.path(dir))
}

/// A directory of a tuning.
struct Kept(PathBuf);

impl Kept {
    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|err| panic!("{name}: {err}"))
    }

    fn result(&self) -> Value {
        serde_json::from_str(&self.text("result.json")).expect("it is JSON")
    }

    fn samples(&self) -> Vec<Value> {
        let lines = self.text("samples.jsonl");
        lines.lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
    }

    /// Where samples were taken, why, and what was measured: all but the time they took,
    /// which is a difference of two times and so depends on when they were taken.
    fn measured(&self) -> Vec<String> {
        let keys = ["at", "why", "metrics", "cut_short", "void"];
        let one = |sample: Value| keys.map(|key| sample[key].to_string()).join(" ");
        self.samples().into_iter().map(one).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// Leaves of the samples only the first so many, as if it had been killed then.
    fn forget_after(&self, count: usize) {
        let lines = self.text("samples.jsonl");
        let first: String = lines.split_inclusive('\n').take(count).collect();
        fs::write(self.0.join("samples.jsonl"), first).unwrap();
        fs::remove_file(self.0.join("result.json")).unwrap();
    }

    #[track_caller]
    fn assert_pictures(&self) {
        assert_svg(&self.text("plot.svg"));
        assert_png(&fs::read(self.0.join("plot.png")).expect("it is there"));
    }
}

fn number(value: &Value, path: &str) -> f64 {
    value.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} in {value}"))
}

#[track_caller]
fn assert_interval(of: &Value) {
    let [low, mean, high] = ["/low", "/mean", "/high"].map(|path| number(of, path));
    assert!(low <= mean && mean <= high, "{of}");
}

/// Every element is closed, by its own name and in order.
#[track_caller]
fn assert_svg(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut seen = 0;
    for part in text.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert!(!text.replace("&amp;", "").replace("&lt;", "").contains("& "), "{text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.starts_with(['?', '!']) && !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().expect("a tag has a name"));
            seen += 1;
        }
    }
    assert!(text.trim_start().starts_with("<svg") && seen > 5 && open.is_empty(), "{open:?}");
    assert!(!text.contains("NaN") && !text.contains("inf\""), "{text}");
}

/// From its head to its end, every part is there.
#[track_caller]
fn assert_png(bytes: &[u8]) {
    let mut rest = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n").expect("the head of a PNG");
    let mut kinds = Vec::new();
    while !rest.is_empty() {
        let len = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
        kinds.push(std::str::from_utf8(&rest[4..8]).expect("a kind is text"));
        rest = &rest[len + 12..];
    }
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("IHDR", "IEND"));
    assert!(kinds.contains(&"IDAT"));
}

#[test]
fn every_sample_is_shown_and_the_result_is_kept() {
    let place = Place::new("daos");
    let ran = tune(&place, &["--samples", "8", "--param", RANGE]).succeeded();
    assert!(ran.stderr.contains("simulated, not measured"), "{}", ran.stderr);
    let stdout = String::from_utf8(ran.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(head, ["#", "what", "min_age", "runtime", "rss", "faster", "saved", "score"]);
    for (at, line) in lines[1..=8].iter().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], (at + 1).to_string(), "{line}");
        assert_eq!(words[1] == "baseline", at % 4 == 0, "{line}");
    }
    assert!(stdout.contains("8 in 2"), "{stdout}");
    assert!(stdout.contains("better than no scheme by 0.3"), "{stdout}");
    assert!(stdout.contains("with 90 % confidence"), "{stdout}");
    assert!(stdout.contains("daos apply --scheme daos.tune/best.scheme"), "{stdout}");

    let kept = Kept(place.path("daos.tune"));
    let names = ["best.scheme", "plot.svg", "plot.png", "samples.jsonl", "tuning.json"];
    assert!(names.iter().all(|name| kept.has(name)));
    kept.assert_pictures();
    assert_eq!(kept.samples().len(), 8);
    let result = kept.result();
    assert_eq!(
        ["end", "samples", "void", "better_than_none", "shape"].map(|k| &result[k]),
        [&json!("samples"), &json!(8), &json!(0), &json!(true), &json!(null)]
    );
    // One may be repeated.
    assert!(number(&result, "/baselines") >= 2.0, "{result}");
    assert_eq!(number(&result, "/orig/rss"), 64.0 * MIB);
    assert!((number(&result, "/orig/runtime") - 3.0).abs() < 0.3, "{result}");
    assert_interval(&result["score"]);
    assert_interval(&result["gain"]);
    assert!(number(&result, "/gain/low") > 0.2, "{result}");
    // The sooner it acts, the more it saves.
    assert!(number(&result, "/point/0") < 500_000.0, "{result}");
    let min_age = result["at"]["min_age"].as_str().unwrap();
    assert!(stdout.contains(&format!("best: min_age={min_age},")), "{stdout}");
}

#[test]
fn the_best_scheme_can_be_applied() {
    let place = Place::new("daos");
    // Such that what is best has a number of its own.
    let range = "min_age=300ms..2s";
    let kept = tuned(&place, "t", &["--samples", "6", "--param", range]);
    let scheme = kept.result()["scheme"].as_str().unwrap().to_owned();
    let file = kept.text("best.scheme");
    let lines: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, [scheme.as_str()], "{file}");
    let min_age = kept.result()["at"]["min_age"].as_str().unwrap().to_owned();
    assert_eq!(scheme, format!("4K max min min {min_age} max pageout"));

    let apply = ["apply", "-q", "--sim", "load.cfg", "--zram", "256M", "--stats", "stats"];
    place.run(&[&apply[..], &["--scheme", "t/best.scheme"]].concat()).succeeded();
    let stats = fs::read(place.path("stats")).unwrap();
    let stats: Value = serde_json::from_slice(&stats).unwrap();
    assert!(number(&stats, "/schemes/0/applied_bytes") >= 40.0 * MIB, "{stats}");
    assert_eq!(stats["schemes"][0]["scheme"], scheme, "{stats}");
}

#[test]
fn every_method_stays_within_the_range() {
    let place = Place::new("daos");
    for method in ["gp", "poly", "random"] {
        let kept =
            tuned(&place, method, &["--samples", "12", "--param", RANGE, "--method", method]);
        let samples = kept.samples();
        assert_eq!(samples.len(), 12);
        let baselines = samples.iter().filter(|sample| sample["at"].is_null());
        assert!(baselines.count() >= 2, "one in ten");
        for sample in samples.iter().filter(|sample| !sample["at"].is_null()) {
            assert!((0.0..=2e6).contains(&number(sample, "/at/0")), "{method}: {sample}");
        }
        let improved = samples.iter().any(|sample| sample["why"] == "improve");
        assert_eq!(improved, method != "random", "{method}");
        let result = kept.result();
        assert_eq!(result["better_than_none"], true, "{method}: {result}");
        assert!(number(&result, "/point/0") < 1e6, "{method}: {result}");
        kept.assert_pictures();
    }
}

#[test]
fn two_thresholds_at_once() {
    let place = Place::new("daos");
    let params = ["--param", RANGE, "--param", "max_freq=0..20%"];
    let kept = tuned(&place, "t", &[&["--samples", "10"], &params[..]].concat());
    for sample in kept.samples().iter().filter(|sample| !sample["at"].is_null()) {
        assert!((0.0..=2e6).contains(&number(sample, "/at/0")), "{sample}");
        assert!((0.0..=0.2).contains(&number(sample, "/at/1")), "{sample}");
    }
    let result = kept.result();
    let (age, most) = (&result["at"]["min_age"], &result["at"]["max_freq"]);
    assert!(age.is_string() && most.as_str().unwrap().ends_with('%'), "{result}");
    assert_eq!(result["point"].as_array().unwrap().len(), 2);
    assert!(kept.text("best.scheme").contains(most.as_str().unwrap()));
    kept.assert_pictures();
    assert!(kept.text("plot.svg").contains("max_freq"));
}

#[test]
fn no_scheme_is_better_than_none_is_a_result() {
    let place = Place::new("daos");
    // Memory saved is bad: the best is to do nothing.
    let args = ["--samples", "6", "--param", RANGE, "--score=-m"];
    // What was best before is not left there.
    let kept = tuned(&place, "t", &["--samples", "6", "--param", RANGE]);
    assert!(kept.has("best.scheme"));
    let kept = tuned(&place, "t", &args);
    let result = kept.result();
    assert_eq!(result["better_than_none"], false, "{result}");
    assert_eq!(result["scheme"], Value::Null, "{result}");
    assert!(!kept.has("best.scheme") && !kept.has("best.toml"));
    kept.assert_pictures();

    let ran = tune(&place, &args).succeeded();
    let stdout = String::from_utf8(ran.stdout).unwrap();
    assert!(stdout.contains("it runs best without a scheme"), "{stdout}");
    assert!(!stdout.contains("daos apply"), "{stdout}");
}

#[test]
fn a_score_is_an_expression_or_a_command() {
    let place = Place::new("daos");
    let common = ["--samples", "7", "--param", RANGE];
    let by = |dir, score| tuned(&place, dir, &[&common[..], &["--score", score]].concat());
    let expression = by("expression", "2*m + 1");
    assert!(number(&expression.result(), "/score/mean") > 2.0);
    // The same by a command: it gets m as JSON, and adds nothing.
    let of_m = by("m", "m");
    let command = by("command", r#"tee -a seen | sed -n 's/.*"m":\([-+0-9.eE]*\).*/\1/p'"#);
    assert_eq!(command.measured(), of_m.measured());
    assert_eq!(command.result()["score"], of_m.result()["score"]);

    let seen = fs::read_to_string(place.path("seen")).unwrap();
    let last: Value = serde_json::from_str(seen.lines().last().unwrap()).unwrap();
    let names = ["runtime", "rss", "rss_max", "swap", "p", "m", "worst"];
    assert!(names.iter().all(|name| last[name].is_number()), "{last}");
    assert_eq!(number(&last, "/orig/rss"), 64.0 * MIB);
    let saved = 1.0 - number(&last, "/rss") / number(&last, "/orig/rss");
    assert!((saved - number(&last, "/m")).abs() < 1e-9, "{last}");
}

#[test]
fn the_limit_goes_by_simulated_time() {
    let place = Place::new("daos");
    for method in ["gp", "poly"] {
        let args = ["--limit", "40s", "--param", RANGE, "--method", method];
        let kept = tuned(&place, method, &args);
        let took: Vec<f64> = kept.samples().iter().map(|s| number(s, "/took_s")).collect();
        let (sum, longest) = (took.iter().sum::<f64>(), took.iter().copied().fold(0.0, f64::max));
        assert!(sum <= 40.0 + longest, "{took:?}");
        assert!(sum >= 40.0 - 2.0 * longest, "time was left: {took:?}");
        assert!((sum - number(&kept.result(), "/took_s")).abs() < 1e-6);
    }
    // Whichever comes first.
    let kept = tuned(&place, "both", &["--limit", "40s", "--samples", "3"]);
    assert_eq!(kept.samples().len(), 3);
}

#[test]
fn a_sweep_measures_every_point_and_names_the_shape() {
    let place = Place::new("daos");
    let args = ["--sweep", "min_age=0s..2s/0.5s", "--repeat", "3"];
    let ran = tune(&place, &args).succeeded();
    let stdout = String::from_utf8(ran.stdout).unwrap();
    assert!(stdout.contains("shape 1: rises throughout"), "{stdout}");
    let kept = Kept(place.path("daos.tune"));
    kept.assert_pictures();
    let samples = kept.samples();
    for point in [0.0, 0.5e6, 1e6, 1.5e6, 2e6] {
        let there = samples.iter().filter(|sample| sample["at"] == json!([point]));
        assert_eq!(there.count(), 3, "at {point}");
    }
    let baselines = samples.iter().filter(|sample| sample["at"].is_null()).count();
    assert_eq!(samples.len(), 15 + baselines);
    let result = kept.result();
    assert_eq!(result["shape"], 1, "{result}");
    assert!((0.8..=1.0).contains(&number(&result, "/explained")), "{result}");
    assert!(number(&result, "/point/0") <= 0.5e6, "{result}");
}
