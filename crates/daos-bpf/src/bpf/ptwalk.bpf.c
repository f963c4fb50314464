// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads page tables and page frames. A few programs, all driven from user space
 * in batches; what goes in and out stands in the global arrays, which the loader
 * maps into the process.
 *
 * No lock is taken. A table may be freed, and used for something else, while it
 * is read. Every read is safe: it fails or gives garbage, never a fault, and what is
 * followed is System RAM, so that no register of a device is read. When all is read,
 * every entry that led there is read once more, so that garbage is thrown away.
 * Deciding what an entry means is left to user space.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "intf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct request requests[MAX_REQUESTS];
struct reply replies[MAX_REQUESTS];
__u64 entries[MAX_ENTRIES];

struct frame_facts facts[MAX_ENTRIES];

/*
 * A bit for each entry, if asked for: its page is a small one, or, if its frame was to be
 * looked up, a small one on a list and mapped once. The loader clears them.
 */
__u64 plain[MAX_ENTRIES / 64];

/* Sorted, disjoint. */
struct ram_range ram[MAX_RAM];
__u32 nr_ram;

struct found_task found;

/* A member of a `struct page`, of which the beginning was read to `words`. */
#define MEMBER(words, kind, offset) \
	(*(kind *)((char *)(words) + ((offset) & (sizeof(struct page_words) - sizeof(kind)))))

/* The beginning of a `struct page`: one read for all that is asked of a small page. */
struct page_words {
	__u64 word[8];
};

/* A walk through the tables of one address space. */
struct walk {
	__u64 pgd;
	__u64 direct_map;
	__u64 frame_mask;
	__u64 page_array;
	/* Bits that an entry has whose frame is to be looked up. */
	__u64 wanted;
	__u32 levels;
	__u32 owners;
	/* Where the current request's entries go. */
	__u32 out;
	/* As in `tables_ctx`; how many pages the first of a request lies behind a group. */
	__u64 young_array;
	__u32 folios;
	__u32 skew;
	/* As in `tables_ctx`; the entry behind the last that was wanted, of this request. */
	__u32 most_gap;
	__u32 gap;
	__u32 tell_plain;
	/*
	 * The last level-2 table, of the GiB `gib`, which consecutive requests share;
	 * the entries that led there or to an end, from the top, and where they stand.
	 */
	__u64 gib;
	__u64 table;
	__u64 entry[3];
	__u64 slot[3];
	/* Of the last of them. */
	__u32 level;
	__u32 depth;
};

/* Not on the stack, of which there is little. */
static struct walk table_walk;

/* Pages that are looked up at once. */
#define ROW 8

/* The row of entries that is looked up. */
static struct row {
	/* The `struct page`s of its frames, from the first frame on, and one by itself. */
	struct page_words pages[ROW];
	struct page_words one;
	__u64 frame;
	/* Where it begins, and where the last one of the request ends. */
	__u32 at;
	__u32 end;
	/* Behind the last entry of which it is known whether its page is small. */
	__u32 sized;
} row;

/* Pages of the least folio in which it is looked up whether another monitor cleared bits. */
#define YOUNG_GROUP 16

static __always_inline __u64 read_u64(__u64 addr)
{
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)addr);
	return value;
}

/* Whether the page at this physical address is System RAM: nothing else is read. */
__noinline int is_ram(__u64 physical)
{
	__u32 low = 0, high = nr_ram;
	int i;

	/* Eight halvings of at most MAX_RAM ranges. */
	for (i = 0; i < 9; i++) {
		__u32 middle = (low + high) / 2 & (MAX_RAM - 1);

		if (low >= high)
			break;
		if (physical < ram[middle].start)
			high = middle;
		else if (physical >= ram[middle].end)
			low = middle + 1;
		else
			return 1;
	}
	return 0;
}

/*
 * An entry as it would be if its page, which is there, could be accessed: as it will be, when the
 * kernel lets the program have it again (mprotect), or has seen on which node it is used (NUMA
 * balancing). Others stay as they are. `address`: the bits that are inverted.
 */
static __always_inline __u64 shown(__u64 entry, __u64 address)
{
	__u64 is_hidden = ~entry & entry >> ENTRY_PROT_NONE_BIT & 1;

	return (entry ^ (-is_hidden & address)) | is_hidden;
}

