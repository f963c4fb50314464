//! The bill, in a terminal.

use super::{Amounts, IDLE_US, Owner, Owners, WITHIN_US};
use crate::format::RenderError;
use crate::terminal::{Cell, Style, painted};
use daos_core::PageCache;
use daos_core::units::display;
use std::io::Write;

/// Lines at most. Chosen: a screen; data has them all.
const MOST: usize = 20;
/// What bars are made of: in use within five seconds, idle for that long, for a minute, for ten,
/// not seen. With the colour of each, of the palette of 256: from warm to cold, then grey.
const PARTS: [(char, char, u8, &str); 5] = [
    ('█', '#', 203, "in use within 5 s"),
    ('▓', '=', 179, "idle for 5 s"),
    ('▒', '-', 74, "1 min"),
    ('░', '.', 61, "10 min"),
    ('·', '?', 244, "not seen"),
];

/// Writes a line of numbers for each owner, and a bar.
pub fn write(owners: &Owners, style: &Style, out: &mut impl Write) -> Result<(), RenderError> {
    let watched = display::seconds(owners.watched_us);
    let processes: u32 = owners.owners.iter().map(|owner| owner.processes).sum();
    let noun = if processes == 1 { "process" } else { "processes" };
    let resident = display::bytes(owners.total.resident);
    writeln!(out, "Owners of memory: {processes} {noun} with {resident}, watched for {watched} s")?;
    if owners.owners.is_empty() {
        return Ok(());
    }
    let within = WITHIN_US.map(|us| format!("used {}", short(us)));
    let idle = IDLE_US.map(|us| format!("idle {}", short(us)));
    let heads = within.iter().chain(&idle).map(String::as_str);
    let heads = ["resident"].into_iter().chain(heads);
    let heads = heads.chain(["unseen", "anon", "file", "swapped"]);
    writeln!(out)?;
    heads.clone().try_for_each(|head| write!(out, "{head:>9}"))?;
    writeln!(out, "  owner")?;
    let shown = owners.owners.len().min(MOST);
    let rest = rest(&owners.owners[shown..]);
    let lines = || owners.owners[..shown].iter().chain(&rest);
    for owner in lines() {
        line(&owner.amounts, &owner.title(), out)?;
    }
    if owners.owners.len() > 1 {
        line(&owners.total, "all", out)?;
    }
    let most = lines().map(|owner| owner.amounts.resident).max().unwrap_or(0).max(1);
    let room = style.room(44);
    writeln!(out)?;
    for owner in lines() {
        let bar = bar(&owner.amounts, room as f64 / most as f64, style);
        let resident = display::bytes(owner.amounts.resident);
        let title: String = owner.title().chars().take(32).collect();
        writeln!(out, "{}", format!("{title:32} {resident:>9} {bar}").trim_end())?;
    }
    let legend = PARTS.iter().map(|(block, ascii, color, meaning)| {
        let cell = Cell::new(if style.unicode { *block } else { *ascii }, Some(*color));
        format!("{} {meaning}", painted(&[cell], style))
    });
    writeln!(out, "{:43}{}", "", legend.collect::<Vec<_>>().join("  "))?;
    if let Some(cache) = &owners.page_cache {
        write_page_cache(cache, out)?;
    }
    if owners.watched_us < IDLE_US[IDLE_US.len() - 1] {
        writeln!(out, "\n-: watched for less than that. What processes share counts for each.")?;
    }
    Ok(())
}

/// What is known of page cache that nobody maps, and what that is worth.
fn write_page_cache(cache: &PageCache, out: &mut impl Write) -> Result<(), RenderError> {
    let size = display::bytes;
    writeln!(out, "\nPage cache that nobody maps, beside all that: {}", size(cache.bytes))?;
    if cache.bytes == 0 {
        return Ok(());
    }
    let used = [
        (cache.active_bytes, "used again since it came (active)"),
        (cache.referenced_bytes, "used once (referenced)"),
        (cache.unused_bytes(), "only read ahead or written"),
    ];
    used.iter().try_for_each(|&(bytes, what)| writeln!(out, "{:>12}  {what}", size(bytes)))?;
    let others = [
        (cache.dirty_bytes, "to be written before it can go"),
        (cache.shmem_bytes, "of tmpfs or swap, which only swap could take"),
    ];
    let others = others.into_iter().filter(|&(bytes, _)| bytes > 0);
    let others: Vec<_> = others.map(|(bytes, what)| format!("{} is {what}", size(bytes))).collect();
    if !others.is_empty() {
        writeln!(out, "Of it, {}.", others.join("; "))?;
    }
    writeln!(
        out,
        "It has no accessed bits: since when it is idle, nobody knows. Counted by samples."
    )?;
    Ok(())
}

/// All the others as one.
fn rest(owners: &[Owner]) -> Option<Owner> {
    let mut amounts = Amounts::nothing();
    owners.iter().for_each(|owner| amounts.add(&owner.amounts));
    let name = format!("{} more", owners.len());
    let processes = 1;
    (!owners.is_empty()).then_some(Owner { name, pid: None, cgroup: None, processes, amounts })
}

fn line(amounts: &Amounts, title: &str, out: &mut impl Write) -> Result<(), RenderError> {
    let known = amounts.accessed.into_iter().chain(amounts.idle);
    let kinds = amounts.kinds;
    let numbers = [Some(amounts.resident)].into_iter().chain(known).chain([
        Some(amounts.unseen),
        kinds.map(|kinds| kinds.anonymous_bytes),
        kinds.map(|kinds| kinds.file_bytes.saturating_add(kinds.shared_bytes)),
        kinds.map(|kinds| kinds.swapped_bytes),
    ]);
    for bytes in numbers {
        write!(out, "{:>9}", bytes.map_or("-".to_owned(), compact))?;
    }
    writeln!(out, "  {title}")?;
    Ok(())
}

/// A bar of so many characters a byte. Parts of which nothing is known are part of the younger.
fn bar(amounts: &Amounts, scale: f64, style: &Style) -> String {
    let [idle, minute, ten] = amounts.idle;
    let seen = amounts.resident.saturating_sub(amounts.unseen);
    let (idle, minute) = (idle.unwrap_or(0).min(seen), minute.unwrap_or(0));
    let minute = minute.min(idle);
    let ten = ten.unwrap_or(0).min(minute);
    let parts = [seen - idle, idle - minute, minute - ten, ten, amounts.unseen];
    let (mut cells, mut sum) = (Vec::new(), 0);
    for ((block, ascii, color, _), bytes) in PARTS.iter().zip(parts) {
        sum += bytes;
        let end = (sum as f64 * scale).round() as usize;
        let cell = Cell::new(if style.unicode { *block } else { *ascii }, Some(*color));
        cells.resize(end.max(cells.len()), cell);
    }
    painted(&cells, style)
}

/// A time in a word.
fn short(us: u64) -> String {
    match us / 1_000_000 {
        seconds if seconds >= 60 => format!("{}m", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}

/// A size without its unit's `iB`: columns are narrow.
fn compact(bytes: u64) -> String {
    display::bytes(bytes).replace("iB", "").replace(' ', "")
}
