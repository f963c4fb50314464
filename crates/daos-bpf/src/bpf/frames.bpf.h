/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a page frame to who has it: struct page, head of the folio, anon_vma or file, the
 * tree of its VMAs, mm, page table. An answer counts only if the entry found there maps the
 * frame: whatever was read on the way, from a tree that may change meanwhile, that proves it.
 *
 * Frames near each other are mapped by few VMAs and tables: those that were found are tried
 * before a tree is searched. All is bounded: what takes longer is lost.
 */

/* Frames whose `struct page`s are read at once: what a probe of the monitor looks at. */
#define GROUP 8
/* The size of a `struct page` that this is made for. */
#define PAGE_STRUCT sizeof(struct page_words)
/* Nodes of a tree that are visited for a frame, and for all of a window; a power of two. */
#define MAX_VISITS 64
#define MAX_WINDOW_VISITS 8192
/* VMAs whose tables are looked into for a frame. */
#define MAX_TRIES 12
/* VMAs and tables that are remembered; powers of two. */
#define MAX_VMAS 128
#define MAX_TABLES 512
#define SLOT(key, max) (((__u64)(key) * 0x9e3779b97f4a7c15ULL >> 40) & ((max) - 1))
/* Free blocks are of 1024 frames at most; free memory is told in up to 2^6 of them. */
#define MAX_FREE_ORDER 10
#define FREE_BLOCK (1ULL << MAX_FREE_ORDER)
#define MOST_FREE (FREE_BLOCK << 6)

struct frame_request frame_requests[MAX_FRAME_REQUESTS];
struct frame_run frame_runs[MAX_FRAME_RUNS];

/* A look at one frame after the other; what was found of one helps with the next. */
static struct frame_look {
	/* Where it is. */
	__u64 frame;
	__u64 end;
	__u32 request;
	__u32 nr_requests;
	__u32 nr_runs;
	/* The first run of the current request. */
	__u32 first_run;
	enum frame_wanted want;
	__u64 own_pgd;
	__u32 visits;
	/* The `struct page`s of GROUP frames, from this one on. */
	__u64 group;
	/* The large folio that was last seen. */
	__u64 head;
	__u64 head_mapping;
	__u64 head_index;
	__s32 head_mapcount;
	__u32 head_order;
	__u32 head_lru;
	/* Frames of it that come before this one. */
	__u64 before;
	/* The VMA that was last found, and its process. */
	__u64 vma_start;
	__u64 vma_end;
	__u64 vma_pgoff;
	__u64 mm;
	__u64 pgd;
	__u32 tgid;
	__u32 is_opaque;
	/* The entry that was last found to map a frame, and its level. */
	__u64 entry;
	__u32 level;
	/* The search in a tree. */
	__u64 index;
	__u32 is_anonymous;
	__u32 nr_pending;
	__u32 tries;
} at;

/* VMAs and tables that were found, for frames that follow: by a hash of what they are found by. */
static struct seen_vma {
	__u64 run;
	__u64 mapping;
	__u64 start;
	__u64 end;
	__u64 pgoff;
	__u64 mm;
	__u64 pgd;
	__u32 tgid;
	__u32 is_opaque;
} vmas[MAX_VMAS];

static struct seen_table {
	__u64 run;
	__u64 pgd;
	/* The 2 MiB of addresses that it maps. */
	__u64 block;
	/* Where the level-2 entry is, and what it was. */
	__u64 slot;
	__u64 entry;
} tables[MAX_TABLES];

/* The call of the program that something is remembered from. */
static __u64 at_run;
static struct walk at_walk;
static struct page_words page_structs[GROUP];
static __u64 pending[MAX_VISITS];

/* Whether the kernel has an object there, in RAM: nothing else is followed. */
__noinline int is_object(__u64 addr)
{
	return addr >= at_walk.direct_map && is_ram(addr - at_walk.direct_map);
}

/* Finds the level-2 entry for `va` in the tables of `at.pgd`, to be remembered. */
static __always_inline int find_table(struct seen_table *t, __u64 va)
{
	struct walk *w = &at_walk;

	t->run = 0;
	w->pgd = at.pgd;
	descend(w, va);
	if (has_changed(w) || !w->table)
		return 0;
	t->slot = w->table + ((va >> 21) & 511) * 8;
	t->entry = shown(read_u64(t->slot), ENTRY_HUGE_ADDRESS);
	if (!(t->entry & ENTRY_PRESENT) || !is_ram(t->entry & w->frame_mask))
		return 0;
	t->run = at_run;
	t->pgd = at.pgd;
	t->block = va >> 21;
	return 1;
}