/* The same of an entry of level 1. */
static __always_inline __u64 accessible(__u64 entry)
{
	return shown(entry, ENTRY_ADDRESS);
}

/* From the top to the level-2 table that maps `va`. */
static __always_inline void descend(struct walk *w, __u64 va)
{
	__u64 table = w->pgd;
	__u32 level = w->levels;
	int i;

	w->table = 0;
	for (i = 0; i < 3; i++) {
		__u64 slot = table + ((va >> (12 + 9 * (level - 1))) & 511) * 8;
		__u64 entry = read_u64(slot);

		w->slot[i] = slot;
		w->entry[i] = entry;
		w->depth = i + 1;
		w->level = level;
		if (!(entry & ENTRY_PRESENT) || (level == 3 && (entry & ENTRY_LEAF)))
			return;
		if (!is_ram(entry & w->frame_mask))
			return;
		table = w->direct_map + (entry & w->frame_mask);
		if (level == 3)
			break;
		level--;
	}
	w->table = table;
}

/* Whether an entry that led to the level-2 table is no longer what it was. */
static __always_inline int has_changed(struct walk *w)
{
	int i;

	for (i = 0; i < 3; i++) {
		if (i < w->depth && read_u64(w->slot[i]) != w->entry[i])
			return 1;
	}
	return 0;
}

static __always_inline unsigned long folio_flags(__u64 head)
{
	struct folio___wrapped *wrapped = (void *)head;

	if (bpf_core_field_exists(wrapped->flags.f))
		return BPF_CORE_READ(wrapped, flags.f);
	return BPF_CORE_READ((struct folio *)head, flags);
}

/*
 * Page-table entries that map a large folio or parts of it; before 6.9, where no
 * such count is kept, those that map it whole.
 */
static __always_inline __s32 large_mapcount(__u64 head, __u64 size)
{
	struct folio *folio = (void *)head;

	if (bpf_core_field_exists(folio->_large_mapcount))
		return BPF_CORE_READ(folio, _large_mapcount.counter) + 1;
	if (bpf_core_field_exists(folio->_entire_mapcount))
		return BPF_CORE_READ(folio, _entire_mapcount.counter) + 1;
	if (bpf_core_field_exists(((struct page *)head)->compound_mapcount))
		return BPF_CORE_READ((struct page *)(head + size), compound_mapcount.counter) + 1;
	return 0;
}

static __always_inline unsigned long flags_in(struct page_words *it)
{
	if (bpf_core_field_exists(struct folio___wrapped, flags.f))
		return MEMBER(it, __u64, bpf_core_field_offset(struct folio___wrapped, flags.f));
	return MEMBER(it, __u64, bpf_core_field_offset(struct folio, flags));
}

static __always_inline __u64 page_at(struct walk *w, __u64 frame)
{
	return w->page_array + frame * bpf_core_type_size(struct page);
}

/* Whether a page is small. */
static __always_inline int is_small(struct page_words *it)
{
	return !(MEMBER(it, __u64, bpf_core_field_offset(struct page, compound_head)) & 1) &&
	       !(flags_in(it) >> bpf_core_enum_value(enum pageflags, PG_head) & 1);
}

/* Whether it is, and can be armed by itself: on a list, and mapped once. */
static __always_inline int is_plain(struct page_words *it)
{
	return is_small(it) && flags_in(it) >> bpf_core_enum_value(enum pageflags, PG_lru) & 1 &&
	       MEMBER(it, __s32, bpf_core_field_offset(struct folio, _mapcount)) == 0;
}

/* What a page frame is part of, whose `struct page` was read. */
static __always_inline void take_facts(struct frame_facts *f, struct walk *w, __u64 page,
				       struct page_words *it)
{
	__u64 size = bpf_core_type_size(struct page);
	unsigned long flags;
	__u64 head;

