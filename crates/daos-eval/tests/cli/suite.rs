//! `daos-eval suite` and `compare`: what they say without running anything, what they refuse,
//! and that the same runs give the same tables.

use daos_testing::{Place, built};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Writes an evaluation down: of two programs, four runs of each in two configurations, those
/// of `prcl` slower by `slow` percent.
fn evaluation(dir: &Path, slow: f64) {
    fs::create_dir_all(dir).unwrap();
    let named = |name: &str| json!({ "name": name, "about": "", "definition": name });
    let machine = json!({ "kernel": "6.1", "processor": "P", "cpus": 2, "memory_bytes": 1 << 30 });
    let header = json!({
        "version": 1, "machine": machine, "zram_bytes": 1 << 30,
        "workloads": [named("one"), named("two")],
        "configurations": [named("orig"), named("prcl")],
    });
    fs::write(dir.join("evaluation.json"), header.to_string()).unwrap();
    let mut lines = String::new();
    for (workload, seconds) in [("one", 10.0), ("two", 20.0)] {
        for round in 0..4 {
            for (config, factor, mib) in [("orig", 1.0, 200), ("prcl", 1.0 + slow / 100.0, 50)] {
                let runtime_s = seconds * factor + 0.01 * f64::from(round);
                let run = json!({
                    "workload": workload, "config": config, "round": round, "at": 0,
                    "runtime_s": runtime_s, "user_s": runtime_s, "system_s": 0.1,
                    "rss_bytes": mib << 20, "memused_bytes": mib << 20, "swap_bytes": 0.0,
                    "huge_bytes": 0.0, "daos_cpu_s": 0.1, "daos_rss_bytes": 12 << 20,
                });
                lines += &format!("{run}\n");
            }
        }
    }
    fs::write(dir.join("runs.jsonl"), lines).unwrap();
}

#[test]
fn what_would_run() {
    let place = Place::new("daos-eval");
    let said = |args: &[&str]| {
        let ran = place.run(&[&["suite"], args].concat()).succeeded();
        String::from_utf8(ran.stdout).unwrap()
    };
    let list = said(&["--list"]);
    assert!(list.contains("\n  sqlite ") && list.contains("\n  pprcl "), "{list}");
    let dry = said(&["--dry-run", "--only", "matrix,xz", "--configs", "orig,thp", "--runs", "3"]);
    assert!(dry.contains("xz -9") && dry.contains("12 runs: about"), "{dry}");
    let text = "[[workload]]\nname = \"mine\"\ncommand = \"sleep 1\"\nseconds = 1\n";
    fs::write(place.path("mine.toml"), text).unwrap();
    let dry = said(&["--dry-run", "--suite", "mine.toml", "--configs", "orig,x=prcl"]);
    assert!(dry.contains("sleep 1") && dry.contains("--scheme=prcl"), "{dry}");
    assert!(dry.contains("--pid=PID") && !dry.contains("--pid=0"), "{dry}");
    assert_eq!(place.files(), ["load.cfg", "mine.toml"]);
}

