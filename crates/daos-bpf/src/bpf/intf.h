/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs and user space hand each other. Rust takes these types from
 * the compiled object, so this file is the only place where they are written.
 */
#ifndef DAOS_INTF_H
#define DAOS_INTF_H

/* Requests in a batch, and page-table entries that a batch can bring. */
#define MAX_REQUESTS 4096
#define MAX_ENTRIES 65536

/* Threads of a process that are looked at, to see which of them run. */
#define MAX_THREADS 64

/* Ranges of System RAM that there is room for. A power of two. */
#define MAX_RAM 256

/* x86-64: Intel SDM volume 3, table 4-20. */
#define ENTRY_PRESENT (1ULL << 0)
#define ENTRY_ACCESSED (1ULL << 5)
#define ENTRY_YOUNG (ENTRY_PRESENT | ENTRY_ACCESSED)
#define ENTRY_LEAF (1ULL << 7)
/*
 * Linux: of an entry that is not present, that its page is there all the same, but may not be
 * accessed now; the bits of the address are inverted then.
 */
#define ENTRY_PROT_NONE_BIT 8
#define ENTRY_ADDRESS 0x000ffffffffff000ULL
#define ENTRY_HUGE_ADDRESS 0x000fffffffe00000ULL

/* Physical addresses of System RAM, from the first to behind the last. */
struct ram_range {
	__u64 start;
	__u64 end;
};

/* Read `pages` level-1 entries from `va` on, within one table, to `entries[out]`. */
struct request {
	__u64 va;
	__u32 pages;
	__u32 out;
};

/*
 * Where a walk ended. Level 1: at the level-1 entries. Above: at `entry`, which is
 * empty or maps a huge page.
 */
struct reply {
	__u64 entry;
	__u32 level;
	/* The tables changed while they were read. */
	__u32 torn;
};

struct tables_ctx {
	/* In: whose tables. */
	__u64 task;
	__u64 start_boottime;
	/* In: where physical memory is mapped; which bits of an entry are an address. */
	__u64 direct_map;
	__u64 frame_mask;
	/*
	 * In: where the array of `struct page` starts, if the frames behind young
	 * entries are to be looked up too: `facts[i]` is then of `entries[i]`, or, of a
	 * request that ended at a huge page, `facts[out]` of that. Else 0.
	 */
	__u64 page_array;
	__u32 levels;
	__u32 nr;
	/* In: whether facts are to say whose memory a folio is, too. */
	__u32 owners;
	/* In: whether frames behind all present entries are to be looked up. */
	__u32 all;
	/* In: whether other monitors may clear accessed bits of folios. */
	__u32 folios;
	/*
	 * In: so many pages between two whose frames are looked up, or fewer, are looked up,
	 * too, but only whether they are part of large folios.
	 */
	__u32 most_gap;
	/*
	 * In: where the array of `struct page` starts. Of a huge page whose bit is clear, and, with
	 * `folios`, of pages in a row that are part of a large folio, it is looked up there whether
	 * another monitor cleared the bit: then it counts as set.
	 */
	__u64 young_array;
	/*
	 * In: whether pages are to be armed: then what is plain of them is told in `plain`, and
	 * nothing else is, and threads that run are counted.
	 */
	__u32 to_arm;
	/* Out: the address space that was read, or 0: throw everything away. */
	__u64 mm;
	/*
	 * Out, with `to_arm`: threads of the process that run now, or wait for a CPU, as one does
	 * that we took it from (of many that is estimated by some, and 2 at least); and of one of
	 * them on which CPU that is, and by which policy.
	 */
	__u32 nr_running;
	__u32 cpu;
	__u32 policy;
	/*
	 * Out: whether others access this memory by tables of their own, as the guests of a
	 * virtual machine and some devices do: then these accessed bits say nothing.
	 */
	__u32 secondary_tables;
	/* Out: the size of a `struct page`. */
	__u32 struct_page_size;
};

struct word_ctx {
	/* In. */
	__u64 addr;
	/* Out: 0 if it can't be read. */
	__u64 word;
};

struct frame_facts {
	/* Of the folio that the frame is part of, if asked for: `mapping` and `index`. */
	__u64 mapping;
	__u64 index;
	/* Page-table entries that map this frame, or, if it is large, its folio. */
	__s32 mapcount;
	__u32 index_in_folio;
	__u8 lru;
	__u8 large;
	__u8 order;
	/* On a list of what reclaim leaves, for later or for good. */
	__u8 active;
	__u8 unused[4];
};