	head = MEMBER(it, __u64, bpf_core_field_offset(struct page, compound_head));
	/*
	 * Behind a wrong page array, which is tried when the right one is searched, this
	 * is any number. Don't follow it: nothing is known of what is there. (The pages
	 * that are looked up then are no parts of folios.)
	 */
	if (head & 1 && w->owners) {
		*f = (struct frame_facts){};
		return;
	}
	head = head & 1 ? head - 1 : page;
	if (page - head >= size * MAX_FOLIO_PAGES) {
		*f = (struct frame_facts){};
		return;
	}
	flags = head == page ? flags_in(it) : folio_flags(head);
	f->lru = (flags >> bpf_core_enum_value(enum pageflags, PG_lru)) & 1;
	f->active = (flags >> bpf_core_enum_value(enum pageflags, PG_active) |
		     flags >> bpf_core_enum_value(enum pageflags, PG_unevictable)) & 1;
	f->large = (flags >> bpf_core_enum_value(enum pageflags, PG_head)) & 1;
	/* The order of a large folio stands in its second page's flags since 6.6. */
	f->order = f->large ? read_u64(head + size) & 0xff : 0;
	/* Before, or if it is being split, that is something else. */
	if (f->order > MAX_FOLIO_ORDER) {
		*f = (struct frame_facts){};
		return;
	}
	f->index_in_folio = (page - head) / size;
	f->mapcount = f->large ? large_mapcount(head, size)
			       : MEMBER(it, __s32, bpf_core_field_offset(struct folio, _mapcount)) + 1;
	if (!w->owners)
		return;
	f->mapping = (__u64)BPF_CORE_READ((struct folio *)head, mapping);
	f->index = BPF_CORE_READ((struct folio *)head, index);
}

static __always_inline void look_up(struct frame_facts *f, struct walk *w, __u64 frame)
{
	struct page_words it = {};

	bpf_probe_read_kernel(&it, sizeof(it), (void *)page_at(w, frame));
	take_facts(f, w, page_at(w, frame), &it);
}

/* Of a page between two that are to be armed: whether it is small. */
static long look_up_size(__u64 i, void *data)
{
	struct walk *w = &table_walk;
	__u64 at = w->gap + i, entry;

	if (at >= MAX_ENTRIES)
		return 1;
	entry = accessible(entries[at]);
	if (!(entry & ENTRY_PRESENT) || !is_ram(entry & w->frame_mask))
		return 0;
	if (!bpf_probe_read_kernel(&row.one, sizeof(row.one),
				   (void *)page_at(w, (entry & w->frame_mask) >> 12)) &&
	    is_small(&row.one))
		plain[at >> 6] |= 1ULL << (at & 63);
	return 0;
}

/* Takes what is wanted of a page whose `struct page` was read. */
static __always_inline void take_page(struct walk *w, __u32 at, __u64 page,
				      struct page_words *it)
{
	if (w->tell_plain && is_plain(it))
		plain[at >> 6] |= 1ULL << (at & 63);
	else
		take_facts(&facts[at], w, page, it);
}

/* Looks at the pages from the last that was wanted to `at`, if they are few enough. */
static __always_inline void look_into_gap(struct walk *w, __u32 at, __u32 until)
{
	__u32 from = w->gap > row.sized ? w->gap : row.sized;

	if (w->gap && at - w->gap - 1 < w->most_gap && from < until) {
		w->gap = from;
		bpf_loop(until - from, look_up_size, 0, 0);
	}
	w->gap = at + 1;
}

static long look_up_one(__u64 i, void *data)
{
	struct walk *w = &table_walk;
	__u64 at = row.at + i, entry;

	if (at >= MAX_ENTRIES)
		return 1;
	entry = accessible(entries[at]);
	/* Of others nobody asks: clearing what is there would take longer than reading. */
	if ((entry & w->wanted) != w->wanted)
		return 0;
	if (is_ram(entry & w->frame_mask)) {
		__u64 page = page_at(w, (entry & w->frame_mask) >> 12);

		bpf_probe_read_kernel(&row.one, sizeof(row.one), (void *)page);
		take_page(w, at, page, &row.one);
	} else {
		facts[at] = (struct frame_facts){};
	}
	look_into_gap(w, at, at);
	return 0;
}

