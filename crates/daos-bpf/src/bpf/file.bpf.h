/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The page cache of one file, page by page: what is noted of each, and where there are any.
 *
 * The tree may change while it is read, and its nodes may become something else. What is read
 * counts only if the page found there says that it is of that file.
 */

/* Levels of a tree: six bits of an index each. */
#define XA_LEVELS 11
/* Entries that are nodes have these bits; those with other numbers in front say something else. */
#define XA_INTERNAL(entry) (((entry) & 3) == 2)
#define XA_IS_NODE(entry) (XA_INTERNAL(entry) && (entry) > 4096)
#define XA_IS_SIBLING(entry) (XA_INTERNAL(entry) && (entry) < XA_SLOTS << 2)
#define XA_IS_PAGE(entry) ((entry) && !((entry) & 3))

/* Out: what is noted of pages; runs of nodes with pages. */
__u32 file_pages[MAX_FILE_PAGES];
struct file_run file_runs[MAX_FILE_RUNS];

static struct file_walk {
	__u64 page_array;
	__u64 direct_map;
	__u64 mapping;
	__u64 head;
	__u64 first;
	__u32 nr_runs;
	/* What holds the page that was last looked for: a node with a slot a page, or an entry. */
	__u64 slots[XA_SLOTS];
	__u64 entry;
	/* Pages that a slot of it stands for, as a power of two. */
	__u32 shift;
	/* Whether there are pages, in `slots`. */
	__u32 has_pages;
	/* Which pages these are, and the last page that was looked at, and what was noted. */
	__u64 group;
	__u64 last;
	__u32 last_noted;
} file_walk;

/* Finds what holds page `index`. */
__noinline int find_slots(__u64 index)
{
	struct file_walk *w = &file_walk;
	__u64 entry = w->head;
	int level;

	w->group = index / XA_SLOTS;
	w->entry = 0;
	w->has_pages = 0;
	/* Behind what the tree reaches, there is nothing. */
	w->shift = 63;
	for (level = 0; level < XA_LEVELS; level++) {
		__u64 node = entry - 2, slots = node + bpf_core_field_offset(struct xa_node, slots);
		__u32 shift;

		if (!XA_IS_NODE(entry))
			break;
		if (node < w->direct_map || !is_ram(node - w->direct_map))
			return 0;
		shift = BPF_CORE_READ((struct xa_node *)node, shift);
		/* Each level has six bits less than the one above: else it is no node any more. */
		if (level ? shift + 6 != w->shift : shift > 48 || shift % 6 || index >> shift >= XA_SLOTS) {
			w->shift = 63;
			return 0;
		}
		w->shift = shift;
		if (!shift) {
			w->has_pages = BPF_CORE_READ((struct xa_node *)node, count) >
				       BPF_CORE_READ((struct xa_node *)node, nr_values);
			if (bpf_probe_read_kernel(w->slots, sizeof(w->slots), (void *)slots))
				w->has_pages = 0;
			return 0;
		}
		entry = read_u64(slots + (index >> shift & (XA_SLOTS - 1)) * 8);
		if (XA_IS_SIBLING(entry))
			entry = read_u64(slots + (entry >> 2) * 8);
	}
	/* A file of one page has no node. */
	if (entry == w->head && index) {
		w->shift = 63;
		return 0;
	}
	if (entry == w->head)
		w->shift = 0;
	/* No folio is larger than that. */
	w->entry = XA_IS_PAGE(entry) && 1ULL << w->shift <= MAX_FOLIO_PAGES ? entry : 0;
	return 0;
}

static long note_page(__u64 i, void *unused)
{
	struct file_walk *w = &file_walk;
	__u64 index = w->first + i, entry;
	struct cache_page found = {};

	if (index / XA_SLOTS != w->group)
		find_slots(index);
	entry = w->entry;
	if (w->has_pages) {
		entry = w->slots[index & (XA_SLOTS - 1)];
		if (XA_IS_SIBLING(entry)) {
			__u64 slot = entry >> 2;

			/* The verifier is to see the bound, not what it comes from. */
			barrier_var(slot);
			entry = w->slots[slot & (XA_SLOTS - 1)];
		}
	}
	/* Pages of a large folio have one entry. */
	if (entry != w->last) {
		w->last = entry;
		w->last_noted = 0;
		if (XA_IS_PAGE(entry) && entry >= w->page_array &&
		    note_cache(&found, w->page_array, entry) && found.mapping == w->mapping)
			w->last_noted = found.noted;
	}
	file_pages[i & (MAX_FILE_PAGES - 1)] = w->last_noted;
	return 0;
}

/* Adds the next node with pages, or passes over what has none. */
static long add_run(__u64 i, void *next)
{
	struct file_walk *w = &file_walk;
	__u64 index = *(__u64 *)next, end;
	struct file_run *last;

	find_slots(index);
	if (w->shift == 63) {
		*(__u64 *)next = ~0ULL;
		return 1;
	}
	end = w->shift > 6 ? ((index >> w->shift) + 1) << w->shift : (w->group + 1) * XA_SLOTS;
	*(__u64 *)next = end;
	if (!w->has_pages && !w->entry)
		return 0;
	last = &file_runs[(w->nr_runs - 1) & (MAX_FILE_RUNS - 1)];
	if (w->nr_runs && last->end == index) {
		last->end = end;
		return 0;
	}
	last = &file_runs[w->nr_runs & (MAX_FILE_RUNS - 1)];
	last->start = index;
	last->end = end;
	w->nr_runs++;
	return w->nr_runs == MAX_FILE_RUNS;
}

/* Whether the file is where it was. */
static __always_inline int begin_walk(struct file_ctx *ctx)
{
	struct address_space *space = (void *)ctx->file.mapping;
	struct file_walk *w = &file_walk;
	struct cached_file file = {};

	*w = (struct file_walk){};
	w->page_array = ctx->page_array;
	w->direct_map = ctx->direct_map;
	w->mapping = ctx->file.mapping;
	w->group = ~0ULL;
	ctx->is_there = find_file(&file, w->mapping, w->direct_map) &&
			file.inode == ctx->file.inode && file.dev == ctx->file.dev &&
			file.generation == ctx->file.generation;
	if (ctx->is_there)
		w->head = (__u64)BPF_CORE_READ(space, i_pages.xa_head);
	return ctx->is_there;
}

/* Says what is noted of `ctx->nr` pages of a file. */
SEC("syscall")
int read_file(struct file_ctx *ctx)
{
	if (!begin_walk(ctx))
		return 0;
	file_walk.first = ctx->index;
	bpf_loop(ctx->nr & (2 * MAX_FILE_PAGES - 1), note_page, 0, 0);
	return 0;
}

/* Says where a file has pages in memory, in `ctx->nr` steps. */
SEC("syscall")
int find_in_file(struct file_ctx *ctx)
{
	__u64 next = ctx->index;

	if (!begin_walk(ctx))
		return 0;
	bpf_loop(ctx->nr, add_run, &next, 0);
	ctx->index = next;
	ctx->nr = file_walk.nr_runs;
	return 0;
}
