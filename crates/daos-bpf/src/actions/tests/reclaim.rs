//! Pageout, cold and willneed.

use super::*;
use test_tag::tag;

#[tag(root, quiet)]
#[test]
fn pageout_takes_what_is_asked_for_and_no_neighbours() {
    let _zram = Zram::start(64 << 20);
    let target = Target::start(Making::pages(4 * HUGE));
    let mut actor = Actor::on(&target);
    // Every fourth page, and a run across tables.
    let mut ranges: Vec<_> = (0..256).step_by(4).map(|page| target.range(page, 1)).collect();
    ranges.push(target.range(400, 700));
    let report = actor.apply(Action::Pageout, &ranges);
    assert_eq!(report.applied_bytes, bytes(64 + 700), "{report:?}");
    assert_eq!(report.applied, ranges);
    assert_eq!(report.refused, []);
    let asked = |page| page < 256 && page % 4 == 0 || (400..1100).contains(&page);
    for (page, state) in target.pages().into_iter().enumerate() {
        let expected = if asked(page) { PageState::Swapped } else { PageState::Present };
        assert_eq!(state, expected, "page {page}");
    }

    let again = actor.apply(Action::Pageout, &ranges);
    assert_eq!(again, ActionReport::default(), "what is paged out is not asked for again");
    assert!(target.is_intact());
    assert_eq!(target.count(PageState::Swapped), 0);
}

#[tag(root, quiet)]
#[test]
fn of_a_busy_target_pages_go_one_by_one_and_we_stay_on_no_cpu() {
    let _zram = Zram::start(64 << 20);
    let target = Target::start(Making { in_use: true, ..Making::pages(4 * HUGE) });
    let mut actor = Actor::on(&target);
    let allowed = || rustix::thread::sched_getaffinity(None).expect("this thread is there");
    let before = allowed();
    let ranges: Vec<_> = (0..2048).step_by(2).map(|page| target.range(page, 1)).collect();
    let report = actor.apply(Action::Pageout, &ranges);
    // Some, or all, it brings in again before they are counted.
    let kept: u64 = report.refused.iter().map(|(_, bytes)| bytes).sum();
    assert!(report.refused.iter().all(|(why, _)| *why == Refusal::Kept), "{report:?}");
    assert_eq!(report.applied_bytes + kept, bytes(1024), "{report:?}");
    assert_eq!(allowed(), before);
}

#[tag(root, quiet)]
#[test]
fn memory_that_may_not_be_accessed_now_is_there_all_the_same() {
    let _zram = Zram::start(64 << 20);
    let _policy = ThpPolicy::set("madvise");
    for making in [Making::pages(2 * HUGE), Making::huge(2 * HUGE)] {
        let target = Target::start(making);
        let mut actor = Actor::on(&target);
        target.hide();
        actor.sink.targets().expect("it runs");
        assert_eq!(
            actor.seen(&target),
            [Nearly::All, Nearly::All, Nearly::None],
            "it wrote to all of it"
        );
        actor.arm(&target);
        assert_eq!(actor.seen(&target), [Nearly::All, Nearly::None, Nearly::None]);
        target.show();
        assert_eq!(actor.seen(&target), [Nearly::All, Nearly::None, Nearly::None]);
        assert!(target.is_intact(), "it reads all of it");
        assert_eq!(actor.seen(&target), [Nearly::All, Nearly::All, Nearly::None]);

        target.hide();
        actor.sink.targets().expect("it runs");
        let report = actor.apply(Action::Pageout, &[target.memory]);
        let gone = (report.applied_bytes / PAGE_SIZE) as u32;
        assert_eq!(Nearly::of(gone, 1024), Nearly::All, "{report:?}");
        target.show();
        assert!(target.is_intact());
    }
}