/* Takes what is asked of an entry of a row whose frames begin with `row.frame`. */
static long take_of_row(__u64 i, void *data)
{
	struct walk *w = &table_walk;
	__u64 at = row.at + i, entry, frame;
	struct page_words *it;

	if (at >= MAX_ENTRIES)
		return 1;
	entry = accessible(entries[at]);
	frame = (entry & w->frame_mask) >> 12;
	it = &row.pages[(frame - row.frame) & (ROW - 1)];
	if ((entry & w->wanted) != w->wanted) {
		if (w->most_gap && is_small(it))
			plain[at >> 6] |= 1ULL << (at & 63);
		return 0;
	}
	take_page(w, at, page_at(w, frame), it);
	look_into_gap(w, at, row.at);
	return 0;
}

/* Reads the `struct page`s of the frames of a row. */
static __always_inline int can_read_row(struct walk *w)
{
	return sizeof(row.pages[0]) == bpf_core_type_size(struct page) && is_ram(row.frame << 12) &&
	       is_ram((row.frame + ROW - 1) << 12) &&
	       !bpf_probe_read_kernel(row.pages, sizeof(row.pages), (void *)page_at(w, row.frame));
}

/*
 * Looks up a row of entries. Where their frames lie in a row, too, as they mostly do, their
 * `struct page`s are read at once: one after the other, each would be waited for.
 */
static long look_up_row(__u64 i, void *data)
{
	struct walk *w = &table_walk;
	__u64 all = ~0ULL, any = 0, up = 0, down = 0, first;
	__u32 k;

	row.at = w->out + i * ROW;
	first = (accessible(entries[row.at & (MAX_ENTRIES - 1)]) & w->frame_mask) >> 12;
	/* Without branches, of each of which a verifier would follow both sides. */
	for (k = 0; k < ROW; k++) {
		__u64 entry = accessible(entries[(row.at + k) & (MAX_ENTRIES - 1)]);
		__u64 frame = (entry & w->frame_mask) >> 12;

		all &= entry;
		any |= entry;
		up |= frame - first - k;
		down |= first - frame - k;
	}
	if (row.end - row.at < ROW) {
		bpf_loop(row.end - row.at, look_up_one, 0, 0);
		return 0;
	}
	if ((any & w->wanted) != w->wanted)
		return 0;
	row.frame = up ? first - (ROW - 1) : first;
	if (!(all & ENTRY_PRESENT) || (up && down) || !can_read_row(w)) {
		bpf_loop(ROW, look_up_one, 0, 0);
		return 0;
	}
	bpf_loop(ROW, take_of_row, 0, 0);
	row.sized = row.at + ROW;
	return 0;
}

/*
 * Whether the large folio of a page frame was accessed before another monitor (DAMON, idle page
 * tracking) cleared accessed bits: the kernel keeps that in a flag until the folio is armed.
 */
static __always_inline int was_young(struct walk *w, __u64 frame)
{
	__u64 size = bpf_core_type_size(struct page);
	__u64 page = w->young_array + frame * size, head;
	struct page_words it = {};
	unsigned long flags;

	if (!bpf_core_enum_value_exists(enum pageflags, PG_young) ||
	    bpf_probe_read_kernel(&it, sizeof(it), (void *)page))
		return 0;
	flags = flags_in(&it);
	head = MEMBER(&it, __u64, bpf_core_field_offset(struct page, compound_head));
	if (head & 1) {
		if (page - (head - 1) >= size * MAX_FOLIO_PAGES)
			return 0;
		flags = folio_flags(head - 1);
	}
	return (flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1) &&
	       (flags >> bpf_core_enum_value(enum pageflags, PG_young) & 1);
}

/*
 * Sets the bits of a group of entries if they are part of one large folio that was young. What is
 * smaller is seldom hit by a monitor that takes samples.
 */
