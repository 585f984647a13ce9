/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What page_pool_holders.c shows of itself to its KUnit suite
 */
#ifndef __PAGE_POOL_HOLDERS_H
#define __PAGE_POOL_HOLDERS_H

#include <linux/in6.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <net/netmem.h>
#include <uapi/linux/netdev.h>

struct cred;
struct genl_info;
struct net;
struct page_pool;
struct pid_namespace;
struct sk_buff;
struct sock;

/* Pages of packets that are collected while a queue is locked, packets that are
 * looked at meanwhile, and those that it takes to get there: a queue that is
 * longer is told of in part, so that packets can be received again soon.
 */
#define PPH_BATCH	512
#define PPH_HOLD	1024
#define PPH_SKIP	16384
/* Packets to look at with interrupts off, where PPH_SKIP is less by as much */
#define PPH_HOLD_IRQ	64

/**
 * struct pph_pool - a pool that is looked at
 * @pool: only compared, but where it is known to be there still
 * @id: its id, which no other pool has after it
 * @gone: it was freed meanwhile
 * @has_table: its DMA slots say which pages it has
 * @held: pages held by others, read after the holders were found
 * @known: pages found at a holder
 * @several: holders beyond the first of each page
 * @home: pages found at a holder that came home since, as far as seen
 * @returned: the same, as far as it takes for the sum to be right
 * @unknown: the record of those found nowhere, plus one
 */
struct pph_pool {
	struct page_pool *pool;
	u32 id;
	bool gone;
	bool has_table;
	u32 held;
	u32 known;
	u32 several;
	u32 home;
	u32 returned;
	u32 unknown;
};

/**
 * struct pph_record - what a holder has of a pool
 * @pool: index of the pool
 * @kind: who
 * @partial: he may have more
 * @exact: @since is when the page was handed out
 * @pages: pages that he has
 * @shared: those that others have, too
 * @since: boot time of the oldest, ms; 0: not known
 * @cpu: which, of a CPU's
 * @netns: inode of the namespace, of a socket's
 * @sk: the socket, only compared
 * @pid: a process that has the socket open, 0: none known
 * @hidden: there is one, but the reader is not to know it
 * @comm: its name
 * @inode: of the socket, 0: none
 * @family: of the socket
 * @has_addr: addresses and ports are those of it
 * @protocol: of the socket
 * @local_port: in the order of this machine
 * @remote_port: as @local_port
 * @local: address; the first four bytes with AF_INET
 * @remote: as @local
 */
struct pph_record {
	u32 pool;
	u8 kind;
	bool partial;
	bool exact;
	u32 pages;
	u32 shared;
	u64 since;
	u32 cpu;
	u32 netns;
	const struct sock *sk;
	u32 pid;
	bool hidden;
	char comm[TASK_COMM_LEN];
	u64 inode;
	u16 family;
	bool has_addr;
	u16 protocol;
	u16 local_port;
	u16 remote_port;
	struct in6_addr local;
	struct in6_addr remote;
};

/**
 * struct page_pool_holders - a question, and the answer to it
 * @pools: in the order of their ids
 * @by_pointer: indices of @pools in the order of their pointers
 * @nr_pools: how many
 * @max_pools: room for so many
 * @records: those of a holder stand together
 * @nr_records: how many
 * @max_records: room for so many
 * @scan: look through all of the memory if that tells more
 * @any: some pages are held
 * @begun: dump: the first message was sent
 * @done: the answer is there
 * @seen: pages in the table when it was there
 * @now: boot time of the answer, ms
 * @net: where the reader is
 * @cred: what he may see
 * @pid_ns: what @pid of records belongs to
 * @err: what went wrong so far
 * @who: the holder who is looked at: what records of him are like
 * @who_from: where the records of him begin
 * @sk: his socket
 * @task: who has that open
 * @socks: sockets that have records: the first of these
 * @resume: packet to go on with when the queue is locked again
 * @hold: packets to look at while it is locked
 * @passed: those that were
 * @skipped: packets before them
 * @nr_batch: pages collected since
 * @batch: these
 * @batch_pool: their pools' indices
 * @next: dump: next record or pool to tell of
 */
struct page_pool_holders {
	struct pph_pool *pools;
	u32 *by_pointer;
	u32 nr_pools, max_pools;
	struct pph_record *records;
	u32 nr_records, max_records;
	bool scan;
	bool any;
	bool begun;
	bool done;
	u32 seen;
	u64 now;
	const struct net *net;
	const struct cred *cred;
	struct pid_namespace *pid_ns;

	int err;
	struct pph_record who;
	u32 who_from;
	struct sock *sk;
	struct task_struct *task;
	struct xarray socks;
	const struct sk_buff *resume;
	u32 hold;
	u32 passed;
	u32 skipped;
	u32 nr_batch;
	netmem_ref batch[PPH_BATCH];
	u32 batch_pool[PPH_BATCH];

	u32 next;
};

#if IS_ENABLED(CONFIG_KUNIT)
struct page_pool_holders *page_pool_holders_alloc(const struct net *net,
						  bool scan);
void page_pool_holders_add(struct page_pool *pool, void *holders);
int page_pool_holders_begin(struct page_pool_holders *holders);
void page_pool_holders_sock(struct page_pool_holders *holders, struct sock *sk);
int page_pool_holders_end(struct page_pool_holders *holders);
int page_pool_holders_look(struct page_pool_holders *holders);
int page_pool_holders_dump(struct sk_buff *msg, struct page_pool_holders *holders,
			   const struct genl_info *info);
void page_pool_holders_free(struct page_pool_holders *holders);
#endif

#endif /* __PAGE_POOL_HOLDERS_H */
