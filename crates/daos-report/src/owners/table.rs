//! The bill, as data.

use super::{Amounts, IDLE_US, Owner, Owners, WITHIN_US};
use crate::csv;
use crate::format::RenderError;
use daos_core::{KindsOfMemory, PageCache};
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Json<'a> {
    unit: &'static str,
    at_us: u64,
    watched_us: u64,
    total: AmountsJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    page_cache: Option<PageCacheJson>,
    owners: Vec<OwnerJson<'a>>,
}

/// What nobody maps.
#[derive(Serialize)]
struct PageCacheJson {
    unmapped: u64,
    active: u64,
    referenced: u64,
    dirty: u64,
    shmem: u64,
}

#[derive(Serialize)]
struct OwnerJson<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    cgroup: Option<&'a str>,
    processes: u32,
    #[serde(flatten)]
    amounts: AmountsJson,
}

#[derive(Serialize)]
struct AmountsJson {
    resident: u64,
    accessed_1s: Option<u64>,
    accessed_1m: Option<u64>,
    idle_5s: Option<u64>,
    idle_1m: Option<u64>,
    idle_10m: Option<u64>,
    unseen: u64,
    anonymous: Option<u64>,
    file: Option<u64>,
    shared: Option<u64>,
    swapped: Option<u64>,
}

// Their names say which times they are of.
const _: () = assert!(WITHIN_US[0] == 1_000_000 && WITHIN_US[1] == 60_000_000);
const _: () = assert!(IDLE_US[0] == 5_000_000 && IDLE_US[2] == 600_000_000);

impl From<&Amounts> for AmountsJson {
    fn from(amounts: &Amounts) -> Self {
        let kind = |of: fn(&KindsOfMemory) -> u64| amounts.kinds.as_ref().map(of);
        let [accessed_1s, accessed_1m] = amounts.accessed;
        let [idle_5s, idle_1m, idle_10m] = amounts.idle;
        Self {
            resident: amounts.resident,
            accessed_1s,
            accessed_1m,
            idle_5s,
            idle_1m,
            idle_10m,
            unseen: amounts.unseen,
            anonymous: kind(|kinds| kinds.anonymous_bytes),
            file: kind(|kinds| kinds.file_bytes),
            shared: kind(|kinds| kinds.shared_bytes),
            swapped: kind(|kinds| kinds.swapped_bytes),
        }
    }
}

impl From<PageCache> for PageCacheJson {
    fn from(cache: PageCache) -> Self {
        Self {
            unmapped: cache.bytes,
            active: cache.active_bytes,
            referenced: cache.referenced_bytes,
            dirty: cache.dirty_bytes,
            shmem: cache.shmem_bytes,
        }
    }
}

impl<'a> From<&'a Owner> for OwnerJson<'a> {
    fn from(Owner { name, pid, cgroup, processes, amounts }: &'a Owner) -> Self {
        let (pid, processes, amounts) = (*pid, *processes, amounts.into());
        Self { name, pid, cgroup: cgroup.as_deref(), processes, amounts }
    }
}

/// Writes `{"unit":"bytes","at_us":…,"watched_us":…,"total":{…},"owners":[{"name":…,"pid":…,
/// "cgroup":…,"processes":…,"resident":…,"accessed_1s":…,…},…]}`; what is not known is null. Where
/// page cache was looked at, there is `"page_cache":{"unmapped":…,"active":…,"referenced":…,
/// "dirty":…,"shmem":…}`, too.
pub fn json(owners: &Owners, out: &mut impl Write) -> Result<(), RenderError> {
    let json = Json {
        unit: "bytes",
        at_us: owners.at_us,
        watched_us: owners.watched_us,
        total: (&owners.total).into(),
        page_cache: owners.page_cache.map(PageCacheJson::from),
        owners: owners.owners.iter().map(OwnerJson::from).collect(),
    };
    serde_json::to_writer(&mut *out, &json).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Writes a row for each owner; what is not known is empty. Page cache is nobody's, and not here.
pub fn csv(owners: &Owners, out: &mut impl Write) -> Result<(), RenderError> {
    writeln!(
        out,
        "name,pid,cgroup,processes,resident,accessed_1s,accessed_1m,idle_5s,idle_1m,idle_10m,unseen,anonymous,file,shared,swapped"
    )?;
    for Owner { name, pid, cgroup, processes, amounts } in &owners.owners {
        let a = AmountsJson::from(amounts);
        let cgroup = cgroup.as_deref().unwrap_or("");
        write!(
            out,
            "{},{},{},{processes},{}",
            csv::field(&daos_core::text::safe(name)),
            csv::optional(*pid),
            csv::field(&daos_core::text::safe(cgroup)),
            a.resident
        )?;
        let unseen = Some(a.unseen);
        let known = [
            a.accessed_1s,
            a.accessed_1m,
            a.idle_5s,
            a.idle_1m,
            a.idle_10m,
            unseen,
            a.anonymous,
            a.file,
            a.shared,
            a.swapped,
        ];
        known.into_iter().try_for_each(|bytes| write!(out, ",{}", csv::optional(bytes)))?;
        writeln!(out)?;
    }
    Ok(())
}