static long set_young_group(__u64 i, void *data)
{
	struct walk *w = &table_walk;
	__u64 first = i * YOUNG_GROUP, entry, frame;
	__u32 at, k;

	/* Groups begin where a folio may. */
	first = w->out + (first > w->skew ? first - w->skew : 0);
	at = first & (MAX_ENTRIES - 1);
	entry = accessible(entries[at]);
	frame = (entry & w->frame_mask) >> 12;
	at = (first + 1) & (MAX_ENTRIES - 1);
	/* A large folio lies in RAM as it is mapped; small pages in a row seldom do. */
	if (((i ? 0 : w->skew) ^ frame) & (YOUNG_GROUP - 1))
		return 0;
	if (!(entry & ENTRY_PRESENT) || (accessible(entries[at]) & w->frame_mask) >> 12 != frame + 1 ||
	    !is_ram(entry & w->frame_mask) || !was_young(w, frame))
		return 0;
	for (k = 0; k < YOUNG_GROUP; k++) {
		at = (first + k) & (MAX_ENTRIES - 1);
		entry = accessible(entries[at]);
		if (entry & ENTRY_PRESENT && (entry & w->frame_mask) >> 12 == frame + k)
			entries[at] |= ENTRY_ACCESSED;
	}
	return 0;
}

static long walk_one(__u64 i, void *data)
{
	struct walk *w = &table_walk;
	struct request *req;
	struct reply *rep;
	__u64 va, pmd, slot;
	__u32 pages, out;

	if (i >= MAX_REQUESTS)
		return 1;
	req = &requests[i];
	rep = &replies[i];
	va = req->va;
	/*
	 * Both are checked below. The masks bound them from the start: a verifier before
	 * 6.9 forgets a check when the compiler has a copy of the value on the stack.
	 */
	pages = req->pages & 1023;
	out = req->out & (MAX_ENTRIES - 1);

	if (w->gib != va >> 30) {
		descend(w, va);
		w->gib = va >> 30;
	}
	rep->torn = 1;
	if (!w->table) {
		__u32 last = (w->depth - 1) & 3;

		if (last > 2)
			return 0;
		rep->entry = w->entry[last];
		rep->level = w->level;
		/* What can be followed, and was not, is no RAM: nothing is known of it. */
		if (!(rep->entry & ENTRY_PRESENT) || (w->level == 3 && (rep->entry & ENTRY_LEAF)))
			rep->torn = has_changed(w);
		return 0;
	}
	if (pages == 0 || pages > 512 || out > MAX_ENTRIES - 512)
		return 0;
	slot = w->table + ((va >> 21) & 511) * 8;
	pmd = read_u64(slot);
	rep->entry = shown(pmd, ENTRY_HUGE_ADDRESS);
	rep->level = 2;
	if (rep->entry & ENTRY_PRESENT && rep->entry & ENTRY_LEAF) {
		__u64 physical = rep->entry & w->frame_mask & ~((1ULL << 21) - 1);

		if (w->young_array && (rep->entry & ENTRY_YOUNG) == ENTRY_PRESENT &&
		    is_ram(physical) && was_young(w, physical >> 12)) {
			rep->entry |= ENTRY_YOUNG;
		}
		facts[out] = (struct frame_facts){};
		if (w->page_array && (rep->entry & w->wanted) == w->wanted && is_ram(physical))
			look_up(&facts[out], w, physical >> 12);
	} else if (pmd & ENTRY_PRESENT) {
		rep->level = 1;
		if (!is_ram(pmd & w->frame_mask) ||
		    bpf_probe_read_kernel(&entries[out], pages * 8,
					  (void *)(w->direct_map + (pmd & w->frame_mask) +
						   ((va >> 12) & 511) * 8)))
			return 0;
		w->out = out;
		if (w->folios && w->young_array && read_u64(slot) == pmd) {
			w->skew = (va >> 12) & (YOUNG_GROUP - 1);
			bpf_loop((pages + w->skew + YOUNG_GROUP - 1) / YOUNG_GROUP, set_young_group, 0,
				 0);
		}
		if (w->page_array && read_u64(slot) == pmd) {
			w->gap = 0;
			row.sized = 0;
			row.end = out + pages;
			bpf_loop((pages + ROW - 1) / ROW, look_up_row, 0, 0);
		}
	}
	rep->torn = read_u64(slot) != pmd || has_changed(w);
	return 0;
}

#include "frames.bpf.h"
#include "cache.bpf.h"
#include "file.bpf.h"

/* State of a thread that runs or waits for a CPU. */
#define TASK_RUNNING 0

/* A look at the threads of a process. */
struct thread_look {
	/* Where the next is in their list, and where that ends. */
	__u64 next;
	__u64 end;
	__u32 nr_running;
	__u32 cpu;
	__u32 policy;
};