/* Whether `va`, in the tables of `at.pgd`, maps this frame; if so, `at.entry` does. */
__noinline int maps_frame(__u64 va, __u64 frame)
{
	struct seen_table *t = &tables[SLOT(at.pgd >> 12 ^ va >> 21, MAX_TABLES)];
	__u64 mask = at_walk.frame_mask, entry = 0;

	if ((t->run != at_run || t->pgd != at.pgd || t->block != va >> 21) && !find_table(t, va))
		return 0;
	at.level = t->entry & ENTRY_LEAF ? 2 : 1;
	if (at.level == 1)
		entry = accessible(read_u64(at_walk.direct_map + (t->entry & mask) +
					    ((va >> 12) & 511) * 8));
	/* That it was accessed may be new. */
	at.entry = shown(read_u64(t->slot), ENTRY_HUGE_ADDRESS);
	if ((at.entry ^ t->entry) & (mask | ENTRY_PRESENT | ENTRY_LEAF)) {
		t->run = 0;
		return 0;
	}
	if (at.level == 2)
		return (at.entry & mask) >> 21 == frame >> 9;
	at.entry = entry;
	return entry & ENTRY_PRESENT && (entry & mask) >> 12 == frame;
}

/* Where the VMA that was last found has page `index` of what it maps; 0 if it has not. */
static __always_inline __u64 address_of(__u64 index)
{
	__u64 va;

	if (index < at.vma_pgoff)
		return 0;
	va = at.vma_start + ((index - at.vma_pgoff) << 12);
	return va < at.vma_end ? va : 0;
}

/* Whether `at.index`, mapped by this VMA, is the frame; if so, it is the one last found. */
__noinline int try_vma(__u64 addr)
{
	struct vm_area_struct *vma = (void *)addr;
	struct mm_struct *mm;
	struct task_struct *owner;
	__u64 va, pgd;

	at.vma_start = BPF_CORE_READ(vma, vm_start);
	at.vma_end = BPF_CORE_READ(vma, vm_end);
	at.vma_pgoff = BPF_CORE_READ(vma, vm_pgoff);
	va = address_of(at.index);
	if (!va || at.tries++ >= MAX_TRIES)
		return 0;
	mm = BPF_CORE_READ(vma, vm_mm);
	if ((__u64)mm != at.mm) {
		at.mm = 0;
		if (!is_object((__u64)mm))
			return 0;
		pgd = (__u64)BPF_CORE_READ(mm, pgd);
		if (!is_object(pgd))
			return 0;
		at.pgd = pgd;
		at.tgid = 0;
		owner = BPF_CORE_READ(mm, owner);
		if (is_object((__u64)owner))
			at.tgid = BPF_CORE_READ(owner, tgid);
		at.is_opaque = bpf_core_field_exists(mm->notifier_subscriptions) &&
			       BPF_CORE_READ(mm, notifier_subscriptions);
		at.mm = (__u64)mm;
	}
	return maps_frame(va, at.frame);
}

static __always_inline void push(__u64 node)
{
	if (node && at.nr_pending < MAX_VISITS)
		pending[at.nr_pending++ & (MAX_VISITS - 1)] = node;
}

/* One node of the tree of those that may map `at.index`. */
static long visit(__u64 i, void *found)
{
	__u64 node, vma, last, first;

	if (!at.nr_pending || at.visits++ >= MAX_WINDOW_VISITS)
		return 1;
	at.nr_pending--;
	node = pending[at.nr_pending & (MAX_VISITS - 1)];
	if (!is_object(node))
		return 0;
	if (at.is_anonymous) {
		struct anon_vma_chain *chain =
			(void *)(node - bpf_core_field_offset(struct anon_vma_chain, rb));

		last = BPF_CORE_READ(chain, rb_subtree_last);
		vma = (__u64)BPF_CORE_READ(chain, vma);
	} else {
		vma = node - bpf_core_field_offset(struct vm_area_struct, shared.rb);
		last = BPF_CORE_READ((struct vm_area_struct *)vma, shared.rb_subtree_last);
	}
	/* Nothing below it reaches so far. */
	if (last < at.index || !is_object(vma))
		return 0;
	first = BPF_CORE_READ((struct vm_area_struct *)vma, vm_pgoff);
	push((__u64)BPF_CORE_READ((struct rb_node *)node, rb_left));
	/* All that stands right of it begins no sooner. */
	if (first > at.index)
		return 0;
	push((__u64)BPF_CORE_READ((struct rb_node *)node, rb_right));
	if (!try_vma(vma))
		return 0;
	*(__u32 *)found = 1;
	return 1;
}

