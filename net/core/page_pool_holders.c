// SPDX-License-Identifier: GPL-2.0
/*
 * page_pool: who holds the pages of a pool
 *
 * Nobody keeps books on that, for it would cost something with every packet.
 * Who asks pays: all places where received packets are known to wait are walked,
 * and the pages of the packets there that belong to a pool are noted down.
 *
 *	sockets of all tasks	receive queue; TCP: out of order, backlog;
 *				UDP: what the reader has taken aside
 *	TCP sockets of nobody	not accepted yet, or the kernel's own
 *	each CPU		packets to be freed, packets to be received
 *	each cpumap		packets on their way to the CPU
 *
 * Pages move meanwhile. So what was found is then held against the pool's
 * counts, read in one go. What is held beyond what was found is "unknown": the
 * pages that the driver has in its receive ring, or that are nowhere. What was
 * found beyond what is held has come home.
 *
 * For how long pages are held is known from a table of those that the last
 * look saw, kept for an hour: a page that is in it still has its old date. To
 * date the unknown ones, too, they must be found: among the slots of the pool
 * if that maps its pages and lives, else in all of the memory, by page->pp.
 * Pages seen to be parked in the pool are not among them.
 *
 * Locks: a queue's own lock keeps packets in it, and thus their pages in the
 * pool, while they are looked at. At most PPH_HOLD packets at a time; all else
 * happens when it has been released. Where the walk goes on is found by the
 * address of the packet, which is only compared. A socket is kept while its
 * queues are walked, but not its file: who closes it is done with it.
 *
 * Who asks is not told more of sockets and processes than he could find out
 * otherwise.
 */
#include <linux/bpf.h>
#include <linux/bsearch.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/delay.h>
#include <linux/fdtable.h>
#include <linux/hash.h>
#include <linux/memblock.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/rbtree.h>
#include <linux/rcupdate_wait.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/tcp.h>
#include <linux/timekeeping.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include <kunit/visibility.h>
#include <net/genetlink.h>
#include <net/inet_hashtables.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/page_pool/helpers.h>
#include <net/page_pool/holders.h>
#include <net/sock.h>

#include "netdev-genl-gen.h"
#include "page_pool_holders.h"
#include "page_pool_priv.h"
#include "page_pool_user.h"

/* Times that a queue is locked: what does not end by then is said to be
 * partial.
 */
#define PPH_HOLDS	128
/* Times that a socket is tried that somebody has locked */
#define PPH_TRIES	20
/* Lists of fragments in lists of fragments */
#define PPH_DEPTH	3
/* Frames of memory, and entries of a ring, that are looked at in one go */
#define PPH_FRAMES	16384
#define PPH_RING	256
/* Sockets of a hash chain, and frames of a cpumap, that are taken in one go */
#define PPH_SOCKS	16
/* Files, and tasks, that are passed without a chance for others to run */
#define PPH_FDS		256
#define PPH_TASKS	1024
#define PPH_FRAMES_OF_MAP	32
#define PPH_KEEP	(3600 * HZ)
/* Nobody is killed for the sake of an answer. */
#define PPH_GFP		(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/*
 * The table of pages: open addressing, rebuilt after each look
 */

#define PPH_PRESENT	BIT(0)	/* is in the pool, as far as that can tell */
#define PPH_HOME	BIT(1)	/* is parked in it */

struct pph_page {
	unsigned long netmem;	/* 0: empty */
	u64 since;		/* boot time when first seen, ms */
	u32 pool_id;
	u32 pool;		/* its index in this look */
	u32 look;		/* the one that saw it last; below: its own */
	u32 first, last;	/* records that have it, plus one */
	u16 holders;
	u8 flags;
};

struct pph_table {
	struct pph_page *page;
	u32 bits;
	u32 nr;
};

/* One look at a time; guards the table, too. Outside of page_pools_lock. */
static DEFINE_MUTEX(pph_lock);
static struct pph_table pph_seen;
static u32 pph_look;

static void pph_forget(struct work_struct *work)
{
	mutex_lock(&pph_lock);
	vfree(pph_seen.page);
	memset(&pph_seen, 0, sizeof(pph_seen));
	mutex_unlock(&pph_lock);
}

static DECLARE_DEFERRABLE_WORK(pph_forget_work, pph_forget);

static u64 pph_now(void)
{
	return ktime_to_ms(ktime_get_boottime());
}

/* The place of a page, or the empty one where it would be */
static struct pph_page *pph_slot(const struct pph_table *t, unsigned long netmem)
{
	u32 i = hash_long(netmem, t->bits);

	while (t->page[i].netmem && t->page[i].netmem != netmem)
		i = (i + 1) & (BIT(t->bits) - 1);

	return &t->page[i];
}

static bool pph_table_init(struct pph_table *t, u32 bits)
{
	t->page = __vmalloc_array(BIT(bits), sizeof(*t->page),
				  PPH_GFP | __GFP_ZERO);
	t->bits = bits;
	t->nr = 0;

	return t->page;
}

/* Make a table of those pages in @t that @keep says, with room for more. */
static bool pph_table_rebuild(struct pph_table *t, u32 nr,
			      bool (*keep)(const struct pph_page *page,
					   void *data), void *data)
{
	u32 i, bits = max(8, order_base_2(nr) + 1);
	struct pph_table new;

	if (bits > 30 || !pph_table_init(&new, bits))
		return false;

	for (i = 0; t->page && i < BIT(t->bits); i++) {
		const struct pph_page *page = &t->page[i];

		if (page->netmem && (!keep || keep(page, data))) {
			*pph_slot(&new, page->netmem) = *page;
			new.nr++;
		}
		cond_resched();
	}
	vfree(t->page);
	*t = new;

	return true;
}

/* Make room for so many more pages. */
static bool pph_reserve(struct page_pool_holders *h, u32 nr)
{
	nr += pph_seen.nr;
	if ((pph_seen.page && nr <= BIT(pph_seen.bits) / 4 * 3) ||
	    pph_table_rebuild(&pph_seen, nr, NULL, NULL))
		return true;
	h->err = -ENOMEM;

	return false;
}

static struct pph_page *pph_find(netmem_ref netmem)
{
	struct pph_page *page;

