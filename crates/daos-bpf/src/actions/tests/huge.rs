//! Hugepage and nohugepage.

use super::*;
use test_tag::tag;

#[tag(root, quiet)]
#[test]
fn blocks_become_huge_and_what_was_absent_is_bloat() {
    let _policy = ThpPolicy::set("never");
    // The second block is half there.
    let fills = |page| page < 512 || page % 2 == 0;
    let target = Target::start(Making { fills, advice: 0, ..Making::pages(2 * HUGE) });
    let mut actor = Actor::on(&target);
    let report = actor.apply(Action::Hugepage, &[target.memory]);
    assert_eq!(report.applied_bytes, 2 * HUGE, "{report:?}");
    assert_eq!(report.applied, [target.memory]);
    assert_eq!(report.bloat_bytes, bytes(256) as i64);
    assert_eq!(report.refused, []);
    assert_eq!(target.huge_bytes(), 2 * HUGE);
    assert_eq!(actor.apply(Action::Hugepage, &[target.memory]), ActionReport::default());
    assert!(target.is_intact());
}

#[tag(root, quiet)]
#[test]
fn who_wants_no_huge_pages_gets_none() {
    let target = Target::start(Making::pages(2 * HUGE));
    let mut actor = Actor::on(&target);
    let all_but_a_page = target.range(1, 1023);
    let report = actor.apply(Action::Hugepage, &[all_but_a_page]);
    assert_eq!(report.refused, [(Refusal::Unsuitable, all_but_a_page.len())], "{report:?}");
    assert_eq!((report.applied_bytes, target.huge_bytes()), (0, 0));
}

#[tag(root, quiet)]
#[test]
fn huge_pages_are_split_and_what_was_never_used_is_given_back() {
    let _zram = Zram::start(64 << 20);
    let _policy = ThpPolicy::set("madvise");
    let fills = |page| page % 4 == 0;
    let target = Target::start(Making { fills, ..Making::huge(2 * HUGE) });
    assert_eq!(target.huge_bytes(), 2 * HUGE);
    let mut actor = Actor::on(&target);
    let report = actor.apply(Action::Nohugepage, &[target.memory]);
    assert_eq!(report.applied_bytes, 2 * HUGE, "{report:?}");
    assert_eq!(report.applied, [target.memory]);
    assert_eq!(report.bloat_bytes, -(bytes(3 * 256) as i64), "{report:?}");
    assert_eq!(target.huge_bytes(), 0);
    assert_eq!(target.resident_bytes(), bytes(256));
    assert_eq!(actor.apply(Action::Nohugepage, &[target.memory]), ActionReport::default());
    assert!(target.is_intact());
}

#[tag(root, quiet)]
#[test]
fn part_of_a_huge_page_or_a_shared_one_is_not_split() {
    let _policy = ThpPolicy::set("madvise");
    let target = Target::start(Making::huge(2 * HUGE));
    let mut actor = Actor::on(&target);
    let report = actor.apply(Action::Nohugepage, &[target.range(1, 1023)]);
    assert_eq!(report.refused, [(Refusal::Unsuitable, bytes(511))], "{report:?}");
    assert_eq!(target.huge_bytes(), HUGE);

    let target = Target::start(Making { shared: true, ..Making::huge(HUGE) });
    let mut actor = Actor::on(&target);
    let report = actor.apply(Action::Nohugepage, &[target.memory]);
    assert_eq!(report.refused, [(Refusal::Shared, HUGE)], "{report:?}");
    assert_eq!(target.huge_bytes(), HUGE);
}
