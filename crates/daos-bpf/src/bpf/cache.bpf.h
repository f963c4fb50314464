/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel has noted of page cache that nobody maps. No entry leads there that could have
 * an accessed bit: flags of the folio are all there is.
 */

/* In: page frames. Out, in their places: what is noted of each, and which file has it. */
__u64 cache_frames[MAX_CACHE_FRAMES];
struct cached_file cache_files[MAX_CACHE_FRAMES];

#define HAS_FLAG(flags, name)                                                                    \
	(bpf_core_enum_value_exists(enum pageflags, name) &&                                     \
	 (flags) >> bpf_core_enum_value(enum pageflags, name) & 1)

/* What was found of a page of page cache. */
struct cache_page {
	__u64 noted;
	__u64 mapping;
};

/* What is noted of the `struct page` at `page`, of System RAM; nothing if it is none of page cache. */
static __always_inline int note_cache(struct cache_page *found, __u64 page_array, __u64 page)
{
	__u64 size = bpf_core_type_size(struct page), head, noted = CACHE_PRESENT;
	struct page_words it = {};
	unsigned long flags;
	__s32 mapcount;

	if (!is_ram((page - page_array) / size << 12) ||
	    bpf_probe_read_kernel(&it, sizeof(it), (void *)page))
		return 0;
	head = MEMBER(&it, __u64, bpf_core_field_offset(struct page, compound_head));
	head = head & 1 ? head - 1 : page;
	/* Nothing else is followed than what lies before it in the array. */
	if (head < page_array || page < head || page - head >= size * MAX_FOLIO_PAGES)
		return 0;
	flags = head == page ? flags_in(&it) : folio_flags(head);
	found->noted = noted;
	found->mapping = head == page ? MEMBER(&it, __u64, bpf_core_field_offset(struct folio, mapping))
				      : (__u64)BPF_CORE_READ((struct folio *)head, mapping);
	/* On its way from one list to another, or none of page cache. */
	if (!HAS_FLAG(flags, PG_lru))
		return 1;
	if (HAS_FLAG(flags, PG_head))
		mapcount = large_mapcount(head, size);
	else
		mapcount = MEMBER(&it, __s32, bpf_core_field_offset(struct folio, _mapcount)) + 1;
	if (mapcount <= 0)
		noted |= CACHE_UNMAPPED;
	if (HAS_FLAG(flags, PG_active) || HAS_FLAG(flags, PG_workingset))
		noted |= CACHE_ACTIVE;
	if (HAS_FLAG(flags, PG_referenced))
		noted |= CACHE_REFERENCED;
	if (HAS_FLAG(flags, PG_dirty) || HAS_FLAG(flags, PG_writeback))
		noted |= CACHE_DIRTY;
	if (HAS_FLAG(flags, PG_swapbacked))
		noted |= CACHE_SHMEM;
	/* Whoever waits for a page, or locks it, does not use it for that. */
	flags &= ~(1UL << bpf_core_enum_value(enum pageflags, PG_locked) |
		   1UL << bpf_core_enum_value(enum pageflags, PG_waiters));
	/* One that left and came back is another. */
	noted |= ((flags ^ head) * 0x9e3779b97f4a7c15ULL) >> 40 << CACHE_HASH_SHIFT;
	found->noted = noted;
	return 1;
}

/* Which file has the page cache at `mapping`. */
static __always_inline int find_file(struct cached_file *file, __u64 mapping, __u64 direct_map)
{
	struct address_space *space = (void *)mapping;
	struct super_block *device;
	struct inode *inode;

	*file = (struct cached_file){};
	if (mapping & 3 || mapping < direct_map || !is_ram(mapping - direct_map))
		return 0;
	inode = BPF_CORE_READ(space, host);
	if ((__u64)inode < direct_map || !is_ram((__u64)inode - direct_map))
		return 0;
	device = BPF_CORE_READ(inode, i_sb);
	if ((__u64)device < direct_map || !is_ram((__u64)device - direct_map))
		return 0;
	file->mapping = mapping;
	file->inode = BPF_CORE_READ(inode, i_ino);
	file->generation = BPF_CORE_READ(inode, i_generation);
	file->nr_pages = BPF_CORE_READ(space, nrpages);
	file->dev = BPF_CORE_READ(device, s_dev);
	return 1;
}

static long note_frame(__u64 i, void *data)
{
	struct cache_ctx *in = data;
	struct cache_page found = {};
	__u64 frame;

	i &= MAX_CACHE_FRAMES - 1;
	frame = cache_frames[i];
	cache_frames[i] = 0;
	cache_files[i] = (struct cached_file){};
	if (!note_cache(&found, in->page_array,
			in->page_array + frame * bpf_core_type_size(struct page)) ||
	    !(found.noted & CACHE_UNMAPPED))
		return 0;
	cache_frames[i] = found.noted;
	if (!(found.noted & CACHE_SHMEM))
		find_file(&cache_files[i], found.mapping, in->direct_map);
	return 0;
}

/* Says of `ctx->nr` page frames what is noted of them. */
SEC("syscall")
int read_cache(struct cache_ctx *ctx)
{
	struct cache_ctx in = {
		.page_array = ctx->page_array,
		.direct_map = ctx->direct_map,
	};

	bpf_loop(ctx->nr, note_frame, &in, 0);
	return 0;
}