	if (!pph_seen.page)
		return NULL;

	page = pph_slot(&pph_seen, (__force unsigned long)netmem);

	return page->netmem && page->look == pph_look ? page : NULL;
}

/* A page that is seen in this look. NULL: no memory */
static struct pph_page *pph_enter(struct page_pool_holders *h,
				  netmem_ref netmem, u32 pool)
{
	u32 id = h->pools[pool].id;
	struct pph_page *page;

	if (!pph_reserve(h, 1))
		return NULL;

	page = pph_slot(&pph_seen, (__force unsigned long)netmem);
	if (!page->netmem) {
		page->netmem = (__force unsigned long)netmem;
		pph_seen.nr++;
		page->since = h->now;
	} else if (page->pool_id != id) {
		page->since = h->now;
	} else if (page->look == pph_look) {
		return page;
	}
	page->pool_id = id;
	page->pool = pool;
	page->look = pph_look;
	page->first = 0;
	page->last = 0;
	page->holders = 0;
	page->flags = 0;

	return page;
}

/*
 * Records
 */

/* Make room for one more. */
static bool pph_grow(void **array, u32 nr, u32 *max, size_t size)
{
	void *new;
	u32 room;

	if (nr < *max)
		return true;

	room = max(16U, 2 * *max);
	new = kvmalloc_array(room, size, PPH_GFP);
	if (!new)
		return false;
	if (nr)
		memcpy(new, *array, nr * size);
	kvfree(*array);
	*array = new;
	*max = room;

	return true;
}

/* The next pages that are noted are those of @kind. */
static void pph_begin(struct page_pool_holders *h, u8 kind)
{
	memset(&h->who, 0, sizeof(h->who));
	h->who.kind = kind;
	h->who_from = h->nr_records;
	h->sk = NULL;
	h->task = NULL;
}

/* Of a process is told what /proc would tell whoever asked. */
static bool pph_name_task(const struct page_pool_holders *h,
			  struct task_struct *task, struct pph_record *r)
{
	pid_t pid = task_tgid_nr_ns(task, h->pid_ns);
	const struct cred *old;

	old = override_creds(h->cred);
	r->hidden = !pid || !ptrace_may_access(task, PTRACE_MODE_READ_FSCREDS |
						     PTRACE_MODE_NOAUDIT);
	revert_creds(old);
	if (r->hidden)
		return false;

	r->pid = pid;
	get_task_comm(r->comm, task);

	return true;
}