#[test]
fn what_makes_no_sense() {
    let place = Place::new("daos-eval");
    let suite = |args: &[&'static str]| [&["suite"], args].concat();
    place.misused(&suite(&["--configs", "prlc", "--out", "x"]), "there is no configuration");
    place.misused(&suite(&["--configs", "rec,rec", "--out", "x"]), "twice");
    place.misused(&suite(&["--only", "nothing", "--out", "x"]), "there are sqlite");
    place.misused(&suite(&["--configs", "limit", "--dry-run"]), "add prcl");
    // Also where there is one CPU, and so no pair of anything.
    place.misused(&suite(&["--configs", "thp", "--pairs", "--dry-run"]), "--pairs out");
    place.misused(&suite(&["--", "true"]), "--out DIR");
    place.misused(&suite(&["--only", "xz", "--", "true"]), "cannot be used with");
    place.misused(&suite(&["--report"]), "--out");
    place.cannot(&suite(&["--suite", "none.toml", "--list"]), "cannot read none.toml");
    place.cannot(&suite(&["--report", "--out", "none"]), "none/evaluation.json");
    place.cannot(&["compare", "none", "none"], "none/evaluation.json");
    let text = "[[workload]]\nname = \"a\"\ncommand = \"x\"\nneeds = [\"no-such-program\"]\npackages = [\"such\"]";
    fs::write(place.path("a.toml"), text).unwrap();
    let ran = suite(&["--suite", "a.toml", "--configs", "orig", "--out", "x"]);
    place.cannot(&ran, "apt install --no-install-recommends such");
    assert!(!place.path("x").exists());
}

#[test]
fn the_same_runs_give_the_same_tables() {
    let place = Place::new("daos-eval");
    evaluation(&place.path("a"), 20.0);
    let report = ["suite", "--report", "--out", "a"];
    let first = place.run(&report).succeeded();
    let text = String::from_utf8(first.stdout).unwrap();
    assert!(text.contains("one      10.015  12.015  (19.97)"), "{text}");
    assert!(text.contains("prcl: resident sets change by -75.00 % in total"), "{text}");
    let read = || {
        ["md", "json", "html"]
            .map(|end| fs::read(place.path("a/report").with_extension(end)).unwrap())
    };
    let before = read();
    assert_eq!(place.run(&report).succeeded().stdout, text.as_bytes());
    assert_eq!(read(), before);
}

#[test]
fn records_that_were_kept_are_shown() {
    let place = Place::new("daos-eval");
    evaluation(&place.path("a"), 20.0);
    let page = |files: &[&str]| {
        let text = place.run(&["suite", "--report", "--out", "a"]).succeeded();
        let text = String::from_utf8(text.stdout).unwrap();
        let files: Vec<String> = files.iter().map(|file| format!("a/records/one/{file}")).collect();
        let line = format!("prcl, one: {}", files.join(", "));
        assert_eq!(text.contains(&line), !files.is_empty(), "{text}");
        let page = fs::read_to_string(place.path("a/report.html")).unwrap();
        assert!(page.contains(&line) || files.is_empty(), "{page}");
        page
    };
    assert!(!page(&[]).contains("What was recorded"));
    let dir = place.path("a/records/one");
    fs::create_dir_all(&dir).unwrap();
    let mut record = Command::new(built("daos"));
    record.args(["record", "--quiet", "--sim", "load.cfg", "-o"]).arg(dir.join("prcl-1.daos"));
    assert!(record.current_dir(place.path("")).status().unwrap().success());
    // Of the second run there is none, and a fifth was not made.
    fs::write(dir.join("prcl-3.daos"), "").unwrap();
    fs::write(dir.join("prcl-5.daos"), "").unwrap();
    let shown = page(&["prcl-1.daos", "prcl-3.daos"]);
    assert_eq!(shown.matches("<img alt=\"\" src=\"data:image/svg+xml,%3Csvg xmlns=").count(), 2);
    assert!(shown.contains("Memory accesses of ") && shown.contains("Working set of "));
    // What can't be read is told, and all else is shown.
    fs::remove_file(dir.join("prcl-1.daos")).unwrap();
    let shown = page(&["prcl-3.daos"]);
    assert!(shown.contains("<p class=\"failed\">") && !shown.contains("<img"), "{shown}");
}

#[test]
fn pairs_are_compared_with_what_ran_beside_them() {
    let place = Place::new("daos-eval");
    evaluation(&place.path("a"), 20.0);
    let header = fs::read_to_string(place.path("a/evaluation.json")).unwrap();
    let mut header: Value = serde_json::from_str(&header).unwrap();
    header["pairs"] = json!(true);
    fs::write(place.path("a/evaluation.json"), header.to_string()).unwrap();
    let lines = fs::read_to_string(place.path("a/runs.jsonl")).unwrap();
    let runs = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (alone, others): (Vec<Value>, Vec<Value>) = runs.partition(|run| run["config"] == "orig");
    let mut lines = String::new();
    for (mut run, beside) in others.into_iter().zip(alone) {
        run["beside"] = beside;
        lines += &format!("{run}\n");
    }
    // A run that failed has none beside it.
    lines +=
        "{\"workload\":\"one\",\"config\":\"prcl\",\"round\":4,\"at\":0,\"failed\":\"alas\"}\n";
    fs::write(place.path("a/runs.jsonl"), lines).unwrap();
    let text = place.run(&["suite", "--report", "--out", "a"]).succeeded();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("4 pairs of each") && text.contains("one, prcl: alas"), "{text}");
    // Four pairs are too few to tell.
    assert!(text.contains("one      10.015  12.015  (19.97 ?)"), "{text}");
    assert!(!text.contains("memused.avg"), "{text}");
    assert!(
        text.contains("prcl: resident sets change by -75.00 % in total (-75.00 % on average);")
    );
}

