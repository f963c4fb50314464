//! Which actions of schemes work here and, for each that does not, what to do.

use super::Finding;
use daos_core::{Action, ActionSink};
use std::collections::BTreeMap;

/// All of them, as `sink` says; without one nothing can be acted on.
pub fn findings<S: ActionSink>(sink: Option<&S>) -> BTreeMap<&'static str, Finding> {
    let check = |action: Action| match sink {
        Some(sink) => sink.supports(action).map(|()| how(action).to_owned()),
        None => Err("needs ebpf-vaddr, see above".to_owned()),
    };
    Action::ALL.iter().map(|&action| (action.name(), check(action).into())).collect()
}

fn how(action: Action) -> &'static str {
    match action {
        Action::Willneed => "reads in again what was paged out",
        Action::Cold => "reclaim takes it first",
        Action::Hugepage => "MADV_COLLAPSE makes huge pages",
        Action::Nohugepage => "an advice on a part splits huge pages",
        Action::Pageout => "pages out to swap, and file pages",
        Action::Lock => "brings back what is in use, and keeps it from being reclaimed",
        Action::Stat => "counts, and does nothing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daos_sim::SimSpace;

    #[test]
    fn every_action_is_judged() {
        let none = findings::<SimSpace>(None);
        assert_eq!(none.len(), Action::ALL.len());
        assert!(none.values().all(|finding| !finding.ok));
        let config = daos_workload::Config::parse("a", "a, 1M\n\nrun\n1s\n").unwrap();
        let space = SimSpace::new(config, Default::default());
        assert!(findings(Some(&space)).values().all(|finding| finding.ok));
    }
}