static void pph_name_inet(struct pph_record *r, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	r->local_port = ntohs(READ_ONCE(inet->inet_sport));
	r->remote_port = ntohs(READ_ONCE(inet->inet_dport));
	if (r->family == AF_INET) {
		r->local.s6_addr32[0] = READ_ONCE(inet->inet_rcv_saddr);
		r->remote.s6_addr32[0] = READ_ONCE(inet->inet_daddr);
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	r->local = sk->sk_v6_rcv_saddr;
	r->remote = sk->sk_v6_daddr;
#endif
}

static void pph_name_sock(const struct page_pool_holders *h,
			  struct pph_record *r, struct sock *sk)
{
	bool inet;

	r->sk = sk;
	r->netns = sock_net(sk)->ns.inum;
	r->family = READ_ONCE(sk->sk_family);
	inet = r->family == AF_INET || r->family == AF_INET6;
	if (inet)
		r->protocol = sk->sk_protocol;

	/* Who is in a namespace of his own sees those of others from outside. */
	if (h->net != &init_net && h->net != sock_net(sk))
		return;
	r->inode = sock_i_ino(sk);
	r->has_addr = inet;
	if (inet)
		pph_name_inet(r, sk);
}

/* The record of the present holder for a pool. Returns its index plus one, 0 if
 * there is no memory.
 */
static u32 pph_record(struct page_pool_holders *h, u32 pool)
{
	struct pph_record *r;
	u32 i;

	for (i = h->who_from; i < h->nr_records; i++) {
		r = &h->records[i];
		if (r->pool == pool && r->kind == h->who.kind)
			return i + 1;
	}

	if (!pph_grow((void **)&h->records, i, &h->max_records, sizeof(*r)))
		return 0;
	if (h->sk && i == h->who_from) {
		pph_name_sock(h, &h->who, h->sk);
		if (h->task)
			pph_name_task(h, h->task, &h->who);
		/* No harm if it is found twice. */
		xa_store(&h->socks, (unsigned long)h->sk / sizeof(void *),
			 xa_mk_value(i), GFP_KERNEL);
	}
	r = &h->records[i];
	*r = h->who;
	r->pool = pool;
	h->nr_records++;

	return i + 1;
}

static void pph_date(struct pph_record *r, netmem_ref netmem, u64 since)
{
	u64 exact = page_pool_debug_since(netmem);

	if (exact)
		since = exact;
	if (r->since && r->since <= since)
		return;

	r->since = since;
	r->exact = exact;
}

/* The present holder has a page. */
static void pph_note(struct page_pool_holders *h, netmem_ref netmem, u32 pool)
{
	struct pph_page *page = pph_enter(h, netmem, pool);
	u32 nr = page ? pph_record(h, pool) : 0;
	struct pph_record *r;

	if (!nr) {
		h->err = -ENOMEM;
		return;
	}
	if (page->last == nr)
		return;

	r = &h->records[nr - 1];
	r->pages++;
	pph_date(r, netmem, page->since);

	if (!page->holders) {
		page->first = nr;
		h->pools[pool].known++;
	} else {
		if (page->holders == 1)
			h->records[page->first - 1].shared++;
		r->shared++;
		h->pools[pool].several++;
	}
	page->last = nr;
	if (page->holders < U16_MAX)
		page->holders++;
}

/*
 * Packets
 */

static int pph_cmp_pointer(const void *a, const void *b, const void *priv)
{
	const struct page_pool_holders *h = priv;
	const struct page_pool *x = h->pools[*(u32 *)a].pool;
	const struct page_pool *y = h->pools[*(u32 *)b].pool;

	return x < y ? -1 : x > y;
}

/* The index of a pool that is looked at, -1 for others */
static int pph_pool_index(const struct page_pool_holders *h,
			  const struct page_pool *pool)
{
	u32 from = 0, to = h->nr_pools;

	while (from < to) {
		u32 mid = (from + to) / 2, i = h->by_pointer[mid];

		if (h->pools[i].pool == pool)
			return i;
		if (h->pools[i].pool < pool)
			from = mid + 1;
		else
			to = mid;
	}

	return -1;
}

static void pph_collect(struct page_pool_holders *h, netmem_ref netmem)
{
	int pool;

	netmem = netmem_compound_head(netmem);
	if (!netmem_is_pp(netmem))
		return;
	pool = pph_pool_index(h, netmem_get_pp(netmem));
	if (pool < 0)
		return;
	if (h->nr_batch == PPH_BATCH) {
		h->who.partial = true;
		return;
	}
	h->batch[h->nr_batch] = netmem;
	h->batch_pool[h->nr_batch++] = pool;
}

static void pph_collect_skb(struct page_pool_holders *h,
			    const struct sk_buff *skb, int depth)
{
	const struct skb_shared_info *shinfo = skb_shinfo(skb);
	const struct sk_buff *frag;
	int i;

	if (skb->head_frag)
		pph_collect(h, virt_to_netmem(skb->head));
	for (i = 0; i < min_t(int, shinfo->nr_frags, MAX_SKB_FRAGS); i++)
		pph_collect(h, skb_frag_netmem(&shinfo->frags[i]));

	if (depth == PPH_DEPTH)
		return;
	for (frag = shinfo->frag_list; frag; frag = frag->next)
		pph_collect_skb(h, frag, depth + 1);
}

/* The next packet of a queue that is locked. Returns false if that is enough
 * for now.
 */
static bool pph_packet(struct page_pool_holders *h, const struct sk_buff *skb)
{
	if (h->resume) {
		if (skb != h->resume) {
			if (h->skipped++ < h->hold * PPH_SKIP / PPH_HOLD)
				return true;
			h->resume = NULL;
			h->who.partial = true;
			return false;
		}
		h->resume = NULL;
	}

	/* One that has more than the usual number of pages has them cut off
	 * only if it is the first.
	 */
	if (h->passed && (h->passed == h->hold ||
			  h->nr_batch > PPH_BATCH - MAX_SKB_FRAGS - 1 ||
			  (skb_has_frag_list(skb) && h->nr_batch))) {
		h->resume = skb;
		return false;
	}

	h->passed++;
	pph_collect_skb(h, skb, 0);

	return true;
}

/* The lock is released: note down what was collected. */
static void pph_flush(struct page_pool_holders *h)
{
	u32 i;

	for (i = 0; i < h->nr_batch; i++)
		pph_note(h, h->batch[i], h->batch_pool[i]);
	h->nr_batch = 0;
}

static bool pph_stop(struct page_pool_holders *h)
{
	cond_resched();
	if (!h->err && signal_pending(current))
		h->err = -EINTR;

	return h->err;
}

/* Walk a queue bit by bit: @walk locks it and calls pph_packet() for what is in
 * it until that returns false. It returns false if the queue could not be
 * locked.
 */
static void pph_queue(struct page_pool_holders *h, u8 kind,
		      bool (*walk)(struct page_pool_holders *h, void *queue),
		      void *queue)
{
	int holds, tries = 0;
	u32 i;

	h->who.kind = kind;
	h->who.partial = false;
	h->hold = kind == NETDEV_PAGE_POOL_HOLDER_CPU_BACKLOG ? PPH_HOLD_IRQ :
								PPH_HOLD;
	h->resume = NULL;

	for (holds = 0; holds < PPH_HOLDS && !pph_stop(h); holds++) {
		h->passed = 0;
		h->skipped = 0;
		while (!walk(h, queue) && ++tries < PPH_TRIES)
			usleep_range(100, 1000);
		pph_flush(h);

		if (!h->resume)
			break;
		/* The packet to go on with has been taken out: all over. */
		if (!h->passed)
			h->resume = NULL;
	}

	if (tries < PPH_TRIES && holds < PPH_HOLDS && !h->who.partial)
		return;
	for (i = h->who_from; i < h->nr_records; i++) {
		if (h->records[i].kind == kind)
			h->records[i].partial = true;
	}
}

/*
 * Sockets
 */

static void pph_walk_list(struct page_pool_holders *h,
			  const struct sk_buff_head *list)
{
	const struct sk_buff *skb;

	skb_queue_walk(list, skb) {
		if (!pph_packet(h, skb))
			break;
	}
}

static void pph_walk_chain(struct page_pool_holders *h,
			   const struct sk_buff *skb)
{
	for (; skb; skb = skb->next) {
		if (!pph_packet(h, skb))
			break;
	}
}

static bool pph_walk_head(struct page_pool_holders *h, void *queue)
{
	struct sk_buff_head *list = queue;

	spin_lock_bh(&list->lock);
	pph_walk_list(h, list);
	spin_unlock_bh(&list->lock);

	return true;
}

/* The queues of TCP have no lock of their own: they are the socket owner's, and
 * whoever has the spinlock while there is none. To wait for an owner like another
 * one would might be for ever.
 */
static bool pph_walk_tcp(struct page_pool_holders *h, void *queue)
{
	struct sock *sk = queue;
	bool free;

	spin_lock_bh(&sk->sk_lock.slock);
	free = !sock_owned_by_user_nocheck(sk);
	if (free)
		pph_walk_list(h, &sk->sk_receive_queue);
	spin_unlock_bh(&sk->sk_lock.slock);

	return free;
}

static bool pph_walk_ofo(struct page_pool_holders *h, void *queue)
{
	struct sock *sk = queue;
	struct rb_node *node;
	bool free;

	spin_lock_bh(&sk->sk_lock.slock);
	free = !sock_owned_by_user_nocheck(sk);
	node = free ? rb_first(&tcp_sk(sk)->out_of_order_queue) : NULL;
	for (; node; node = rb_next(node)) {
		if (!pph_packet(h, rb_to_skb(node)))
			break;
	}
	spin_unlock_bh(&sk->sk_lock.slock);

	return free;
}

static bool pph_walk_backlog(struct page_pool_holders *h, void *queue)
{
	struct sock *sk = queue;

	spin_lock_bh(&sk->sk_lock.slock);
	pph_walk_chain(h, sk->sk_backlog.head);
	spin_unlock_bh(&sk->sk_lock.slock);

	return true;
}

static bool pph_tcp_is_empty(const struct sock *sk)
{
	return skb_queue_empty_lockless(&sk->sk_receive_queue) &&
	       !READ_ONCE(sk->sk_backlog.head) &&
	       !READ_ONCE(tcp_sk(sk)->out_of_order_queue.rb_node);
}

/* The caller keeps the socket. Of others than these families packets with pages
 * of a pool are not known to wait, or by other rules.
 */
static void pph_sock(struct page_pool_holders *h, struct sock *sk)
{
	h->sk = sk;

	if (sk_is_tcp(sk)) {
		if (pph_tcp_is_empty(sk))
			return;
		pph_queue(h, NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE,
			  pph_walk_tcp, sk);
		pph_queue(h, NETDEV_PAGE_POOL_HOLDER_SOCKET_OFO,
			  pph_walk_ofo, sk);
		pph_queue(h, NETDEV_PAGE_POOL_HOLDER_SOCKET_BACKLOG,
			  pph_walk_backlog, sk);
		return;
	}

	if (!(sk_is_inet(sk) &&
	      (sk->sk_type == SOCK_DGRAM || sk->sk_type == SOCK_RAW)) &&
	    sk->sk_family != AF_PACKET)
		return;

	if (!skb_queue_empty_lockless(&sk->sk_receive_queue))
		pph_queue(h, NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE,
			  pph_walk_head, &sk->sk_receive_queue);
	if (sk_is_udp(sk) && !skb_queue_empty_lockless(&udp_sk(sk)->reader_queue))
		pph_queue(h, NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE,
			  pph_walk_head, &udp_sk(sk)->reader_queue);
}

/* A socket that no task is known to have open; the caller keeps it. */
VISIBLE_IF_KUNIT void page_pool_holders_sock(struct page_pool_holders *h,
					     struct sock *sk)
{
	pph_begin(h, NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE);
	pph_sock(h, sk);
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_holders_sock);

/* Keep a socket; its namespace as well, which one of the kernel's may outlive. */
static bool pph_get_sock(struct sock *sk)
{
	if (!refcount_inc_not_zero(&sk->sk_refcnt))
		return false;
	if (maybe_get_net(sock_net(sk)))
		return true;
	sock_put(sk);

	return false;
}

static void pph_put_sock(struct sock *sk)
{
	struct net *net = sock_net(sk);

	sock_put(sk);
	put_net(net);
}

static void *pph_sock_is_known(struct page_pool_holders *h, struct sock *sk)
{
	return xa_load(&h->socks, (unsigned long)sk / sizeof(void *));
}

/* A socket that many have open is the one's who is found first, of those whom
 * the reader may see.
 */
static void pph_owned_sock(struct page_pool_holders *h, struct task_struct *task,
			   struct sock *sk)
{
	void *known = pph_sock_is_known(h, sk);
	struct pph_record *r;
	u32 i;

	if (!known) {
		pph_begin(h, NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE);
		h->task = task;
		pph_sock(h, sk);
		return;
	}

	for (i = xa_to_value(known); i < h->nr_records; i++) {
		r = &h->records[i];
		if (r->sk != sk || !r->hidden || !pph_name_task(h, task, r))
			break;
	}
}

/* The next task that has files of its own, or NULL */
static struct task_struct *pph_next_task(int *nr)
{
	struct task_struct *task = NULL;
	struct pid *pid;
	u32 passed = 0;

	rcu_read_lock();
	while ((pid = find_ge_pid(*nr + 1, &init_pid_ns))) {
		*nr = pid_nr_ns(pid, &init_pid_ns);
		task = pid_task(pid, PIDTYPE_PID);
		if (task && !(task->flags & PF_KTHREAD) &&
		    (thread_group_leader(task) ||
		     READ_ONCE(task->files) !=
		     READ_ONCE(task->group_leader->files))) {
			get_task_struct(task);
			break;
		}
		task = NULL;
		if (!(++passed % PPH_TASKS))
			cond_resched_rcu();
	}
	rcu_read_unlock();

	return task;
}

/* Look for the next socket among some of a task's files, which cannot be closed
 * while their table is locked. Returns false at the end.
 */
static bool pph_next_sock(struct task_struct *task, unsigned int *fd,
			  struct sock **found)
{
	struct files_struct *files;
	bool more = false;

	*found = NULL;
	task_lock(task);
	files = task->files;
	if (files) {
		unsigned int max, end;

		spin_lock(&files->file_lock);
		max = files_fdtable(files)->max_fds;
		end = min(max, *fd + PPH_FDS);
		while (*fd < end && !*found) {
			struct file *file = files_lookup_fd_locked(files, (*fd)++);
			struct socket *sock = file ? sock_from_file(file) : NULL;
			struct sock *sk = sock ? READ_ONCE(sock->sk) : NULL;

			if (sk && pph_get_sock(sk))
				*found = sk;
		}
		more = *found || *fd < max;
		spin_unlock(&files->file_lock);
	}
	task_unlock(task);

	return more;
}

static void pph_tasks(struct page_pool_holders *h)
{
	struct task_struct *task;
	struct sock *sk;
	int nr = 0;

	while (!pph_stop(h) && (task = pph_next_task(&nr))) {
		unsigned int fd = 0;

		while (!pph_stop(h) && pph_next_sock(task, &fd, &sk)) {
			if (!sk)
				continue;
			pph_owned_sock(h, task, sk);
			pph_put_sock(sk);
		}
		put_task_struct(task);
	}
}

#ifdef CONFIG_INET
/* Take sockets of a hash chain, from the @skip-th on, that have something. */
static int pph_chain(struct inet_ehash_bucket *bucket, u32 *skip,
		     struct sock **socks)
{
	struct hlist_nulls_node *node;
	struct sock *sk;
	u32 i = 0;
	int n = 0;

	rcu_read_lock();
	sk_nulls_for_each_rcu(sk, node, &bucket->chain) {
		if (i++ < *skip)
			continue;
		*skip = i;
		if (!sk_fullsock(sk) || !sk_is_tcp(sk) || pph_tcp_is_empty(sk) ||
		    !pph_get_sock(sk))
			continue;
		socks[n++] = sk;
		if (n == PPH_SOCKS)
			break;
	}
	rcu_read_unlock();

	return n;
}

static void pph_hash(struct page_pool_holders *h, struct inet_hashinfo *hash)
{
	struct sock *socks[PPH_SOCKS];
	u32 bucket, skip;
	int i, n;

	for (bucket = 0; bucket <= hash->ehash_mask; bucket++) {
		if (!(bucket % 1024) && pph_stop(h))
			return;
		skip = 0;
		do {
			n = pph_chain(&hash->ehash[bucket], &skip, socks);
			for (i = 0; i < n; i++) {
				if (!pph_stop(h) &&
				    !pph_sock_is_known(h, socks[i]))
					page_pool_holders_sock(h, socks[i]);
				pph_put_sock(socks[i]);
			}
		} while (n == PPH_SOCKS);
	}
}

/* The next namespace that has a hash of its own, for which @net is given up */
static struct net *pph_next_net(struct net *net)
{
	struct net *next;

	down_read(&net_rwsem);
	next = list_prepare_entry(net, &net_namespace_list, list);
	list_for_each_entry_continue(next, &net_namespace_list, list) {
		if (next->ipv4.tcp_death_row.hashinfo->pernet &&
		    maybe_get_net(next))
			goto found;
	}
	next = NULL;
found:
	up_read(&net_rwsem);
	if (net)
		put_net(net);

	return next;
}

/* TCP sockets without a file: those that wait to be accepted, and those of the
 * kernel.
 */
static void pph_nobodys(struct page_pool_holders *h)
{
	struct net *net = NULL;

	pph_hash(h, init_net.ipv4.tcp_death_row.hashinfo);
	while ((net = pph_next_net(net)))
		pph_hash(h, net->ipv4.tcp_death_row.hashinfo);
}
#else
static void pph_nobodys(struct page_pool_holders *h)
{
}
#endif

/*
 * CPUs
 */

static bool pph_walk_defer(struct page_pool_holders *h, void *queue)
{
	struct softnet_data *sd = queue;

	spin_lock_bh(&sd->defer_lock);
	pph_walk_chain(h, sd->defer_list);
	spin_unlock_bh(&sd->defer_lock);

	return true;
}

/* What the CPU has taken over for its poll it receives in the next moment. */
static bool pph_walk_cpu(struct page_pool_holders *h, void *queue)
{
	struct softnet_data *sd = queue;

	spin_lock_irq(&sd->input_pkt_queue.lock);
	pph_walk_list(h, &sd->input_pkt_queue);
	spin_unlock_irq(&sd->input_pkt_queue.lock);

	return true;
}

static void pph_cpus(struct page_pool_holders *h)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct softnet_data *sd = &per_cpu(softnet_data, cpu);

		if (pph_stop(h))
			return;

		pph_begin(h, 0);
		h->who.cpu = cpu;
		if (READ_ONCE(sd->defer_list))
			pph_queue(h, NETDEV_PAGE_POOL_HOLDER_CPU_DEFER,
				  pph_walk_defer, sd);
		/* Without RPS it is not locked. */
		if (IS_ENABLED(CONFIG_RPS) &&
		    !skb_queue_empty_lockless(&sd->input_pkt_queue))
			pph_queue(h, NETDEV_PAGE_POOL_HOLDER_CPU_BACKLOG,
				  pph_walk_cpu, sd);
	}
}

