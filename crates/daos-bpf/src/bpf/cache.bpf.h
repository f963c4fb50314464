/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel has noted of page cache that nobody maps. No entry leads there that could have
 * an accessed bit: flags of the folio are all there is.
 */

/* In: page frames. Out, in their places: what is noted of each. */
__u64 cache_frames[MAX_CACHE_FRAMES];

#define HAS_FLAG(flags, name)                                                                    \
	(bpf_core_enum_value_exists(enum pageflags, name) &&                                     \
	 (flags) >> bpf_core_enum_value(enum pageflags, name) & 1)

static __always_inline __u64 noted_of(__u64 page_array, __u64 frame)
{
	__u64 size = bpf_core_type_size(struct page), page = page_array + frame * size;
	struct page_words it = {};
	unsigned long flags;
	__u64 head, noted = CACHE_UNMAPPED;
	__s32 mapcount;

	if (!is_ram(frame << 12) || bpf_probe_read_kernel(&it, sizeof(it), (void *)page))
		return 0;
	head = MEMBER(&it, __u64, bpf_core_field_offset(struct page, compound_head));
	head = head & 1 ? head - 1 : page;
	/* Nothing else is followed than what lies before it in the array. */
	if (head < page_array || page < head || page - head >= size * MAX_FOLIO_PAGES)
		return 0;
	flags = head == page ? flags_in(&it) : folio_flags(head);
	if (!HAS_FLAG(flags, PG_lru))
		return 0;
	if (HAS_FLAG(flags, PG_head))
		mapcount = large_mapcount(head, size);
	else
		mapcount = MEMBER(&it, __s32, bpf_core_field_offset(struct folio, _mapcount)) + 1;
	if (mapcount > 0)
		return 0;
	if (HAS_FLAG(flags, PG_active) || HAS_FLAG(flags, PG_workingset))
		noted |= CACHE_ACTIVE;
	if (HAS_FLAG(flags, PG_referenced))
		noted |= CACHE_REFERENCED;
	if (HAS_FLAG(flags, PG_dirty) || HAS_FLAG(flags, PG_writeback))
		noted |= CACHE_DIRTY;
	if (HAS_FLAG(flags, PG_swapbacked))
		noted |= CACHE_SHMEM;
	return noted;
}

static long note_one(__u64 i, void *data)
{
	__u64 *frame = &cache_frames[i & (MAX_CACHE_FRAMES - 1)];

	*frame = noted_of(*(__u64 *)data, *frame);
	return 0;
}

/* Says of `ctx->nr` page frames what is noted of them. */
SEC("syscall")
int read_cache(struct cache_ctx *ctx)
{
	__u64 page_array = ctx->page_array;

	bpf_loop(ctx->nr, note_one, &page_array, 0);
	return 0;
}