#[tag(root, quiet)]
#[test]
fn a_locked_page_hides_none_of_those_beside_it() {
    let target = Target::start(Making::pages(HUGE));
    target.lock_a_page();
    let mut actor = Actor::on(&target);
    for _ in 0..3 {
        actor.arm(&target);
        assert_eq!(actor.seen(&target), [Nearly::All, Nearly::None, Nearly::None]);
        assert!(target.is_intact(), "it reads all of it");
        assert_eq!(actor.seen(&target), [Nearly::All, Nearly::All, Nearly::None]);
    }
}

#[tag(root, quiet)]
#[test]
fn what_comes_back_is_told() {
    let _zram = Zram::start(64 << 20);
    let mut target = Target::start(Making::pages(2 * HUGE));
    let mut actor = Actor::on(&target);
    let out = [target.range(10, 20), target.range(700, 30)];
    assert_eq!(actor.apply(Action::Pageout, &out).applied, out);
    // From the first page on to the last, with what was not paged out between them.
    let asked = [target.range(10, 502), target.range(512, 218)];
    let kept = [target.range(30, 670)];
    let residence = actor.sink.residence(actor.id, &asked).unwrap();
    assert_eq!((&residence.present[..], &residence.empty[..]), (&kept[..], &[][..]));

    assert!(target.is_intact(), "which it can only say by looking at all");
    let residence = actor.sink.residence(actor.id, &asked).unwrap();
    assert_eq!(residence.present, [target.range(10, 720)]);
    target.kill();
    assert_eq!(actor.sink.residence(actor.id, &asked).unwrap().present, []);
}

#[tag(root, quiet)]
#[test]
fn memory_that_others_map_is_left() {
    let _zram = Zram::start(64 << 20);
    let target = Target::start(Making { shared: true, ..Making::pages(HUGE) });
    let mut actor = Actor::on(&target);
    for action in [Action::Pageout, Action::Cold] {
        let report = actor.apply(action, &[target.memory]);
        assert_eq!(report.refused, [(Refusal::Shared, HUGE)], "{action}");
        assert_eq!(report.applied_bytes, 0);
    }
    assert_eq!(actor.sink.shared(actor.id, &[target.memory]).unwrap(), [target.memory]);
    assert_eq!(target.count(PageState::Present), 512);
    assert!(target.is_intact());
}

#[tag(root, quiet)]
#[test]
fn locked_memory_is_left() {
    let _zram = Zram::start(64 << 20);
    let target = Target::start(Making { locked: true, ..Making::pages(HUGE) });
    let mut actor = Actor::on(&target);
    for action in [Action::Pageout, Action::Cold] {
        let report = actor.apply(action, &[target.memory]);
        assert_eq!(report.refused, [(Refusal::Unsuitable, HUGE)], "{action}");
        assert_eq!(report.applied_bytes, 0);
    }
    assert_eq!(target.count(PageState::Present), 512);
}

#[tag(root, quiet)]
#[test]
fn locked_memory_is_not_made_huge_to_be_paged_out() {
    let (_zram, _policy) = (Zram::start(64 << 20), ThpPolicy::set("madvise"));
    // Where none were asked for, nor refused.
    let making = |locked| Making { locked, advice: libc::MADV_NORMAL, ..Making::pages(2 * HUGE) };
    let target = Target::start(making(true));
    let report = Actor::on(&target).apply(Action::Pageout, &[target.memory]);
    assert_eq!(report.refused, [(Refusal::Unsuitable, 2 * HUGE)]);
    assert_eq!(target.huge_bytes(), 0);
    let target = Target::start(making(false));
    let report = Actor::on(&target).apply(Action::Pageout, &[target.memory]);
    assert_eq!(report.applied_bytes, 2 * HUGE, "{report:?}");
}

#[tag(root, quiet)]
#[test]
fn a_huge_page_is_paged_out_in_part() {
    let _zram = Zram::start(64 << 20);
    let _policy = ThpPolicy::set("madvise");
    let target = Target::start(Making::huge(2 * HUGE));
    let mut actor = Actor::on(&target);
    let report = actor.apply(Action::Pageout, &[target.range(100, 200)]);
    assert_eq!(report.applied_bytes, bytes(200), "{report:?}");
    assert_eq!(target.count(PageState::Swapped), 200);
    assert!(target.is_intact(), "and so it is accessed now");
    let report = actor.apply(Action::Cold, &[target.range(600, 200)]);
    let expected: &[_] = &[(Refusal::Unsuitable, bytes(200))];
    assert_eq!(report.refused, expected, "{report:?}: to make it cold is no reason to split it");
    assert!(target.is_intact());
}