#ifdef CONFIG_BPF_SYSCALL
/* Frames begin in the page that they are in; nothing else is known of them
 * without a lock that the CPU does not take.
 */
static void pph_cpumap(struct page_pool_holders *h, struct bpf_map *map)
{
	void *frames[PPH_FRAMES_OF_MAP];
	u32 cpu, pos;
	int i, n;

	for (cpu = 0; cpu < map->max_entries && !pph_stop(h); cpu++) {
		pph_begin(h, NETDEV_PAGE_POOL_HOLDER_CPUMAP);
		h->who.cpu = cpu;
		pos = 0;
		do {
			n = cpu_map_peek(map, cpu, &pos, frames,
					 ARRAY_SIZE(frames));
			for (i = 0; i < n; i++)
				pph_collect(h, virt_to_netmem(frames[i]));
			pph_flush(h);
		} while (n == ARRAY_SIZE(frames));
	}
}

static void pph_cpumaps(struct page_pool_holders *h)
{
	struct bpf_map *map;
	u32 id = 0;

	while (!pph_stop(h) && (map = bpf_map_get_curr_or_next(&id))) {
		if (map->map_type == BPF_MAP_TYPE_CPUMAP)
			pph_cpumap(h, map);
		bpf_map_put(map);
		id++;
	}
}
#else
static void pph_cpumaps(struct page_pool_holders *h)
{
}
#endif