/* Searches the tree of those that may have page `index` of `mapping`. */
__noinline int search(__u64 mapping, __u64 index)
{
	__u64 object = mapping & ~3ULL;
	__u32 found = 0;

	if (!is_object(object))
		return 0;
	at.is_anonymous = mapping & 1;
	at.index = index;
	at.nr_pending = 0;
	at.tries = 0;
	if (at.is_anonymous)
		push((__u64)BPF_CORE_READ((struct anon_vma *)object, rb_root.rb_root.rb_node));
	else
		push((__u64)BPF_CORE_READ((struct address_space *)object, i_mmap.rb_root.rb_node));
	bpf_loop(MAX_VISITS, visit, &found, 0);
	return found;
}

/* Finds the entry that maps `at.frame`, page `index` of `mapping`. Whether there is one. */
static __always_inline int find_entry(__u64 mapping, __u64 index)
{
	struct seen_vma *seen = &vmas[SLOT(mapping, MAX_VMAS)];
	__u64 va;

	if (seen->run == at_run && seen->mapping == mapping) {
		at.vma_start = seen->start;
		at.vma_end = seen->end;
		at.vma_pgoff = seen->pgoff;
		at.mm = seen->mm;
		at.pgd = seen->pgd;
		at.tgid = seen->tgid;
		at.is_opaque = seen->is_opaque;
		va = address_of(index);
		if (va && maps_frame(va, at.frame))
			return 1;
	}
	if (!search(mapping, index))
		return 0;
	seen->run = at_run;
	seen->mapping = mapping;
	seen->start = at.vma_start;
	seen->end = at.vma_end;
	seen->pgoff = at.vma_pgoff;
	seen->mm = at.mm;
	seen->pgd = at.pgd;
	seen->tgid = at.tgid;
	seen->is_opaque = at.is_opaque;
	return 1;
}

/* A member of the `struct page` of `at.frame`. */
#define OF_PAGE(type, struct_type, member) \
	MEMBER(&page_structs[at.frame & (GROUP - 1)], type, bpf_core_field_offset(struct_type, member))

static __always_inline int is_buddy(__s32 mapcount)
{
	return bpf_core_enum_value_exists(enum pagetype, PGTY_buddy) &&
	       (__u32)mapcount >> 24 == bpf_core_enum_value(enum pagetype, PGTY_buddy);
}

/* Whether a free block of this order, or larger, begins at `frame`. */
__noinline int is_free_block(__u64 frame, __u32 order)
{
	struct page *page = (void *)(at_walk.page_array + frame * PAGE_STRUCT);

	return is_ram(frame << 12) && is_buddy(BPF_CORE_READ(page, _mapcount.counter)) &&
	       BPF_CORE_READ(page, private) >= order;
}

struct free_search {
	/* An aligned block that is free. */
	__u64 start;
	__u64 frames;
	/* Of the block beside it, with which it would be one twice as large, so much is free. */
	__u64 beside;
};

static long extend_free(__u64 i, void *data)
{
	struct free_search *s = data;
	__u64 first = s->start & ~(s->frames * 2 - 1);
	__u64 beside = first == s->start ? s->start + s->frames : first;

	if (s->frames >= MOST_FREE || !is_free_block(beside + s->beside, MAX_FREE_ORDER))
		return 1;
	s->beside += FREE_BLOCK;
	if (s->beside == s->frames) {
		s->start = first;
		s->frames *= 2;
		s->beside = 0;
	}
	return 0;
}

/*
 * Frames of the aligned block around `frame` that is free as a whole, if it is of 512 or more:
 * up to `most`.
 */
__noinline long free_around(__u64 frame, __u64 most)
{
	struct free_search s = { .start = frame & ~(FREE_BLOCK - 1), .frames = FREE_BLOCK };

	if (!is_free_block(s.start, MAX_FREE_ORDER))
		return is_free_block(frame & ~511ULL, 9) ? 512 : 0;
	if (most > FREE_BLOCK)
		bpf_loop(MOST_FREE / FREE_BLOCK, extend_free, &s, 0);
	return s.frames;
}

