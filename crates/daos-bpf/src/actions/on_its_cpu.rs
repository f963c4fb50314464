//! Paging out on the CPU that the target runs on.
//!
//! For each page that goes by itself the kernel flushes the TLB of every CPU that the target runs
//! on. From its own CPU that interrupts nobody, and it takes half of the time or less. But the
//! target waits meanwhile, and another CPU that has nothing to do may take it over: so a call is
//! short, and before each we look where it runs by now. Where interrupts are cheap all is done from
//! wherever we are.

use crate::programs::Task;
use crate::vaddr::{VirtualMemory, WORTH_A_MOVE};
use daos_core::{AddrRange, HUGE_PAGE_SIZE, PAGE_SIZE};
use daos_linux::madvise::{Advice, Advised};

/// What it takes us to page out a page, in microseconds of CPU time. Measured, to compressed swap.
/// A target is not to wait for that where an interrupt costs it less, as on a bare machine.
const A_PAGE_US: f64 = 4.0;
/// Bytes in a call. Measured: with eight pages it takes a tenth less than with sixteen, with 48 a
/// quarter more.
const IN_A_CALL: u64 = 16 * PAGE_SIZE;

impl VirtualMemory {
    /// Pages out sorted `ranges`. A huge page takes one flush, which is not worth to have the
    /// target wait for the rest.
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