/* Not static: clang would make a variable of each member, with names that the kernel refuses. */
struct thread_look thread_look;

static long count_running(__u64 i, void *data)
{
	struct thread_look *look = &thread_look;
	struct task_struct *task =
		(void *)(look->next - bpf_core_field_offset(struct task_struct, thread_node));

	if (look->next == look->end)
		return 1;
	look->next = (__u64)BPF_CORE_READ(task, thread_node.next);
	/* Also one that waits for a CPU: that we run on is taken from one of them, maybe. */
	if (BPF_CORE_READ(task, __state) != TASK_RUNNING)
		return 0;
	look->nr_running++;
	look->cpu = BPF_CORE_READ(task, thread_info.cpu);
	look->policy = BPF_CORE_READ(task, policy);
	return 0;
}

/* Where the threads of a process run, or are to. Of more than are looked at, as many of the others as of these. */
static void find_running(struct task_struct *task, struct tables_ctx *ctx)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	struct thread_look *look = &thread_look;

	*look = (struct thread_look){};
	look->next = (__u64)BPF_CORE_READ(signal, thread_head.next);
	look->end = (__u64)signal + bpf_core_field_offset(struct signal_struct, thread_head);
	bpf_loop(MAX_THREADS + 1, count_running, 0, 0);
	if (look->next != look->end) {
		__u64 all = BPF_CORE_READ(signal, nr_threads);

		look->nr_running = look->nr_running * all / (MAX_THREADS + 1);
		if (look->nr_running < 2)
			look->nr_running = 2;
	}
	ctx->nr_running = look->nr_running;
	ctx->cpu = look->cpu;
	ctx->policy = look->policy;
}

/* Answers `ctx->nr` requests about the address space of a task. */
SEC("syscall")
int read_tables(struct tables_ctx *ctx)
{
	struct task_struct *task = (void *)ctx->task;
	struct mm_struct *mm;
	struct walk *w = &table_walk;

	*w = (struct walk){};
	ctx->mm = 0;
	if (BPF_CORE_READ(task, start_boottime) != ctx->start_boottime)
		return 0;
	mm = BPF_CORE_READ(task, mm);
	if (!mm)
		return 0;
	w->pgd = (__u64)BPF_CORE_READ(mm, pgd);
	w->direct_map = ctx->direct_map;
	w->frame_mask = ctx->frame_mask;
	w->page_array = ctx->page_array;
	w->young_array = ctx->young_array;
	w->folios = ctx->folios;
	w->levels = ctx->levels;
	w->owners = ctx->owners;
	w->most_gap = ctx->most_gap;
	w->tell_plain = ctx->to_arm;
	w->wanted = ctx->all ? ENTRY_PRESENT : ENTRY_YOUNG;
	w->gib = ~0ULL;
	ctx->struct_page_size = bpf_core_type_size(struct page);
	if (w->levels != 4 && w->levels != 5)
		return 0;

	bpf_loop(ctx->nr, walk_one, 0, 0);

	if (ctx->to_arm)
		find_running(task, ctx);
	ctx->secondary_tables = bpf_core_field_exists(mm->notifier_subscriptions) &&
				BPF_CORE_READ(mm, notifier_subscriptions);
	/* Whoever has left meanwhile, or runs another program, has no answer. */
	if (BPF_CORE_READ(task, start_boottime) == ctx->start_boottime &&
	    BPF_CORE_READ(task, mm) == mm)
		ctx->mm = (__u64)mm;
	return 0;
}

/* Reads a word of the kernel's memory, to check where that is. */
SEC("syscall")
int read_word(struct word_ctx *ctx)
{
	ctx->word = read_u64(ctx->addr);
	return 0;
}

/* Finds a thread that has an address space, among those of the filtered process. */
SEC("iter/task")
int find_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct mm_struct *mm;

	if (!task || found.task)
		return 0;
	mm = BPF_CORE_READ(task, mm);
	if (!mm)
		return 0;
	found.pgd = (__u64)BPF_CORE_READ(mm, pgd);
	found.start_boottime = BPF_CORE_READ(task, start_boottime);
	found.task = (__u64)task;
	return 0;
}