/* Adds `nr` frames that are of a kind to what was found. */
__noinline int found_frames(__u32 kind, __u64 nr, __u64 va, __u32 order)
{
	__u32 last = at.nr_runs - 1;
	struct frame_run *run;
	int has_owner = (kind == FRAME_YOUNG && at.want >= WANT_OWNER_OF_YOUNG) ||
			(kind == FRAME_OLD && at.want == WANT_OWNER);
	int is_huge = (kind == FRAME_YOUNG || kind == FRAME_OLD) && at.level == 2;

	if (nr > at.end - at.frame)
		nr = at.end - at.frame;
	at.frame += nr;
	if (!has_owner && !is_huge && at.nr_runs > at.first_run) {
		run = &frame_runs[last & (MAX_FRAME_RUNS - 1)];
		if (run->kind == kind && run->level == 1 && !run->tgid) {
			run->nr += nr;
			return 0;
		}
	}
	if (at.nr_runs >= MAX_FRAME_RUNS)
		return 0;
	run = &frame_runs[at.nr_runs++ & (MAX_FRAME_RUNS - 1)];
	run->va = has_owner ? va : 0;
	run->pgd = has_owner ? at.pgd : 0;
	run->tgid = has_owner ? at.tgid : 0;
	run->nr = nr;
	run->kind = kind;
	run->level = is_huge ? 2 : 1;
	run->order = has_owner || is_huge ? order : 0;
	return 0;
}

/* What `at.frame`, page `index` of `mapping`, is to who maps it. */
static __always_inline int mapped_frame(__u64 mapping, __u64 index, __s32 mapcount, __u32 order)
{
	__u64 nr = 1, va;
	__u32 kind;

	at.level = 1;
	/* Of a driver, or never used: the kernel leaves what it does not manage all zeros. */
	if (!mapping)
		kind = FRAME_OTHER;
	else if (mapping & 2)
		kind = FRAME_KSM;
	else if (mapcount > 1 << (order & 31))
		kind = FRAME_SHARED;
	else if (!find_entry(mapping, index))
		kind = FRAME_LOST;
	else {
		if (at.level == 2)
			nr = 512 - (at.frame & 511);
		if (at.level == 2 && mapcount > 1)
			kind = FRAME_SHARED;
		else if (at.pgd == at.own_pgd)
			kind = FRAME_OWN;
		else if (at.is_opaque)
			kind = FRAME_OPAQUE;
		else if (at.want != WANT_NO_OWNER && !at.tgid)
			kind = FRAME_LOST;
		else
			kind = (at.entry & ENTRY_YOUNG) == ENTRY_YOUNG ? FRAME_YOUNG : FRAME_OLD;
	}
	va = address_of(index) & (at.level == 2 ? ~0x1fffffULL : ~0ULL);
	return found_frames(kind, nr, va, order);
}

/* Remembers the large folio that begins at `head`. */
static __always_inline void look_at_head(__u64 head)
{
	at.head = head;
	at.head_mapping = (__u64)BPF_CORE_READ((struct folio *)head, mapping);
	at.head_index = BPF_CORE_READ((struct folio *)head, index);
	at.head_mapcount = large_mapcount(head, PAGE_STRUCT);
	at.head_order = read_u64(head + PAGE_STRUCT) & 0xff;
	at.head_lru = folio_flags(head) >> bpf_core_enum_value(enum pageflags, PG_lru) & 1;
}

/*
 * Whether `at.frame`, of a large folio or of something of the kernel's, is mapped. If not, it is
 * found.
 */
__noinline int is_of_mapped_folio(__u64 head)
{
	__u64 page = at_walk.page_array + at.frame * PAGE_STRUCT;
	__u64 before = (page - head) / PAGE_STRUCT;

	/* Nothing else is followed than what lies before it in the array. */
	if (head < at_walk.page_array || page < head || before >= MAX_FOLIO_PAGES) {
		found_frames(FRAME_OTHER, 1, 0, 0);
		return 0;
	}
	if (head != at.head)
		look_at_head(head);
	if (at.head_order > 18 || before >= 1ULL << at.head_order) {
		found_frames(FRAME_OTHER, 1, 0, 0);
		return 0;
	}
	if (at.head_mapcount <= 0) {
		found_frames(at.head_lru ? FRAME_UNMAPPED : FRAME_OTHER,
			     (1ULL << at.head_order) - before, 0, 0);
		return 0;
	}
	at.before = before;
	return 1;
}

