//! Memory that is not any more what it was when it was chosen.

use super::*;
use test_tag::tag;

#[tag(root, quiet)]
#[test]
fn another_mapping_in_its_place_is_left() {
    let _zram = Zram::start(64 << 20);
    let target = Target::start(Making::pages(4 * HUGE));
    // All that is known of its mappings is from before.
    let mut actor = Actor::on(&target);
    target.replace_by_shared();
    for action in [Action::Pageout, Action::Cold, Action::Hugepage, Action::Lock] {
        let report = actor.apply(action, &[target.memory]);
        assert_eq!(report.refused, [(Refusal::Unsuitable, 4 * HUGE)], "{action}");
        assert_eq!(report.applied_bytes, 0);
    }
    assert_eq!(target.count(PageState::Present), 2048);
    drop(actor);
    let report = Actor::on(&target).apply(Action::Pageout, &[target.memory]);
    // A few were written just before, and are not on a list yet.
    assert!(report.applied_bytes > 3 * HUGE, "known to be shared memory: {report:?}");
}

#[tag(root, quiet)]
#[test]
fn pages_in_use_again_are_not_idle() {
    let _zram = Zram::start(64 << 20);
    let target = Target::start(Making::pages(2 * HUGE));
    let mut actor = Actor::on(&target);
    let apply = |actor: &mut Actor| {
        let report = actor.sink.apply_to_idle(Action::Pageout, actor.id, &[target.memory]);
        report.expect("the programs run")
    };
    let report = apply(&mut actor);
    assert_eq!(report.applied_bytes + report.spared_bytes, 2 * HUGE, "{report:?}");
    // Of a few another monitor of the machine may have cleared the bits.
    assert!(report.applied_bytes < HUGE / 16, "{report:?}");
    // Twice: what was just written may not be on a list yet, and keeps its bits.
    (0..2).for_each(|_| drop(actor.apply(Action::Cold, &[target.memory])));
    let report = apply(&mut actor);
    // A few of those may wait to be moved from one list to another, and stay.
    assert!(report.applied_bytes + report.spared_bytes > 2 * HUGE - HUGE / 8, "{report:?}");
    assert!(report.applied_bytes > HUGE, "{report:?}");
}
