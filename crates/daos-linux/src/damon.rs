//! Notices the kernel's own DAMON. Reads only.

use std::fs;
use std::path::Path;

/// Modules of the kernel that run a DAMON of their own.
const MODULES: [&str; 3] = ["damon_reclaim", "damon_lru_sort", "damon_stat"];

/// The kernel DAMON threads that are on, each as `kdamond N, OPERATIONS`, or by the name of the
/// module that runs it. `sys` is `/sys`, or a test's tree.
pub fn running(sys: &Path) -> Vec<String> {
    let kdamonds = sys.join("kernel/mm/damon/admin/kdamonds");
    let entries = fs::read_dir(kdamonds).into_iter().flatten();
    let mut running: Vec<String> = entries
        .flatten()
        .filter(|entry| {
            fs::read_to_string(entry.path().join("state")).is_ok_and(|state| state.trim() == "on")
        })
        .map(|entry| {
            let operations = fs::read_to_string(entry.path().join("contexts/0/operations"));
            let operations = operations.unwrap_or_default();
            format!("kdamond {}, {}", entry.file_name().display(), operations.trim())
        })
        .collect();
    let is_enabled = |module: &&&str| {
        let enabled = sys.join("module").join(module).join("parameters/enabled");
        fs::read_to_string(enabled).is_ok_and(|enabled| enabled.trim() == "Y")
    };
    running.extend(MODULES.iter().filter(is_enabled).map(|module| (*module).to_owned()));
    running.sort();
    running
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_that_are_on() {
        let dir = tempfile::tempdir().unwrap();
        let admin = dir.path().join("kernel/mm/damon/admin/kdamonds");
        for (number, state) in [("0", "on\n"), ("1", "off\n")] {
            let context = admin.join(number).join("contexts/0");
            fs::create_dir_all(&context).unwrap();
            fs::write(admin.join(number).join("state"), state).unwrap();
            fs::write(context.join("operations"), "paddr\n").unwrap();
        }
        assert_eq!(running(dir.path()), ["kdamond 0, paddr"]);
        for (module, enabled) in [("damon_reclaim", "Y\n"), ("damon_stat", "N\n")] {
            let parameters = dir.path().join("module").join(module).join("parameters");
            fs::create_dir_all(&parameters).unwrap();
            fs::write(parameters.join("enabled"), enabled).unwrap();
        }
        assert_eq!(running(dir.path()), ["damon_reclaim", "kdamond 0, paddr"]);
        assert!(running(Path::new("/nonexistent")).is_empty());
    }
}
