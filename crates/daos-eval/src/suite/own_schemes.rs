//! Schemes of workloads' own: a configuration `NAME=DIR` has that of each in a file of `DIR`. What
//! they were is kept in the evaluation, which goes on with the same only.

use super::configuration::{Configuration, schemes};
use super::error::SuiteError;
use super::plan::Plan;
use super::store::Store;
use std::fs;
use std::path::{Path, PathBuf};

/// How names of files of schemes end.
const ENDS: [&str; 2] = [".scheme", ".toml"];

/// The configuration with the scheme of this workload, as it is kept, where it has one for each.
pub fn of_workload(
    store: &Store,
    configuration: &Configuration,
    workload: &str,
) -> Option<Configuration> {
    configuration.own_schemes()?;
    let (file, _) = find(&kept_in(store, &configuration.name), workload)?;
    Some(configuration.with_scheme(&file.to_string_lossy()))
}

impl Plan {
    /// Refuses a configuration that lacks the scheme of a workload.
    pub(super) fn check_own_schemes(&self) -> Result<(), SuiteError> {
        self.each_own(|_, _, _, _| Ok(()))
    }

    /// Keeps all of them, and refuses those that are others than before.
    pub(super) fn keep_own_schemes(&self, store: &Store) -> Result<(), SuiteError> {
        self.each_own(|name, workload, path, end| {
            let (dir, text) = (kept_in(store, name), read(path)?);
            match find(&dir, workload) {
                Some((kept, _)) if read(&kept)? == text => Ok(()),
                Some(_) if !store.measured(workload, name).is_empty() => {
                    let why = format!("has runs of {workload} with another scheme of {name}");
                    Err(SuiteError::Mismatch { path: store.dir().to_owned(), why })
                }
                before => {
                    if let Some((kept, _)) = before {
                        fs::remove_file(&kept)
                            .map_err(|why| SuiteError::Write { path: kept, why })?;
                    }
                    let kept = dir.join(format!("{workload}{end}"));
                    let made = kept.parent().map_or(Ok(()), fs::create_dir_all);
                    let written = made.and_then(|()| fs::write(&kept, text));
                    written.map_err(|why| SuiteError::Write { path: kept, why })
                }
            }
        })
    }

    /// Does something with each configuration, workload and file, and how the name of that ends.
    fn each_own(
        &self,
        mut with: impl FnMut(&str, &str, &Path, &str) -> Result<(), SuiteError>,
    ) -> Result<(), SuiteError> {
        for configuration in &self.configurations {
            let Some(dir) = configuration.own_schemes() else { continue };
            let name = &configuration.name;
            let wrong = |why| SuiteError::Configuration { name: name.clone(), why };
            for workload in self.suite.workloads.iter().map(|workload| &workload.name) {
                let file = dir.join(workload).display().to_string();
                let (path, end) = find(dir, workload)
                    .ok_or_else(|| wrong(format!("there is no {file}{}", ENDS.join(" or "))))?;
                schemes(&path.to_string_lossy()).map_err(wrong)?;
                with(name, workload, &path, end)?;
            }
        }
        Ok(())
    }
}

/// The file in `dir` that has the scheme of a workload, and how its name ends.
fn find(dir: &Path, workload: &str) -> Option<(PathBuf, &'static str)> {
    let files = ENDS.map(|end| (dir.join(format!("{workload}{end}")), end));
    files.into_iter().find(|(file, _)| file.is_file())
}

fn kept_in(store: &Store, configuration: &str) -> PathBuf {
    store.dir().join("schemes").join(configuration)
}

fn read(path: &Path) -> Result<Vec<u8>, SuiteError> {
    fs::read(path).map_err(|why| SuiteError::Read { path: path.to_owned(), why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Suite;
    use crate::suite::host::Machine;
    use crate::suite::plan::tests::plan_of;
    use crate::suite::store::{Header, Measured, Outcome, RawRun};

    const PRCL: &str = "4K max min min 5s max pageout";

    const HUGE: &str = r#"
[[scheme]]
size = ["2M", "max"]
frequency = ["5%", "max"]
age = ["min", "max"]
action = "hugepage"
"#;

    fn plan(dir: &Path) -> Plan {
        let text = "[[workload]]\nname = \"a/x\"\ncommand = \"x\"\n[[workload]]\nname = \"b.c\"\ncommand = \"x\"\n";
        fs::write(dir.join("suite.toml"), text).unwrap();
        let own = format!("own={}", dir.join("own").display());
        plan_of(Suite::read(&dir.join("suite.toml")).unwrap(), &[&own, "rec"], 1)
    }

    #[test]
    fn each_workload_has_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let own = dir.path().join("own");
        fs::create_dir_all(own.join("a")).unwrap();
        fs::write(own.join("a/x.scheme"), PRCL).unwrap();
        let plan = plan(dir.path());
        let why = plan.check(None).unwrap_err();
        assert!(why.is_usage() && why.to_string().contains("own/b.c.scheme or .toml"), "{why}");
        fs::write(own.join("b.c.scheme"), "4K max").unwrap();
        assert!(plan.check(None).unwrap_err().to_string().contains("b.c.scheme"));
        fs::remove_file(own.join("b.c.scheme")).unwrap();
        fs::write(own.join("b.c.toml"), HUGE).unwrap();
        plan.check(None).unwrap();

        let machine =
            Machine { kernel: "6".into(), processor: "x".into(), cpus: 1, memory_bytes: 1 };
        let store = Store::open(&dir.path().join("out"), Header::new(machine), &[], &[]).unwrap();
        plan.keep_own_schemes(&store).unwrap();
        let of = |workload| of_workload(&store, &plan.configurations[0], workload).unwrap();
        let words = of("a/x").words(7, Path::new("r"), 1).unwrap().join(" ");
        assert!(words.contains("out/schemes/own/a/x.scheme --seed=1 --pid=7"), "{words}");
        // There is swap for what pages out.
        assert!(of("a/x").swap.is_some() && of("b.c").swap.is_none());
        assert_eq!(of("a/x").about, plan.configurations[0].about);
        assert_eq!(of_workload(&store, &plan.configurations[1], "a/x"), None);
        // It goes on with the same.
        plan.keep_own_schemes(&store).unwrap();
        // Without runs of it, another is as good.
        fs::write(own.join("a/x.scheme"), PRCL.replace('5', "6")).unwrap();
        plan.keep_own_schemes(&store).unwrap();
        let kept = fs::read_to_string(dir.path().join("out/schemes/own/a/x.scheme")).unwrap();
        assert!(kept.contains('6'), "{kept}");
        let outcome = Outcome::Measured(Measured::default());
        let (workload, config) = ("a/x".to_owned(), "own".to_owned());
        let mut store = store;
        store.add(RawRun { workload, config, round: 0, at: 0, outcome, beside: None }).unwrap();
        plan.keep_own_schemes(&store).unwrap();
        fs::write(own.join("a/x.scheme"), PRCL).unwrap();
        let why = plan.keep_own_schemes(&store).unwrap_err().to_string();
        assert!(why.contains("a/x with another scheme of own; choose another --out"), "{why}");
    }
}
