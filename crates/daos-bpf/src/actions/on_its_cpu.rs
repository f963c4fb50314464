//! Paging out on the CPU that the target runs on.
//!
//! For each small page that it pages out, the kernel flushes the TLB of every CPU that the target
//! runs on. If we make the call on the target's own CPU, that interrupts nobody, and takes half of
//! the time or less. But then the target waits for us, or is moved to an idle CPU. So calls are
//! short, and before each we look on which CPU the target is now. Where interrupts are cheap, we
//! stay on the CPU that we are on.

use crate::programs::Task;
use crate::vaddr::{VirtualMemory, WORTH_A_MOVE};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};
use daos_linux::madvise::{Advice, Advised};

/// CPU time in microseconds that it takes us to page out a page, measured with compressed swap.
/// Where an interrupt costs the target less, as outside of virtual machines, it is interrupted and
/// does not wait.
const A_PAGE_US: f64 = 4.0;
/// Bytes in a call: 16 pages. Measured: with eight pages in a call, paging out takes a tenth less,
/// with 48 a quarter more.
const IN_A_CALL: u64 = 16 * PAGE_SIZE;

impl VirtualMemory {
    /// Pages out sorted `ranges`. Huge pages first, from wherever we are: each takes only one
    /// flush, which is not worth having the target wait for all the rest of it.
    pub(super) fn page_out_on_its_cpu(
        &mut self,
        at: usize,
        task: &Task,
        ranges: &[AddrRange],
    ) -> Advised {
        let (huge, small): (Vec<AddrRange>, Vec<AddrRange>) =
            ranges.iter().partition(|range| range.len() >= HUGE_PAGE_SIZE);
        let process = &self.spaces[at].process;
        let mut advised = process.advise(Advice::Pageout, &huge);
        let (reader, placement) = (&mut self.reader, &mut self.placement);
        let pages: u64 = small.iter().map(AddrRange::pages).sum();
        let are_dear = self.target_cost.of_an_interrupt_us() > A_PAGE_US;
        let is_worth_it = are_dear && pages >= WORTH_A_MOVE as u64;
        let most = if is_worth_it { IN_A_CALL } else { u64::MAX };
        let small: Vec<_> = small.iter().flat_map(|range| range.blocks(most)).collect();
        let follow = || {
            if is_worth_it && let Ok(Some(there)) = reader.whereabouts(task) {
                there.follow(placement);
            }
        };
        advised.add(process.advise_in_steps(Advice::Pageout, &small, IN_A_CALL, follow));
        self.placement.follow(None);
        advised
    }
}