/*
 * What the pool knows
 */

static void pph_mark_home(netmem_ref netmem)
{
	struct pph_page *page = netmem ? pph_find(netmem) : NULL;

	if (page)
		page->flags |= PPH_HOME;
}

/* A slot that was consumed keeps its page until several are given back to
 * producers at once.
 */
static bool pph_in_ring(struct ptr_ring *ring, u32 i)
{
	u32 head = READ_ONCE(ring->consumer_head);

	if (head < ring->producer)
		return i >= head && i < ring->producer;
	if (head == ring->producer && !READ_ONCE(ring->queue[head]))
		return false;

	return i >= head || i < ring->producer;
}

/* The lock keeps the ring from being closed, but not pages from being taken
 * out.
 */
static void pph_mark_ring(struct ptr_ring *ring)
{
	u32 i, to, from = 0;
	bool more;

	do {
		spin_lock_bh(&ring->producer_lock);
		to = min_t(u32, ring->size, from + PPH_RING);
		for (i = from; i < to; i++) {
			if (pph_in_ring(ring, i))
				pph_mark_home((__force netmem_ref)
					      READ_ONCE(ring->queue[i]));
		}
		more = to < ring->size && to > from;
		spin_unlock_bh(&ring->producer_lock);
		from = to;
		cond_resched();
	} while (more);
}

