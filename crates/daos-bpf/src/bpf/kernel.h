/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types that the programs look into, with just the members that
 * they name. The loader moves each access to where the running kernel has the
 * member (CO-RE), so neither order nor size here matters.
 */
#ifndef DAOS_KERNEL_H
#define DAOS_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#define bool _Bool
#define true 1
#define false 0

/* Numbers of the kernel's interface. */
enum bpf_map_type {
	BPF_MAP_TYPE_ARRAY = 2,
};

#define CORE __attribute__((preserve_access_index))

struct task_struct;

struct mm_struct {
	void *pgd;
	void *notifier_subscriptions;
	struct task_struct *owner;
} CORE;

struct list_head {
	struct list_head *next;
} CORE;

struct signal_struct {
	int nr_threads;
	struct list_head thread_head;
} CORE;

struct thread_info {
	__u32 cpu;
} CORE;

struct task_struct {
	struct thread_info thread_info;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct list_head thread_node;
	unsigned int __state;
	unsigned int policy;
	__u64 start_boottime;
	int tgid;
} CORE;

typedef struct {
	int counter;
} CORE atomic_t;

typedef struct {
	unsigned long f;
} CORE memdesc_flags_t;

/* The largest folio is a huge page of 1 GiB. */
#define MAX_FOLIO_ORDER 18
#define MAX_FOLIO_PAGES (1UL << MAX_FOLIO_ORDER)

/* What a page frame is part of, as its `struct page` says. */
struct folio {
	unsigned long flags;
	void *mapping;
	unsigned long index;
	atomic_t _mapcount;
	atomic_t _large_mapcount;
	atomic_t _entire_mapcount;
} CORE;

/* Since 6.18 the flags are wrapped. */
struct folio___wrapped {
	memdesc_flags_t flags;
} CORE;

/* Until 6.1 the second page of a folio counted how often it is mapped whole. */
struct page {
	atomic_t compound_mapcount;
	unsigned long compound_head;
	unsigned long private;
	atomic_t _mapcount;
	atomic_t _refcount;
} CORE;

/* What a page is that is not mapped, in the highest byte of its mapcount; since 6.12. */
enum pagetype {
	PGTY_buddy,
};

struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
} CORE;

struct rb_root {
	struct rb_node *rb_node;
} CORE;

struct rb_root_cached {
	struct rb_root rb_root;
} CORE;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	struct mm_struct *vm_mm;
	struct {
		struct rb_node rb;
		unsigned long rb_subtree_last;
	} shared;
} CORE;

/* Who may have an anonymous page: those that have the process it comes from, or were forked. */
struct anon_vma {
	struct rb_root_cached rb_root;
} CORE;

struct anon_vma_chain {
	struct vm_area_struct *vma;
	struct rb_node rb;
	unsigned long rb_subtree_last;
} CORE;

/* Where the page cache of a file stands: a tree of nodes with XA_SLOTS slots. */
#define XA_SLOTS 64

struct xa_node {
	unsigned char shift;
	unsigned char count;
	unsigned char nr_values;
	void *slots[XA_SLOTS];
} CORE;

struct xarray {
	void *xa_head;
} CORE;

struct super_block {
	__u32 s_dev;
} CORE;

struct inode {
	unsigned long i_ino;
	__u32 i_generation;
	struct super_block *i_sb;
} CORE;

/* Who maps a file, and what of it is in memory. */
struct address_space {
	struct inode *host;
	struct xarray i_pages;
	unsigned long nrpages;
	struct rb_root_cached i_mmap;
} CORE;

enum pageflags {
	PG_locked,
	PG_waiters,
	PG_lru,
	PG_active,
	PG_unevictable,
	PG_head,
	PG_referenced,
	PG_workingset,
	PG_dirty,
	PG_writeback,
	PG_swapbacked,
	PG_young,
};

struct bpf_iter__task {
	struct task_struct *task;
} CORE;

#endif