/* Windows of page frames in a batch, and runs of frames that it can bring: powers of two. */
#define MAX_FRAME_REQUESTS 2048
#define MAX_FRAME_RUNS 8192
/* Frames in a window. */
#define MAX_WINDOW_FRAMES 512

/* What is known of a page frame. */
enum frame_kind {
	/* Nobody's. */
	FRAME_FREE,
	/* The kernel's, or reserved. */
	FRAME_OTHER,
	/* On a list of what reclaim takes, but mapped by nobody: page cache. */
	FRAME_UNMAPPED,
	/* Mapped by one, with a clear accessed bit. */
	FRAME_OLD,
	/* The same with a set one. */
	FRAME_YOUNG,
	/* Mapped more than once. */
	FRAME_SHARED,
	/* Merged with others of the same content. */
	FRAME_KSM,
	/* Of who shares memory with a device, or owns a virtual machine. */
	FRAME_OPAQUE,
	/* Of who asks. */
	FRAME_OWN,
	/* Mapped, but not found where. */
	FRAME_LOST,
};

/* Whose address of a mapped frame is to be told. */
enum frame_wanted {
	WANT_NO_OWNER,
	WANT_OWNER_OF_YOUNG,
	WANT_OWNER,
};

/* Look at `nr` frames from `frame` on: at most MAX_WINDOW_FRAMES, aligned by as many. */
struct frame_request {
	__u64 frame;
	__u32 nr;
	/* Out: the place behind its last run. */
	__u32 end;
	/* Out: frames of the aligned block around the first one that is free as a whole. */
	__u64 free;
};

/* Neighbouring frames that are alike or, if their owner is told, are neighbours there. */
struct frame_run {
	/* Where the first is mapped, if that was asked for, by whom and in which tables. */
	__u64 va;
	__u64 pgd;
	__u32 tgid;
	enum frame_kind kind;
	__u32 nr;
	/* Of the page-table entry that maps it. */
	__u16 level;
	/* Of the folio that it is part of, with `va`. */
	__u16 order;
};

struct frames_ctx {
	/* In, as in `tables_ctx`. */
	__u64 direct_map;
	__u64 frame_mask;
	__u64 page_array;
	/* In: the tables of who asks. */
	__u64 own_pgd;
	__u32 levels;
	__u32 nr;
	/* In. */
	enum frame_wanted want;
	/* Out: whether this kernel has what it takes. */
	__u32 can;
};

/* Page frames that are looked at for page cache at once. A power of two. */
#define MAX_CACHE_FRAMES 4096

/* What is noted of a page frame: the first of these if it is page cache that nobody maps. */
#define CACHE_UNMAPPED 1
#define CACHE_ACTIVE 2
#define CACHE_REFERENCED 4
#define CACHE_DIRTY 8
#define CACHE_SHMEM 16
/* Of a page of a file: it is in memory; and, above that, a hash of its folio and all flags of that. */
#define CACHE_PRESENT 32
#define CACHE_HASH_SHIFT 8

/* A file with page cache: where the kernel has it, and by what it is found. */
struct cached_file {
	__u64 mapping;
	__u64 inode;
	/* Pages in memory. */
	__u64 nr_pages;
	__u32 generation;
	/* The kernel's number of its device. */
	__u32 dev;
};

struct cache_ctx {
	/* In. */
	__u64 page_array;
	__u64 direct_map;
	__u64 nr;
};

/* Pages of a file that are looked at at once, and runs of them that are told. Powers of two. */
#define MAX_FILE_PAGES 8192
#define MAX_FILE_RUNS 4096

/* Pages of a file, from the first to behind the last. */
struct file_run {
	__u64 start;
	__u64 end;
};

struct file_ctx {
	/* In. */
	__u64 page_array;
	__u64 direct_map;
	struct cached_file file;
	/* In: the first page. Out, of runs: where to go on. */
	__u64 index;
	/* In: how many pages, or, of runs, steps. Out, of runs: how many there are. */
	__u32 nr;
	/* Out: whether the file is where it was. */
	__u32 is_there;
};

struct found_task {
	__u64 task;
	__u64 start_boottime;
	__u64 pgd;
};

#endif
