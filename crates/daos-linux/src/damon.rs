//! Notices the kernel's own DAMON. Reads only.

use std::fs;
use std::path::Path;

/// The kernel DAMON threads that are on, each as `kdamond N, OPERATIONS`. `sys` is
/// `/sys`, or a test's tree.
pub fn running(sys: &Path) -> Vec<String> {
    let kdamonds = sys.join("kernel/mm/damon/admin/kdamonds");
    let Ok(entries) = fs::read_dir(kdamonds) else { return Vec::new() };
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
        assert!(running(Path::new("/nonexistent")).is_empty());
    }
}