/* The next window. Whether there is one. */
static __always_inline int next_request(void)
{
	struct frame_request *req;

	if (at.request >= at.nr_requests)
		return 0;
	req = &frame_requests[at.request & (MAX_FRAME_REQUESTS - 1)];
	at.frame = req->frame;
	at.end = req->frame + (req->nr <= MAX_WINDOW_FRAMES ? req->nr : 0);
	at.first_run = at.nr_runs;
	at.visits = 0;
	at.head = 0;
	at.group = ~0ULL;
	req->free = free_around(at.frame, req->nr > 1 ? MOST_FREE : FREE_BLOCK);
	if (req->free)
		found_frames(FRAME_FREE, at.end - at.frame, 0, 0);
	return 1;
}

/* Looks at one frame, or at more that are alike. */
static long look_at_frame(__u64 i, void *data)
{
	__u64 head, group, flags, mapping, index;
	__s32 mapcount;
	__u32 order, kind;

	if (at.frame >= at.end) {
		if (i)
			frame_requests[at.request++ & (MAX_FRAME_REQUESTS - 1)].end = at.nr_runs;
		return !next_request();
	}
	group = at.frame & ~(__u64)(GROUP - 1);
	if (group != at.group) {
		if (!is_ram(group << 12) ||
		    bpf_probe_read_kernel(page_structs, sizeof(page_structs),
					  (void *)(at_walk.page_array + group * PAGE_STRUCT))) {
			found_frames(FRAME_OTHER, 1, 0, 0);
			return 0;
		}
		at.group = group;
	}
	head = OF_PAGE(__u64, struct page, compound_head);
	mapcount = OF_PAGE(__s32, struct page, _mapcount.counter);
	flags = flags_in(&page_structs[at.frame & (GROUP - 1)]);
	if (head & 1 || flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1) {
		head = head & 1 ? head - 1 : at_walk.page_array + at.frame * PAGE_STRUCT;
		if (!is_of_mapped_folio(head))
			return 0;
		mapping = at.head_mapping;
		index = at.head_index + at.before;
		mapcount = at.head_mapcount;
		order = at.head_order;
	} else if (is_buddy(mapcount)) {
		order = OF_PAGE(__u64, struct page, private);
		found_frames(FRAME_FREE, order <= MAX_FREE_ORDER ? 1ULL << order : 1, 0, 0);
		return 0;
	} else if (mapcount < 0) {
		kind = FRAME_OTHER;
		if (flags >> bpf_core_enum_value(enum pageflags, PG_lru) & 1)
			kind = FRAME_UNMAPPED;
		else if (mapcount == -1 && !OF_PAGE(__s32, struct page, _refcount.counter))
			kind = FRAME_FREE;
		found_frames(kind, 1, 0, 0);
		return 0;
	} else {
		mapping = OF_PAGE(__u64, struct folio, mapping);
		index = OF_PAGE(__u64, struct folio, index);
		mapcount += 1;
		order = 0;
	}
	mapped_frame(mapping, index, mapcount, order);
	return 0;
}

/* Says of `ctx->nr` windows of page frames what is there, and who has it. */
SEC("syscall")
int read_frames(struct frames_ctx *ctx)
{
	ctx->can = bpf_core_type_size(struct page) == PAGE_STRUCT &&
		   bpf_core_field_exists(((struct mm_struct *)0)->owner);
	if (!ctx->can)
		return 0;
	__builtin_memset(&at, 0, sizeof(at));
	__builtin_memset(&at_walk, 0, sizeof(at_walk));
	at_walk.direct_map = ctx->direct_map;
	at_walk.frame_mask = ctx->frame_mask;
	at_walk.page_array = ctx->page_array;
	at_walk.levels = ctx->levels;
	/* What was remembered is of another time. */
	at_run++;
	at.nr_requests = ctx->nr;
	at.want = ctx->want;
	at.own_pgd = ctx->own_pgd;
	/* A step for each frame, and one for each window. */
	bpf_loop(MAX_FRAME_RUNS + 2 * MAX_FRAME_REQUESTS, look_at_frame, NULL, 0);
	return 0;
}
