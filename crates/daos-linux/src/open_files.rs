//! The limit on open files: each target takes a few, and there may be thousands.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit on open files is as high as this process may set it, until this is dropped. A
/// command that is started meanwhile inherits it, so start commands before.
#[derive(Debug)]
pub struct RaisedOpenFiles {
    before: Rlimit,
}

impl RaisedOpenFiles {
    /// Raises it. Where that is not allowed, it stays as it is.
    pub fn raise() -> Self {
        let before = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: before.maximum, maximum: before.maximum };
        // What can't be raised is told when a file can't be opened.
        let _ = setrlimit(Resource::Nofile, raised);
        Self { before }
    }
}

impl Drop for RaisedOpenFiles {
    fn drop(&mut self) {
        // Lowering it is always allowed; files that are open stay open.
        let _ = setrlimit(Resource::Nofile, self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_raised_and_put_back() {
        let before = getrlimit(Resource::Nofile);
        let raised = RaisedOpenFiles::raise();
        assert_eq!(getrlimit(Resource::Nofile).current, before.maximum);
        drop(raised);
        assert_eq!(getrlimit(Resource::Nofile), before);
    }
}
