//! A program that does the same work each time it is run.

use crate::error::EvalError;
use std::fs;
use std::path::Path;

/// A program to tune for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What it is called.
    pub name: String,
    /// What it does, in words that follow its name.
    pub about: String,
    /// What starts it. The process that is started has to be the one that uses the memory.
    pub command: Vec<String>,
}

impl Program {
    /// A command line.
    pub fn of_command(command: &[String]) -> Self {
        let name = Path::new(command.first().map_or("", String::as_str)).file_name();
        Self {
            name: name.unwrap_or_default().to_string_lossy().into_owned(),
            about: command.join(" "),
            command: command.to_vec(),
        }
    }

    /// The scripts in a directory whose names end in `.sh`, by name, to be run by `sh`. The
    /// first line of each that is a comment, below `#!`, says what it does.
    ///
    /// # Errors
    ///
    /// There are none, or the directory or one of them can't be read.
    pub fn all_in(dir: &Path) -> Result<Vec<Self>, EvalError> {
        let failed = |path: &Path, why| EvalError::Programs { path: path.to_owned(), why };
        let mut programs = Vec::new();
        for entry in fs::read_dir(dir).map_err(|err| failed(dir, err))? {
            let path = entry.map_err(|err| failed(dir, err))?.path();
            if path.extension().is_none_or(|extension| extension != "sh") {
                continue;
            }
            let text = fs::read_to_string(&path).map_err(|err| failed(&path, err))?;
            programs.push(Self {
                name: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                about: about(&text),
                command: vec!["sh".to_owned(), path.display().to_string()],
            });
        }
        if programs.is_empty() {
            return Err(EvalError::NoPrograms(dir.to_owned()));
        }
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(programs)
    }
}

/// The first comment of a script.
fn about(script: &str) -> String {
    let comments = script.lines().filter_map(|line| line.strip_prefix("# "));
    comments.map(|line| line.trim().trim_end_matches('.')).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scripts_of_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let none = Program::all_in(dir.path()).unwrap_err();
        assert!(none.to_string().contains("no program in"), "{none}");
        for (name, text) in
            [("b.sh", "#!/bin/sh\n# Sorts lines.\n# At length.\n"), ("a.sh", "true"), ("c.sql", "")]
        {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let programs = Program::all_in(dir.path()).unwrap();
        let names: Vec<&str> = programs.iter().map(|program| &*program.name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!((&*programs[0].about, &*programs[1].about), ("", "Sorts lines"));
        assert_eq!(programs[1].command[1], dir.path().join("b.sh").display().to_string());
        let missing = Program::all_in(&dir.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("none"), "{missing}");
    }

    #[test]
    fn a_command_is_called_as_its_program() {
        let program = Program::of_command(&["/bin/sleep".to_owned(), "1".to_owned()]);
        assert_eq!((&*program.name, &*program.about), ("sleep", "/bin/sleep 1"));
    }
}