static void pph_mark_parked(struct page_pool *pool)
{
	u32 i, n = READ_ONCE(pool->fill) & PP_FILL_COUNT;
	int cpu;

	for (i = 0; i < n; i++) {
		/* The consumer goes on meanwhile. */
		pph_mark_home(data_race(READ_ONCE(pool->cache[i])));
	}

	for_each_possible_cpu(cpu) {
		struct page_pool_pcpu *pcpu = per_cpu_ptr(pool->pcpu, cpu);

		/* So does the CPU. */
		n = data_race(READ_ONCE(pcpu->stage_next));
		for (i = 0; n < PP_STAGE_SIZE && i < n; i++) {
			/* As above */
			pph_mark_home(data_race(READ_ONCE(pcpu->staged[i])));
		}
	}

	pph_mark_ring(&pool->ring);
}

struct pph_present {
	struct page_pool_holders *h;
	u32 pool;
	u32 slot;	/* to go on with */
	bool more;
};

static void pph_mark_present(netmem_ref netmem, void *data)
{
	struct pph_present *p = data;
	struct pph_page *page = pph_enter(p->h, netmem, p->pool);

	if (page)
		page->flags |= PPH_PRESENT;
}

/* Pools are kept while they are visited, and all others as they are. */
static void pph_visit_last(struct page_pool *pool, void *data)
{
	struct pph_present *p = data;
	struct pph_pool *pp = &p->h->pools[p->pool];
	struct page_pool_pages pages;

	pp->gone = false;
	pp->home = 0;
	pph_mark_parked(pool);
	page_pool_get_pages(pool, &pages);
	pp->held = pages.held;
}

static void pph_visit_slots(struct page_pool *pool, void *data)
{
	struct pph_present *p = data;
	struct pph_pool *pp = &p->h->pools[p->pool];

	pp->has_table = page_pool_dma_has_table(pool);
	p->more = pp->has_table &&
		  page_pool_dma_each(pool, &p->slot, pph_mark_present, p);
}

static void pph_visit(struct page_pool *pool, void *data)
{
	struct pph_present *p = data;
	netmem_ref frag;

	frag = READ_ONCE(pool->frag_page);
	if (frag) {
		pph_begin(p->h, NETDEV_PAGE_POOL_HOLDER_FRAGMENT);
		pph_note(p->h, frag, p->pool);
	}

	pph_visit_last(pool, data);
}

static void pph_visit_pools(struct page_pool_holders *h,
			    void (*visit)(struct page_pool *pool, void *data))
{
	struct pph_present p = { .h = h };

	for (p.pool = 0; p.pool < h->nr_pools && !pph_stop(h); p.pool++) {
		struct pph_pool *pp = &h->pools[p.pool];

		pp->gone = true;
		if (pph_reserve(h, 1))
			page_pool_visit_id(pp->id, pp->pool, visit, &p);
	}
}

/* What may be many bit by bit, with room for it. */
static void pph_visit_tables(struct page_pool_holders *h)
{
	struct pph_present p = { .h = h };

	for (p.pool = 0; p.pool < h->nr_pools; p.pool++) {
		const struct pph_pool *pp = &h->pools[p.pool];

		p.slot = 0;
		do {
			p.more = false;
			if (pph_stop(h) || !pph_reserve(h, PP_DMA_EACH))
				return;
			page_pool_visit_id(pp->id, pp->pool, pph_visit_slots,
					   &p);
		} while (p.more);
	}
}

/* Look for pages of pools without a table in all of the memory. */
static void pph_scan_frames(struct page_pool_holders *h, unsigned long *pfn,
			    unsigned long end)
{
	for (; *pfn < end && h->nr_batch < PPH_BATCH; ++*pfn) {
		struct page *page;
		int pool;

#ifdef CONFIG_SPARSEMEM
		if (!online_section_nr(pfn_to_section_nr(*pfn))) {
			*pfn |= PAGES_PER_SECTION - 1;
			continue;
		}
#endif
		page = pfn_to_online_page(*pfn);
		/* Whoever has the page may write there. */
		if (!page || !data_race(page_pool_page_is_pp(page)))
			continue;
		/* As above */
		pool = pph_pool_index(h, data_race(READ_ONCE(page->pp)));
		if (pool < 0 || h->pools[pool].has_table)
			continue;
		h->batch[h->nr_batch] = page_to_netmem(page);
		h->batch_pool[h->nr_batch++] = pool;
	}
}

static void pph_scan(struct page_pool_holders *h)
{
	struct pph_present p = { .h = h };
	unsigned long pfn = 0;
	u32 i;

	while (pfn < max_pfn && !pph_stop(h)) {
		get_online_mems();
		pph_scan_frames(h, &pfn, min(pfn + PPH_FRAMES, max_pfn));
		put_online_mems();

		for (i = 0; i < h->nr_batch; i++) {
			p.pool = h->batch_pool[i];
			pph_mark_present(h->batch[i], &p);
		}
		h->nr_batch = 0;
	}
}

static u32 pph_unknown(const struct pph_pool *pp)
{
	return pp->held - min(pp->held, pp->known - pp->home);
}

static bool pph_scan_helps(const struct page_pool_holders *h)
{
	u32 i;

	for (i = 0; i < h->nr_pools; i++) {
		const struct pph_pool *pp = &h->pools[i];

		if (!pp->gone && !pp->has_table && pph_unknown(pp))
			return true;
	}

	return false;
}

/* Call @each for what this look saw. */
static void pph_each_page(struct page_pool_holders *h,
			  void (*each)(struct page_pool_holders *h,
				       const struct pph_page *page))
{
	u32 i;

	for (i = 0; pph_seen.page && i < BIT(pph_seen.bits); i++) {
		const struct pph_page *page = &pph_seen.page[i];

		if (page->netmem && page->look == pph_look)
			each(h, page);
		cond_resched();
	}
}

static void pph_count_home(struct page_pool_holders *h,
			   const struct pph_page *page)
{
	if (page->holders && page->flags & PPH_HOME)
		h->pools[page->pool].home++;
}