#[test]
fn two_evaluations_are_compared() {
    let place = Place::new("daos-eval");
    evaluation(&place.path("a"), 20.0);
    evaluation(&place.path("b"), 5.0);
    let text = place.run(&["compare", "a", "b"]).succeeded();
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("10.015   (0.00 ~)    12.015   10.515   (-12.48)"), "{text}");
    // Whatever a directory is called, it hides nothing.
    fs::rename(place.path("b"), place.path("tables")).unwrap();
    let json = place.run(&["compare", "a", "tables", "--format", "json"]).succeeded().json();
    let cell = &json["tables"][0]["rows"][1]["columns"]["prcl, tables"];
    assert_eq!(cell["verdict"], "beyond_noise", "{json}");
    let of = |evaluation: &Value| {
        (evaluation["directory"].clone(), evaluation["runs"].as_array().map(Vec::len))
    };
    let both: Vec<_> = json["evaluations"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(both, [("a".into(), Some(16)), ("tables".into(), Some(16))]);
}

/// Needs Debian's `chromium`: `cargo test -p daos-eval --test cli -- --ignored`.
#[test]
#[ignore = "needs chromium"]
fn the_page_in_a_browser_in_light_and_in_dark() {
    let place = Place::new("daos-eval");
    evaluation(&place.path("a"), 20.0);
    place.run(&["suite", "--report", "--out", "a"]).succeeded();
    // What the page came to goes where it can be read.
    let script = "<script>document.title = [getComputedStyle(document.body).backgroundColor, \
        getComputedStyle(document.querySelector('svg .c0')).fill, \
        document.querySelectorAll('svg circle').length, \
        document.querySelectorAll('table').length, \
        document.documentElement.scrollWidth <= innerWidth].join('; ')</script>";
    let page = fs::read_to_string(place.path("a/report.html")).unwrap();
    let watched = place.path("page.html");
    fs::write(&watched, page.replace("</body>", &format!("{script}</body>"))).unwrap();
    let title = |scheme: &str| {
        let mut chromium = Command::new("chromium");
        chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
        chromium.arg(format!("--user-data-dir={}", place.path("profile").display()));
        chromium.arg(format!("--blink-settings=preferredColorScheme={scheme}"));
        let output = chromium.arg(format!("file://{}", watched.display())).output();
        let page = String::from_utf8(output.expect("chromium runs").stdout).unwrap();
        let title = page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
        title.unwrap_or_else(|| panic!("{page}")).0.to_owned()
    };
    // 0 is dark, 1 is light.
    assert_eq!(title("1"), "rgb(255, 255, 255); rgb(42, 111, 187); 24; 17; true");
    assert_eq!(title("0"), "rgb(20, 24, 28); rgb(106, 169, 238); 24; 17; true");
}