#[tag(root, quiet)]
#[test]
fn swap_that_is_full_is_no_room() {
    let _others = OtherSwap::off();
    let zram = Zram::start(4 << 20);
    let target = Target::start(Making::pages(8 * HUGE));
    let mut actor = Actor::on(&target);
    let report = actor.apply(Action::Pageout, &[target.memory]);
    let swapped = target.count(PageState::Swapped) as u64;
    assert_eq!(report.applied_bytes, bytes(swapped), "{report:?}");
    assert!((500..1024).contains(&swapped), "{swapped} pages in 4 MiB");
    assert_eq!(report.refused, [(Refusal::NoRoom, 8 * HUGE - bytes(swapped))]);
    assert!(target.is_intact());
    drop(zram);
    // Whatever is without swap is kept, too.
    let report = actor.apply(Action::Pageout, &[target.memory]);
    assert_eq!(report.refused, [(Refusal::NoRoom, 8 * HUGE)]);
    assert!(actor.sink.supports(Action::Pageout).unwrap_err().contains("no swap"));
}

#[tag(root, quiet)]
#[test]
fn a_target_that_ends_meanwhile_is_gone() {
    let _zram = Zram::start(256 << 20);
    for delay_us in [0, 300, 1000, 3000, 10_000] {
        let mut target = Target::start(Making::pages(8 * HUGE));
        let mut actor = Actor::on(&target);
        let kill = target.killer();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_micros(delay_us));
            kill();
        });
        let report = actor.apply(Action::Pageout, &[target.memory]);
        killer.join().expect("it kills");
        let left: u64 = report.refused.iter().map(|(_, bytes)| bytes).sum();
        assert!(report.applied_bytes + left <= 8 * HUGE, "{report:?}");
        target.kill();
        for &action in Action::ALL.iter().filter(|&&action| action != Action::Stat) {
            let report = actor.apply(action, &[target.memory]);
            assert_eq!(report.refused, [(Refusal::Gone, 8 * HUGE)], "{action}");
        }
    }
}

#[tag(root, quiet)]
#[test]
fn cold_memory_is_made_cold_once() {
    let target = Target::start(Making::pages(2 * HUGE));
    let mut actor = Actor::on(&target);
    let most = bytes(1000);
    let report = actor.apply(Action::Cold, &[target.memory]);
    // Pages that were just written may not be on a list yet.
    assert!(report.applied_bytes >= most && report.refused.is_empty(), "{report:?}");
    let again = actor.apply(Action::Cold, &[target.memory]).applied_bytes;
    assert!(again <= 2 * HUGE - most, "{again} bytes are cold already");
    assert!(target.is_intact());
    let report = actor.apply(Action::Cold, &[target.memory]);
    assert!(report.applied_bytes >= most, "it was accessed again: {report:?}");
}

#[tag(root, quiet)]
#[test]
fn what_is_paged_out_is_read_in_once() {
    let _zram = Zram::start(64 << 20);
    let target = Target::start(Making::pages(2 * HUGE));
    let mut actor = Actor::on(&target);
    actor.apply(Action::Pageout, &[target.range(0, 300)]);
    assert_eq!(target.count(PageState::Swapped), 300);
    let swap_cached = || daos_linux::host::meminfo("/proc".as_ref(), "SwapCached").unwrap();
    let before = swap_cached();
    let report = actor.apply(Action::Willneed, &[target.memory]);
    assert_eq!(report.applied, [target.range(0, 300)]);
    assert!(swap_cached() >= before + bytes(200), "{} from {before}", swap_cached());
    assert_eq!(actor.apply(Action::Willneed, &[target.memory]), ActionReport::default());
    assert!(target.is_intact());
}