static void pph_date_unknown(struct page_pool_holders *h,
			     const struct pph_page *page)
{
	u32 nr = h->pools[page->pool].unknown;

	if (nr && !page->holders && page->flags == PPH_PRESENT)
		pph_date(&h->records[nr - 1],
			 (__force netmem_ref)page->netmem, page->since);
}

/* A record for what was found nowhere */
static void pph_note_unknown(struct page_pool_holders *h, u32 pool)
{
	struct pph_pool *pp = &h->pools[pool];
	u32 unknown = pph_unknown(pp);

	pp->returned = pp->known + unknown - pp->held;
	if (!unknown)
		return;

	pph_begin(h, NETDEV_PAGE_POOL_HOLDER_UNKNOWN);
	pp->unknown = pph_record(h, pool);
	if (pp->unknown)
		h->records[pp->unknown - 1].pages = unknown;
	else
		h->err = -ENOMEM;
}

static void pph_sum_up(struct page_pool_holders *h)
{
	u32 i;

	pph_visit_tables(h);
	pph_visit_pools(h, pph_visit);
	pph_each_page(h, pph_count_home);
	if (h->scan && pph_scan_helps(h)) {
		pph_scan(h);
		/* Some may have gone home while they were looked for. */
		pph_visit_pools(h, pph_visit_last);
		pph_each_page(h, pph_count_home);
	}

	for (i = 0; i < h->nr_pools && !pph_stop(h); i++) {
		if (!h->pools[i].gone)
			pph_note_unknown(h, i);
	}
	pph_each_page(h, pph_date_unknown);
}

/*
 * A look
 */

static int pph_cmp_id(const void *key, const void *elt)
{
	const struct pph_pool *pp = elt;
	u32 id = *(u32 *)key;

	return id < pp->id ? -1 : id > pp->id;
}

/* What has come home begins anew when it is seen again. Pages that this look did
 * not get to, or was not asked for, are kept, but not longer than their pool.
 */
static bool pph_keep(const struct pph_page *page, void *data)
{
	const struct page_pool_holders *h = data;

	if (page->look == pph_look)
		return !(page->flags & PPH_HOME);

	return page_pool_is_listed(page->pool_id) &&
	       (h->err || !bsearch(&page->pool_id, h->pools, h->nr_pools,
				   sizeof(*h->pools), pph_cmp_id));
}

VISIBLE_IF_KUNIT int page_pool_holders_begin(struct page_pool_holders *h)
{
	u32 i;

	h->by_pointer = kvmalloc_array(max(h->nr_pools, 1U),
				       sizeof(*h->by_pointer), GFP_KERNEL);
	if (!h->by_pointer)
		return -ENOMEM;
	for (i = 0; i < h->nr_pools; i++)
		h->by_pointer[i] = i;
	sort_r(h->by_pointer, h->nr_pools, sizeof(*h->by_pointer),
	       pph_cmp_pointer, NULL, h);

	if (mutex_lock_interruptible(&pph_lock))
		return -EINTR;
	h->now = pph_now();
	pph_look++;

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_holders_begin);

VISIBLE_IF_KUNIT int page_pool_holders_end(struct page_pool_holders *h)
{
	pph_sum_up(h);
	h->now = pph_now();
	/* If there is no memory for a smaller table the old one will do. */
	pph_table_rebuild(&pph_seen, pph_seen.nr, pph_keep, h);
	h->seen = pph_seen.nr;

	mod_delayed_work(system_power_efficient_wq, &pph_forget_work, PPH_KEEP);
	mutex_unlock(&pph_lock);
	h->done = !h->err;

	return h->err;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_holders_end);

/**
 * page_pool_holders_look() - find out who holds pages
 * @h:	which pools to look at
 *
 * Context: Task, sleeps.
 *
 * Return: 0, and the answer is in @h; -EINTR, -ENOMEM.
 */
VISIBLE_IF_KUNIT int page_pool_holders_look(struct page_pool_holders *h)
{
	int err = page_pool_holders_begin(h);

	if (err)
		return err;

	if (h->any) {
		pph_tasks(h);
		pph_nobodys(h);
		pph_cpus(h);
		pph_cpumaps(h);
	}

	return page_pool_holders_end(h);
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_holders_look);

VISIBLE_IF_KUNIT struct page_pool_holders *
page_pool_holders_alloc(const struct net *net, bool scan)
{
	struct page_pool_holders *h = kvzalloc(sizeof(*h), GFP_KERNEL);

	if (!h)
		return NULL;

	h->net = net;
	h->scan = scan;
	h->cred = get_current_cred();
	h->pid_ns = get_pid_ns(task_active_pid_ns(current));
	xa_init(&h->socks);

	return h;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_holders_alloc);

/* One more pool to look at; in the order of their ids. */
VISIBLE_IF_KUNIT void page_pool_holders_add(struct page_pool *pool, void *data)
{
	struct page_pool_holders *h = data;
	struct page_pool_pages pages;

	if (!pph_grow((void **)&h->pools, h->nr_pools, &h->max_pools,
		      sizeof(*h->pools))) {
		h->err = -ENOMEM;
		return;
	}
	page_pool_get_pages(pool, &pages);
	h->any |= pages.held;
	h->pools[h->nr_pools++] = (struct pph_pool) {
		.pool = pool,
		.id = pool->user.id,
	};
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_holders_add);

VISIBLE_IF_KUNIT void page_pool_holders_free(struct page_pool_holders *h)
{
	xa_destroy(&h->socks);
	put_pid_ns(h->pid_ns);
	put_cred(h->cred);
	kvfree(h->pools);
	kvfree(h->by_pointer);
	kvfree(h->records);
	kvfree(h);
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_holders_free);

/*
 * Messages
 */

struct pph_ctx {
	struct page_pool_holders *h;
};

int netdev_nl_page_pool_holders_get_start(struct netlink_callback *cb)
{
	const struct genl_info *info = genl_info_dump(cb);
	const struct nlattr *id = info->attrs[NETDEV_A_PAGE_POOL_HOLDERS_ID];
	struct pph_ctx *ctx = (void *)cb->ctx;
	struct page_pool_holders *h;
	int err;

	NL_ASSERT_DUMP_CTX_FITS(struct pph_ctx);

	h = page_pool_holders_alloc(genl_info_net(info),
				    info->attrs[NETDEV_A_PAGE_POOL_HOLDERS_SCAN]);
	if (!h)
		return -ENOMEM;

	page_pool_visit_shown(genl_info_net(info), cb->skb,
			      id ? nla_get_uint(id) : 0,
			      page_pool_holders_add, h);
	err = h->err;
	if (!err && id && !h->nr_pools) {
		NL_SET_BAD_ATTR(info->extack, id);
		err = -ENOENT;
	}
	if (err) {
		page_pool_holders_free(h);
		return err;
	}
	ctx->h = h;

	return 0;
}

int netdev_nl_page_pool_holders_get_done(struct netlink_callback *cb)
{
	struct pph_ctx *ctx = (void *)cb->ctx;

	page_pool_holders_free(ctx->h);

	return 0;
}

static int pph_put_socket(struct sk_buff *msg, const struct pph_record *r)
{
	size_t len = r->family == AF_INET ? 4 : 16;

	if (nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_NETNS, r->netns) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_FAMILY, r->family) ||
	    (r->inode && nla_put_uint(msg, NETDEV_A_PAGE_POOL_HOLDERS_INODE,
				      r->inode)) ||
	    ((r->pid || r->hidden) &&
	     nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_PID, r->pid)) ||
	    (r->comm[0] && nla_put_string(msg, NETDEV_A_PAGE_POOL_HOLDERS_COMM,
					  r->comm)))
		return -EMSGSIZE;

	if ((r->family == AF_INET || r->family == AF_INET6) &&
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_PROTOCOL, r->protocol))
		return -EMSGSIZE;
	if (!r->has_addr)
		return 0;

	if (nla_put(msg, NETDEV_A_PAGE_POOL_HOLDERS_LOCAL_ADDR, len,
		    &r->local) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_LOCAL_PORT,
			r->local_port) ||
	    nla_put(msg, NETDEV_A_PAGE_POOL_HOLDERS_REMOTE_ADDR, len,
		    &r->remote) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_REMOTE_PORT,
			r->remote_port))
		return -EMSGSIZE;

	return 0;
}

static int pph_put_record(struct sk_buff *msg,
			  const struct page_pool_holders *h,
			  const struct pph_record *r)
{
	if (nla_put_uint(msg, NETDEV_A_PAGE_POOL_HOLDERS_ID,
			 h->pools[r->pool].id) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_KIND, r->kind) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_PAGES, r->pages) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_SHARED, r->shared) ||
	    (r->partial &&
	     nla_put_flag(msg, NETDEV_A_PAGE_POOL_HOLDERS_PARTIAL)))
		return -EMSGSIZE;

	if (r->since &&
	    (nla_put_uint(msg, NETDEV_A_PAGE_POOL_HOLDERS_AGE,
			  h->now - min(h->now, r->since)) ||
	     (r->exact && nla_put_flag(msg, NETDEV_A_PAGE_POOL_HOLDERS_EXACT))))
		return -EMSGSIZE;

	switch (r->kind) {
	case NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE:
	case NETDEV_PAGE_POOL_HOLDER_SOCKET_OFO:
	case NETDEV_PAGE_POOL_HOLDER_SOCKET_BACKLOG:
		return pph_put_socket(msg, r);
	case NETDEV_PAGE_POOL_HOLDER_CPU_DEFER:
	case NETDEV_PAGE_POOL_HOLDER_CPU_BACKLOG:
	case NETDEV_PAGE_POOL_HOLDER_CPUMAP:
		return nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_CPU, r->cpu);
	}

	return 0;
}

static int pph_put_pool(struct sk_buff *msg, const struct pph_pool *pp)
{
	if (nla_put_uint(msg, NETDEV_A_PAGE_POOL_HOLDERS_ID, pp->id) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_HELD, pp->held) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_SEVERAL, pp->several) ||
	    nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_RETURNED,
			pp->returned))
		return -EMSGSIZE;

	return 0;
}

/* The @i-th message of an answer; pools come first. */
static int pph_put(struct sk_buff *msg, const struct page_pool_holders *h,
		   u32 i, const struct genl_info *info)
{
	void *hdr = genlmsg_iput(msg, info);
	int err;

	if (!hdr)
		return -EMSGSIZE;

	if (!h->begun)
		err = nla_put_u32(msg, NETDEV_A_PAGE_POOL_HOLDERS_POOLS,
				  h->nr_pools);
	else if (i < h->nr_pools)
		err = pph_put_pool(msg, &h->pools[i]);
	else
		err = pph_put_record(msg, h, &h->records[i - h->nr_pools]);

	if (err)
		genlmsg_cancel(msg, hdr);
	else
		genlmsg_end(msg, hdr);

	return err;
}

static bool pph_is_told(const struct page_pool_holders *h, u32 i)
{
	if (i >= h->nr_pools)
		i = h->records[i - h->nr_pools].pool;

	return !h->pools[i].gone;
}

VISIBLE_IF_KUNIT int page_pool_holders_dump(struct sk_buff *skb,
					    struct page_pool_holders *h,
					    const struct genl_info *info)
{
	int err;

	/* The request is handled with all of generic netlink locked, so that is
	 * only begun to be answered. The reader does the work.
	 */
	if (!h->begun) {
		err = pph_put(skb, h, 0, info);
		if (err)
			return err;
		h->begun = true;
		return skb->len;
	}

	if (!h->done) {
		err = page_pool_holders_look(h);
		if (err)
			return err;
	}

	for (; h->next < h->nr_pools + h->nr_records; h->next++) {
		if (!pph_is_told(h, h->next))
			continue;
		err = pph_put(skb, h, h->next, info);
		if (err)
			return err;
	}

	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(page_pool_holders_dump);

int netdev_nl_page_pool_holders_get_dumpit(struct sk_buff *skb,
					   struct netlink_callback *cb)
{
	struct pph_ctx *ctx = (void *)cb->ctx;

	return page_pool_holders_dump(skb, ctx->h, genl_info_dump(cb));
}
