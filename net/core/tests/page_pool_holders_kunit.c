// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of who holds the pages of a pool: packets of each shape, in each
 * place where they wait, and what is told of them.
 *
 * Sockets of tasks are tested from user space. Those here are nobody's: TCP
 * sockets are put among the established ones as they are, others shown to the
 * walker by hand.
 */

#include <linux/completion.h>
#include <linux/in.h>
#include <linux/kthread.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/genetlink.h>
#include <net/inet_hashtables.h>
#include <net/inet_sock.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <uapi/linux/netdev.h>

#include "../page_pool_holders.h"
#include "../page_pool_priv.h"
#include "page_pool_kunit.h"

#define PPH_POOLS	2
#define PPH_SOCKS	4

/* A question about the pools of a case, and sockets that have pages of theirs */
struct pph_test {
	struct kunit *test;
	struct page_pool *pool[PPH_POOLS];
	const struct net *net;	/* of who asks */
	struct page_pool_holders *h;
	struct socket *sock[PPH_SOCKS];
	int socks;
	struct task_struct *task;
};

static void pph_test_free(struct pph_test *t)
{
	if (t->h)
		page_pool_holders_free(t->h);
	t->h = NULL;
}

static void pph_test_ask_of(struct pph_test *t, int first, bool scan)
{
	int i;

	pph_test_free(t);
	t->h = page_pool_holders_alloc(t->net, scan);
	KUNIT_ASSERT_NOT_NULL(t->test, t->h);
	for (i = first; i < PPH_POOLS; i++)
		page_pool_holders_add(t->pool[i], t->h);
	KUNIT_ASSERT_EQ(t->test, t->h->nr_pools, PPH_POOLS - first);
}

static void pph_test_ask(struct pph_test *t, bool scan)
{
	pph_test_ask_of(t, 0, scan);
}

static const struct pph_record *pph_test_record(struct pph_test *t, u32 pool,
						u8 kind)
{
	u32 i;

	for (i = 0; i < t->h->nr_records; i++) {
		const struct pph_record *r = &t->h->records[i];

		if (r->pool == pool && r->kind == kind)
			return r;
	}

	return NULL;
}

static u32 pph_test_pages(struct pph_test *t, u32 pool, u8 kind)
{
	u32 i, sum = 0;

	for (i = 0; i < t->h->nr_records; i++) {
		const struct pph_record *r = &t->h->records[i];

		if (r->pool == pool && r->kind == kind)
			sum += r->pages;
	}

	return sum;
}

/* What is told adds up to what the pool says is held. */
static void pph_test_sum(struct pph_test *t)
{
	u32 i, p, sum;

	for (p = 0; p < t->h->nr_pools; p++) {
		const struct pph_pool *pp = &t->h->pools[p];

		for (i = 0, sum = 0; i < t->h->nr_records; i++) {
			if (t->h->records[i].pool == p)
				sum += t->h->records[i].pages;
		}
		KUNIT_EXPECT_FALSE(t->test, pp->gone);
		KUNIT_EXPECT_EQ(t->test, pp->held,
				sum - pp->several - pp->returned);
	}
}

/* All that is to be seen on the machine */
static void pph_test_look(struct pph_test *t, bool scan)
{
	pph_test_ask(t, scan);
	KUNIT_ASSERT_EQ(t->test, page_pool_holders_look(t->h), 0);
	pph_test_sum(t);
}

/* These sockets alone */
static void pph_test_socks(struct pph_test *t, struct socket **socks, int n)
{
	int i;

	pph_test_ask(t, false);
	KUNIT_ASSERT_EQ(t->test, page_pool_holders_begin(t->h), 0);
	for (i = 0; i < n; i++)
		page_pool_holders_sock(t->h, socks[i]->sk);
	KUNIT_ASSERT_EQ(t->test, page_pool_holders_end(t->h), 0);
	pph_test_sum(t);
}

static void pph_test_stop(struct pph_test *t)
{
	if (t->task)
		kthread_stop(t->task);
	t->task = NULL;
}

static struct pph_test *pph_test_begin(struct kunit *test,
				       const struct page_pool_params *params)
{
	const struct page_pool_params plain = {
		.pool_size = 64,
		.nid = NUMA_NO_NODE,
	};
	struct pph_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	t->test = test;
	t->net = &init_net;
	test->priv = t;
	for (i = 0; i < PPH_POOLS; i++)
		t->pool[i] = ppk_create(test, params ? params : &plain);

	return t;
}

static struct socket *pph_test_socket(struct kunit *test, int family, int type)
{
	struct pph_test *t = test->priv;
	struct socket **sock = &t->sock[t->socks];
	int protocol = type == SOCK_RAW ? IPPROTO_ICMP : 0;

	KUNIT_ASSERT_LT(test, t->socks, PPH_SOCKS);
	if (sock_create_kern(&init_net, family, type, protocol, sock))
		kunit_skip(test, "no sockets of family %d", family);
	t->socks++;

	return *sock;
}

/* A packet with a page of each of the @n @pools, from @head on that in its head;
 * NULL: no memory.
 */
static struct sk_buff *pph_test_alloc(struct page_pool *head,
				      struct page_pool **pools, int n)
{
	struct sk_buff *skb;
	struct page *page;
	int i;

	if (head) {
		page = ppk_alloc(head);
		skb = page ? build_skb(page_address(page), PAGE_SIZE) : NULL;
		if (!skb && page)
			ppk_put(head, page);
	} else {
		skb = alloc_skb(128, GFP_KERNEL);
	}
	if (!skb)
		return NULL;

	skb_mark_for_recycle(skb);
	for (i = 0; i < n; i++) {
		page = ppk_alloc(pools[i]);
		if (!page) {
			kfree_skb(skb);
			return NULL;
		}
		skb_add_rx_frag(skb, i, page, 0, 64, PAGE_SIZE);
	}

	return skb;
}

static struct sk_buff *pph_test_skb(struct kunit *test, struct page_pool *head,
				    struct page_pool **pools, int n)
{
	struct sk_buff *skb = pph_test_alloc(head, pools, n);

	KUNIT_ASSERT_NOT_NULL(test, skb);

	return skb;
}

static void pph_test_queue(struct socket *sock, struct sk_buff *skb)
{
	skb_queue_tail(&sock->sk->sk_receive_queue, skb);
}

/* Pages in heads and in fragments, of several pools, some of them twice */
static void holders_packet(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct page_pool *both[] = { t->pool[0], t->pool[1], t->pool[1] };
	struct socket *sock = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	const struct pph_record *r;
	struct page *page;
	unsigned int off;
	struct sk_buff *skb;

	pph_test_queue(sock, pph_test_skb(test, t->pool[0], both, 3));
	pph_test_queue(sock, pph_test_skb(test, NULL, both, 1));
	/* no page of a pool */
	pph_test_queue(sock, pph_test_skb(test, NULL, NULL, 0));
	pph_test_socks(t, &sock, 1);
	KUNIT_EXPECT_EQ(test, t->h->nr_records, 2);
	r = pph_test_record(t, 0, NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->pages, 3);
	KUNIT_EXPECT_EQ(test, r->shared, 0);
	KUNIT_EXPECT_EQ(test, r->family, AF_INET);
	KUNIT_EXPECT_EQ(test, r->protocol, IPPROTO_UDP);
	KUNIT_EXPECT_EQ(test, r->netns, init_net.ns.inum);
	KUNIT_EXPECT_EQ(test, r->pid, 0);
	KUNIT_EXPECT_FALSE(test, r->partial);
	r = pph_test_record(t, 1, NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->pages, 2);

	/* two fragments of one page, which the pool has open, too */
	skb_queue_purge(&sock->sk->sk_receive_queue);
	skb = pph_test_skb(test, NULL, NULL, 0);
	page = ppk_alloc_frag(t->pool[0], &off, 512);
	KUNIT_ASSERT_NOT_NULL(test, page);
	skb_add_rx_frag(skb, 0, page, off, 512, 512);
	page = ppk_alloc_frag(t->pool[0], &off, 512);
	KUNIT_ASSERT_NOT_NULL(test, page);
	skb_add_rx_frag(skb, 1, page, off, 512, 512);
	pph_test_queue(sock, skb);
	pph_test_socks(t, &sock, 1);
	KUNIT_EXPECT_EQ(test, t->h->pools[0].held, 1);
	KUNIT_EXPECT_EQ(test, t->h->pools[0].several, 1);
	r = pph_test_record(t, 0, NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->pages, 1);
	KUNIT_EXPECT_EQ(test, r->shared, 1);
	r = pph_test_record(t, 0, NETDEV_PAGE_POOL_HOLDER_FRAGMENT);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->pages, 1);

	skb_queue_purge(&sock->sk->sk_receive_queue);
	pph_test_socks(t, &sock, 1);
	KUNIT_EXPECT_EQ(test, t->h->nr_records, 1);
}

/* Pages that the consumer took out of the ring a moment ago: their slots are not
 * given back to producers one by one.
 */
static void holders_consumed_slots(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct socket *sock = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	static struct page *pages[PP_ALLOC_CACHE_REFILL];
	const int n = ARRAY_SIZE(pages);
	int i;

	KUNIT_ASSERT_EQ(test, ppk_alloc_many(t->pool[0], pages, n), n);
	ppk_put_many(t->pool[0], pages, 5);
	for (i = 0; i < 5; i++)
		pph_test_queue(sock, pph_test_skb(test, NULL, t->pool, 1));
	KUNIT_EXPECT_EQ(test, ppk_inflight(t->pool[0]), n);

	pph_test_socks(t, &sock, 1);
	ppk_put_many(t->pool[0], pages + 5, n - 5);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0,
					     NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE),
			5);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0,
					     NETDEV_PAGE_POOL_HOLDER_UNKNOWN),
			n - 5);
	KUNIT_EXPECT_EQ(test, t->h->pools[0].returned, 0);
}

/* A page that three sockets have is told of with each, and counted once. */
static void holders_clone(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct socket *socks[3];
	struct sk_buff *skb;
	int i;

	for (i = 0; i < ARRAY_SIZE(socks); i++)
		socks[i] = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	skb = pph_test_skb(test, NULL, t->pool, 2);
	for (i = 0; i < ARRAY_SIZE(socks); i++) {
		struct sk_buff *clone = skb_clone(skb, GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, clone);
		pph_test_queue(socks[i], clone);
	}
	kfree_skb(skb);
	/* one has another page as well */
	pph_test_queue(socks[1], pph_test_skb(test, NULL, t->pool, 1));

	pph_test_socks(t, socks, ARRAY_SIZE(socks));
	KUNIT_EXPECT_EQ(test, t->h->pools[0].held, 2);
	KUNIT_EXPECT_EQ(test, t->h->pools[1].held, 1);
	KUNIT_EXPECT_EQ(test, t->h->nr_records, 6);
	for (i = 0; i < PPH_POOLS; i++) {
		KUNIT_EXPECT_EQ(test, t->h->pools[i].several, 2);
		KUNIT_EXPECT_EQ(test, t->h->pools[i].returned, 0);
	}
	for (i = 0; i < t->h->nr_records; i++) {
		const struct pph_record *r = &t->h->records[i];

		KUNIT_EXPECT_EQ(test, r->shared, 1);
		KUNIT_EXPECT_EQ(test, r->pages, i / 2 == 1 && !r->pool ? 2 : 1);
	}
}

/* Put @skb in front of the fragments of @to. */
static void pph_test_nest(struct sk_buff *to, struct sk_buff *skb)
{
	skb->next = skb_shinfo(to)->frag_list;
	skb_shinfo(to)->frag_list = skb;
}

/* Packets of packets, as deep and as long as is looked at, and beyond */
static void holders_frag_list(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct socket *sock = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	const u8 kind = NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE;
	struct sk_buff *skb, *inner;
	int i;

	skb = pph_test_skb(test, NULL, t->pool, 1);
	for (i = 0; i < 3; i++) {
		inner = skb;
		skb = pph_test_skb(test, NULL, t->pool, 1);
		pph_test_nest(skb, inner);
		pph_test_nest(skb, pph_test_skb(test, NULL, t->pool, 1));
	}
	pph_test_queue(sock, skb);
	pph_test_queue(sock, pph_test_skb(test, NULL, t->pool, 2));
	pph_test_socks(t, &sock, 1);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0, kind), 8);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 1, kind), 1);
	KUNIT_EXPECT_FALSE(test, pph_test_record(t, 0, kind)->partial);

	/* nobody knows of the innermost one */
	skb_queue_purge(&sock->sk->sk_receive_queue);
	skb = pph_test_skb(test, NULL, t->pool, 1);
	for (i = 0; i < 4; i++) {
		inner = skb;
		skb = pph_test_skb(test, NULL, t->pool, 1);
		pph_test_nest(skb, inner);
	}
	pph_test_queue(sock, skb);
	pph_test_socks(t, &sock, 1);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0, kind), 4);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0,
					     NETDEV_PAGE_POOL_HOLDER_UNKNOWN), 1);

	/* more than there is room for is cut off, and said so, but what comes
	 * before and behind it is not
	 */
	skb_queue_purge(&sock->sk->sk_receive_queue);
	pph_test_queue(sock, pph_test_skb(test, NULL, t->pool + 1, 1));
	skb = pph_test_skb(test, NULL, NULL, 0);
	for (i = 0; i < PPH_BATCH + 10; i++)
		pph_test_nest(skb, pph_test_skb(test, NULL, t->pool, 1));
	pph_test_queue(sock, skb);
	pph_test_queue(sock, pph_test_skb(test, NULL, t->pool + 1, 1));
	pph_test_socks(t, &sock, 1);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0, kind), PPH_BATCH);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0,
					     NETDEV_PAGE_POOL_HOLDER_UNKNOWN),
			10);
	KUNIT_EXPECT_TRUE(test, pph_test_record(t, 0, kind)->partial);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 1, kind), 2);
}

/* More packets, and more pages, than are looked at while a queue is locked */
static void holders_long_queue(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct socket *sock = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	const u8 kind = NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE;
	struct page_pool *many[MAX_SKB_FRAGS];
	int i;

	for (i = 0; i < 3 * PPH_HOLD + 1; i++)
		pph_test_queue(sock, pph_test_skb(test, NULL, t->pool,
						  i % PPH_HOLD < 2));
	for (i = 0; i < MAX_SKB_FRAGS; i++)
		many[i] = t->pool[1];
	for (i = 0; i < 50; i++)
		pph_test_queue(sock, pph_test_skb(test, t->pool[1], many,
						  MAX_SKB_FRAGS));

	pph_test_socks(t, &sock, 1);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0, kind), 7);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 1, kind),
			50 * (MAX_SKB_FRAGS + 1));
	KUNIT_EXPECT_EQ(test, t->h->nr_records, 2);
	KUNIT_EXPECT_EQ(test, t->h->pools[1].several, 0);
	KUNIT_EXPECT_FALSE(test, t->h->records[0].partial);
	KUNIT_EXPECT_FALSE(test, t->h->records[1].partial);
}

/* What a look finds in the receive queue of a socket that nobody has open */
static void pph_test_queued(struct pph_test *t, struct socket *sock, u32 pages,
			    bool partial)
{
	const struct pph_record *r;

	pph_test_socks(t, &sock, 1);
	r = pph_test_record(t, 0, NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE);
	KUNIT_ASSERT_NOT_NULL(t->test, r);
	KUNIT_EXPECT_EQ(t->test, r->pages, pages);
	KUNIT_EXPECT_EQ(t->test, r->partial, partial);
}

/* What is far back in a queue would take too long with it locked. */
static void holders_endless_queue(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct socket *sock = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	int i;

	for (i = 0; i < PPH_SKIP; i++)
		pph_test_queue(sock, pph_test_skb(test, NULL, t->pool, !i));
	pph_test_queue(sock, pph_test_skb(test, NULL, t->pool, 1));
	pph_test_queued(t, sock, 2, false);

	for (i = 2; i <= PPH_HOLD; i++)
		pph_test_queue(sock, pph_test_skb(test, NULL, t->pool,
						  i == PPH_HOLD));
	pph_test_queued(t, sock, 3, false);

	pph_test_queue(sock, pph_test_skb(test, NULL, t->pool, 1));
	pph_test_queued(t, sock, 3, true);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0,
					     NETDEV_PAGE_POOL_HOLDER_UNKNOWN), 1);
}

#ifdef CONFIG_INET
static void pph_test_hash(struct sock *sk, u16 port)
{
	struct inet_sock *inet = inet_sk(sk);

	inet->inet_sport = htons(port);
	inet->inet_dport = htons(port + 1);
	inet->inet_saddr = htonl(INADDR_LOOPBACK);
	inet->inet_rcv_saddr = htonl(INADDR_LOOPBACK);
	inet->inet_daddr = htonl(INADDR_LOOPBACK + 1);
	tcp_set_state(sk, TCP_ESTABLISHED);
	inet_hash(sk);
}

/* A TCP socket that is to be found among the established ones */
static struct sock *pph_test_tcp(struct kunit *test, u16 port)
{
	struct sock *sk = pph_test_socket(test, AF_INET, SOCK_STREAM)->sk;

	pph_test_hash(sk, port);

	return sk;
}

/* What TCP has received, what is early, and what came while the owner was busy */
static void holders_tcp(struct kunit *test)
{
	static const u8 kinds[] = {
		NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE,
		NETDEV_PAGE_POOL_HOLDER_SOCKET_OFO,
		NETDEV_PAGE_POOL_HOLDER_SOCKET_BACKLOG,
	};
	struct pph_test *t = pph_test_begin(test, NULL);
	struct sock *sk = pph_test_tcp(test, 40001);
	struct sk_buff *early, *backlog;
	int i;

	lock_sock(sk);
	for (i = 0; i < 3; i++)
		__skb_queue_tail(&sk->sk_receive_queue,
				 pph_test_skb(test, NULL, t->pool, 1));
	release_sock(sk);
	pph_test_look(t, false);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0, kinds[0]), 3);

	/* who would wait for an owner might do so for ever */
	lock_sock(sk);
	pph_test_look(t, false);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0, kinds[0]), 0);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0,
					     NETDEV_PAGE_POOL_HOLDER_UNKNOWN), 3);
	release_sock(sk);

	early = pph_test_skb(test, NULL, t->pool, 2);
	backlog = pph_test_skb(test, NULL, t->pool + 1, 1);
	spin_lock_bh(&sk->sk_lock.slock);
	rb_link_node(&early->rbnode, NULL, &tcp_sk(sk)->out_of_order_queue.rb_node);
	rb_insert_color(&early->rbnode, &tcp_sk(sk)->out_of_order_queue);
	sk->sk_backlog.head = backlog;
	sk->sk_backlog.tail = backlog;
	spin_unlock_bh(&sk->sk_lock.slock);

	pph_test_look(t, false);

	spin_lock_bh(&sk->sk_lock.slock);
	rb_erase(&early->rbnode, &tcp_sk(sk)->out_of_order_queue);
	sk->sk_backlog.head = NULL;
	sk->sk_backlog.tail = NULL;
	spin_unlock_bh(&sk->sk_lock.slock);
	RB_CLEAR_NODE(&early->rbnode);
	early->next = NULL;
	early->prev = NULL;
	kfree_skb(early);
	kfree_skb(backlog);
	skb_queue_purge(&sk->sk_receive_queue);

	KUNIT_EXPECT_EQ(test, t->h->nr_records, 4);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0, kinds[0]), 3);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0, kinds[1]), 1);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 1, kinds[1]), 1);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 1, kinds[2]), 1);
	for (i = 0; i < t->h->nr_records; i++) {
		const struct pph_record *r = &t->h->records[i];

		KUNIT_EXPECT_EQ(test, r->protocol, IPPROTO_TCP);
		KUNIT_EXPECT_EQ(test, r->local_port, 40001);
		KUNIT_EXPECT_EQ(test, r->remote_port, 40002);
		KUNIT_EXPECT_EQ(test, ntohl(r->local.s6_addr32[0]),
				INADDR_LOOPBACK);
		KUNIT_EXPECT_EQ(test, ntohl(r->remote.s6_addr32[0]),
				INADDR_LOOPBACK + 1);
	}

	pph_test_look(t, false);
	KUNIT_EXPECT_EQ(test, t->h->nr_records, 0);
}

/* A socket of the kernel's does not keep its namespace: who looks at it must. */
static void holders_namespace_goes(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	const u8 kind = NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE;
	struct sock *sk = pph_test_tcp(test, 40021);
	struct net *net;
	int refs;

	if (!IS_ENABLED(CONFIG_NET_NS))
		kunit_skip(test, "needs CONFIG_NET_NS");

	net = kunit_kzalloc(test, sizeof(*net), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, net);
	net->ns.inum = 1;
	lock_sock(sk);
	__skb_queue_tail(&sk->sk_receive_queue,
			 pph_test_skb(test, NULL, t->pool, 1));
	release_sock(sk);

	for (refs = 1; refs >= 0; refs--) {
		refcount_set(&net->ns.count, refs);
		sock_net_set(sk, net);
		pph_test_ask(t, false);
		KUNIT_EXPECT_EQ(test, page_pool_holders_look(t->h), 0);
		sock_net_set(sk, &init_net);
		KUNIT_EXPECT_EQ(test, refcount_read(&net->ns.count), refs);
		KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0, kind), refs);
		KUNIT_EXPECT_EQ(test, t->h->records[0].netns, refs);
	}
}

struct pph_test_comings {
	struct page_pool *pool;
	int rounds, err;
};

/* Sockets that come, receive, lose a part of it, and go */
static int pph_test_come_and_go(void *data)
{
	struct pph_test_comings *c = data;
	struct page_pool *pools[] = { c->pool, c->pool };
	struct socket *sock;
	int i, n;

	while (!kthread_should_stop()) {
		c->err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, 0,
					  &sock);
		if (c->err)
			break;
		pph_test_hash(sock->sk, 40010 + c->rounds % 8);
		/* some of them with more than is looked at in one go */
		n = c->rounds % 16 ? 20 : PPH_HOLD + 200;
		for (i = 0; i < n; i++) {
			struct sk_buff *skb = pph_test_alloc(NULL, pools, 2);

			if (!skb) {
				c->err = -ENOMEM;
				break;
			}
			lock_sock(sock->sk);
			__skb_queue_tail(&sock->sk->sk_receive_queue, skb);
			release_sock(sock->sk);
		}
		for (i = 0; i < n / 2; i++) {
			lock_sock(sock->sk);
			kfree_skb(__skb_dequeue(&sock->sk->sk_receive_queue));
			release_sock(sock->sk);
			cond_resched();
		}
		lock_sock(sock->sk);
		__skb_queue_purge(&sock->sk->sk_receive_queue);
		release_sock(sock->sk);
		tcp_set_state(sock->sk, TCP_CLOSE);
		sock_release(sock);
		WRITE_ONCE(c->rounds, c->rounds + 1);
		if (c->err)
			break;
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);

	return 0;
}

/* A socket may go, and its packets, while it is looked at. */
static void holders_socket_goes(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	unsigned long end = jiffies + 10 * HZ;
	struct pph_test_comings *c;
	struct task_struct *task;
	int found = 0, looks = 0;

	c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	c->pool = t->pool[0];
	task = kthread_run(pph_test_come_and_go, c, "pph_come_and_go");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	t->task = task;

	while ((looks < 100 || found < 20 || READ_ONCE(c->rounds) < 40) &&
	       time_before(jiffies, end)) {
		pph_test_look(t, looks % 16 == 0);
		found += !!pph_test_pages(t, 0,
					  NETDEV_PAGE_POOL_HOLDER_SOCKET_RECEIVE);
		looks++;
	}
	pph_test_stop(t);
	kunit_info(test, "%d looks, %d found something, %d sockets", looks, found,
		   c->rounds);
	KUNIT_EXPECT_EQ(test, c->err, 0);
	KUNIT_EXPECT_GT(test, found, 0);
	KUNIT_EXPECT_GT(test, c->rounds, 0);

	pph_test_look(t, true);
	KUNIT_EXPECT_EQ(test, t->h->nr_records, 0);
	KUNIT_EXPECT_EQ(test, t->h->pools[0].held, 0);
}
#endif /* CONFIG_INET */

/* Packets that another CPU is to free, or to receive, and has no time for */
static void holders_cpu(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct ppk_stager *s = ppk_stager_init(test);
	struct sk_buff *skb, *defer[3], *backlog;
	const struct pph_record *r;
	struct softnet_data *sd;
	struct page *page;
	int i;

	sd = &per_cpu(softnet_data, s->cpu);
	for (i = 0; i < ARRAY_SIZE(defer); i++)
		defer[i] = pph_test_skb(test, NULL, t->pool, 1);
	backlog = pph_test_skb(test, t->pool[1], t->pool, 1);
	page = ppk_alloc(t->pool[1]);
	KUNIT_ASSERT_NOT_NULL(test, page);

	ppk_stager_hold(s, t->pool[1], &page, 1);
	spin_lock_bh(&sd->defer_lock);
	for (i = 0; i < ARRAY_SIZE(defer); i++) {
		defer[i]->next = sd->defer_list;
		/* as others read it */
		WRITE_ONCE(sd->defer_list, defer[i]);
	}
	spin_unlock_bh(&sd->defer_lock);
	skb_queue_tail(&sd->input_pkt_queue, backlog);

	pph_test_look(t, false);

	/* with what others may have put there meanwhile */
	skb_unlink(backlog, &sd->input_pkt_queue);
	spin_lock_bh(&sd->defer_lock);
	for (i = 0; i < ARRAY_SIZE(defer); i++) {
		struct sk_buff **at = &sd->defer_list;

		while (*at && *at != defer[i])
			at = &(*at)->next;
		if (*at)
			WRITE_ONCE(*at, defer[i]->next);
	}
	spin_unlock_bh(&sd->defer_lock);
	ppk_stager_release(s);
	for (i = 0; i < ARRAY_SIZE(defer); i++) {
		skb = defer[i];
		skb_mark_not_on_list(skb);
		kfree_skb(skb);
	}
	kfree_skb(backlog);
	KUNIT_EXPECT_FALSE(test, s->timed_out);

	r = pph_test_record(t, 0, NETDEV_PAGE_POOL_HOLDER_CPU_DEFER);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->pages, ARRAY_SIZE(defer));
	KUNIT_EXPECT_EQ(test, r->cpu, s->cpu);
	KUNIT_EXPECT_FALSE(test, r->partial);
	/* Without RPS nobody knows; what is staged is the pool's. */
	for (i = 0; i < PPH_POOLS; i++) {
		r = pph_test_record(t, i, IS_ENABLED(CONFIG_RPS) ?
				    NETDEV_PAGE_POOL_HOLDER_CPU_BACKLOG :
				    NETDEV_PAGE_POOL_HOLDER_UNKNOWN);
		KUNIT_ASSERT_NOT_NULL(test, r);
		KUNIT_EXPECT_EQ(test, r->pages, 1);
		KUNIT_EXPECT_EQ(test, r->cpu, IS_ENABLED(CONFIG_RPS) ? s->cpu : 0);
	}
}

/* With interrupts off less is looked at, from less far. */
static void holders_backlog(struct kunit *test)
{
	const int reach = PPH_SKIP / (PPH_HOLD / PPH_HOLD_IRQ) + PPH_HOLD_IRQ;
	struct pph_test *t = pph_test_begin(test, NULL);
	struct ppk_stager *s = ppk_stager_init(test);
	const struct pph_record *r;
	struct sk_buff_head list;
	struct softnet_data *sd;
	struct sk_buff *skb;
	struct page *page;
	int i;

	if (!IS_ENABLED(CONFIG_RPS))
		kunit_skip(test, "needs CONFIG_RPS");

	sd = &per_cpu(softnet_data, s->cpu);
	page = ppk_alloc(t->pool[1]);
	KUNIT_ASSERT_NOT_NULL(test, page);
	ppk_stager_hold(s, t->pool[1], &page, 1);
	__skb_queue_head_init(&list);
	for (i = 0; i < reach + 2; i++) {
		skb = pph_test_alloc(NULL, t->pool, !i || i >= reach - 1);
		if (!skb)
			break;
		__skb_queue_tail(&list, skb);
	}
	spin_lock_irq(&sd->input_pkt_queue.lock);
	skb_queue_splice_init(&list, &sd->input_pkt_queue);
	spin_unlock_irq(&sd->input_pkt_queue.lock);

	pph_test_look(t, false);

	spin_lock_irq(&sd->input_pkt_queue.lock);
	skb_queue_splice_init(&sd->input_pkt_queue, &list);
	spin_unlock_irq(&sd->input_pkt_queue.lock);
	ppk_stager_release(s);
	__skb_queue_purge(&list);
	KUNIT_EXPECT_FALSE(test, s->timed_out);
	KUNIT_EXPECT_EQ(test, i, reach + 2);

	r = pph_test_record(t, 0, NETDEV_PAGE_POOL_HOLDER_CPU_BACKLOG);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->pages, 2);
	KUNIT_EXPECT_TRUE(test, r->partial);
	/* as long as one usually gets is within reach */
	KUNIT_EXPECT_GE(test, reach, 1000);
}

/* Pages of a pool that are nowhere: since when is known from its slots, of pools
 * without these only if all of the memory is looked through.
 */
static void pph_test_nowhere(struct kunit *test, bool mapped)
{
	struct page_pool_params params = {
		.pool_size = 64,
		.nid = NUMA_NO_NODE,
	};
	const struct pph_record *r;
	struct page *page[5];
	struct pph_test *t;
	u64 since;
	int i;

	if (mapped) {
		params.dev = ppk_device(test);
		params.dma_dir = DMA_FROM_DEVICE;
		params.flags = PP_FLAG_DMA_MAP;
	}
	t = pph_test_begin(test, &params);
	KUNIT_ASSERT_EQ(test, ppk_alloc_many(t->pool[0], page, 5), 5);

	pph_test_look(t, false);
	KUNIT_EXPECT_EQ(test, t->h->nr_records, 1);
	KUNIT_EXPECT_EQ(test, t->h->pools[0].has_table, mapped);
	r = pph_test_record(t, 0, NETDEV_PAGE_POOL_HOLDER_UNKNOWN);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->pages, 5);
	KUNIT_EXPECT_EQ(test, !!r->since, mapped);

	pph_test_look(t, true);
	r = pph_test_record(t, 0, NETDEV_PAGE_POOL_HOLDER_UNKNOWN);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->pages, 5);
	KUNIT_EXPECT_EQ(test, r->exact, IS_ENABLED(CONFIG_DEBUG_PAGE_POOL));
	since = r->since;
	KUNIT_EXPECT_GT(test, since, 0);
	KUNIT_EXPECT_LE(test, since, t->h->now);

	/* those that are parked meanwhile do not make the others younger */
	ppk_put(t->pool[0], page[4]);
	pph_test_look(t, true);
	r = pph_test_record(t, 0, NETDEV_PAGE_POOL_HOLDER_UNKNOWN);
	KUNIT_ASSERT_NOT_NULL(test, r);
	KUNIT_EXPECT_EQ(test, r->pages, 4);
	KUNIT_EXPECT_EQ(test, r->since, since);

	for (i = 0; i < 4; i++)
		ppk_put(t->pool[0], page[i]);
	pph_test_look(t, true);
	KUNIT_EXPECT_EQ(test, t->h->nr_records, 0);
}

static void holders_nowhere(struct kunit *test)
{
	pph_test_nowhere(test, false);
}

static void holders_nowhere_mapped(struct kunit *test)
{
	pph_test_nowhere(test, true);
}

/* A pool that is freed between question and answer is not told of. */
static void holders_pool_gone(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct socket *sock = pph_test_socket(test, AF_INET, SOCK_DGRAM);

	pph_test_queue(sock, pph_test_skb(test, NULL, t->pool, 2));
	pph_test_ask(t, false);
	KUNIT_ASSERT_EQ(test, page_pool_holders_begin(t->h), 0);
	page_pool_holders_sock(t->h, sock->sk);
	skb_queue_purge(&sock->sk->sk_receive_queue);
	ppk_destroy(t->pool[0]);
	KUNIT_EXPECT_TRUE(test, ppk_gone(t->pool[0], PPK_FREE_MS));
	KUNIT_EXPECT_EQ(test, page_pool_holders_end(t->h), 0);

	KUNIT_EXPECT_TRUE(test, t->h->pools[0].gone);
	KUNIT_EXPECT_FALSE(test, t->h->pools[1].gone);
	/* found, and home since */
	KUNIT_EXPECT_EQ(test, t->h->pools[1].held, 0);
	KUNIT_EXPECT_EQ(test, t->h->pools[1].returned, 1);
}

/* Pages of a pool that is gone are forgotten, whoever is asked about next. */
static void holders_pool_forgotten(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct socket *sock = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	const int n = 20;
	struct page *page;
	int i, err;
	u32 seen;

	page = ppk_alloc(t->pool[1]);
	KUNIT_ASSERT_NOT_NULL(test, page);
	for (i = 0; i < n; i++)
		pph_test_queue(sock, pph_test_skb(test, NULL, t->pool, 1));
	pph_test_look(t, true);
	seen = t->h->seen;
	KUNIT_EXPECT_GE(test, seen, n + 1);

	/* as long as it lives they are not */
	pph_test_ask_of(t, 1, true);
	KUNIT_ASSERT_EQ(test, page_pool_holders_look(t->h), 0);
	KUNIT_EXPECT_EQ(test, t->h->seen, seen);

	skb_queue_purge(&sock->sk->sk_receive_queue);
	ppk_destroy(t->pool[0]);
	KUNIT_EXPECT_TRUE(test, ppk_gone(t->pool[0], PPK_FREE_MS));
	/* also by a look that does not come to its end */
	for (i = 0; i < 2; i++) {
		pph_test_ask_of(t, 1, true);
		if (!i)
			set_thread_flag(TIF_SIGPENDING);
		err = page_pool_holders_look(t->h);
		clear_thread_flag(TIF_SIGPENDING);
		KUNIT_EXPECT_EQ(test, err, i ? 0 : -EINTR);
		KUNIT_EXPECT_EQ(test, t->h->seen, seen - n);
	}

	ppk_put(t->pool[1], page);
}

struct pph_test_count {
	struct xarray pages;
	int calls;
};

static void pph_test_count(netmem_ref netmem, void *data)
{
	struct pph_test_count *c = data;

	xa_store(&c->pages, (__force unsigned long)netmem / sizeof(void *),
		 xa_mk_value(1), GFP_KERNEL);
	c->calls++;
}

/* A pool with more pages than others are kept waiting for */
static void holders_many_mapped(struct kunit *test)
{
	const int n = 2 * PP_DMA_EACH + 100;
	struct page_pool_params params = {
		.flags = PP_FLAG_DMA_MAP,
		.pool_size = 64,
		.nid = NUMA_NO_NODE,
		.dma_dir = DMA_FROM_DEVICE,
	};
	struct pph_test_count *c;
	struct page **pages;
	struct pph_test *t;
	int i, got, rounds = 0;
	u32 slot = 0;
	bool more;

	params.dev = ppk_device(test);
	t = pph_test_begin(test, &params);
	c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	pages = kvcalloc(n, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	got = ppk_alloc_many(t->pool[0], pages, n);
	KUNIT_EXPECT_EQ(test, got, n);

	xa_init(&c->pages);
	do {
		c->calls = 0;
		more = page_pool_dma_each(t->pool[0], &slot, pph_test_count, c);
		KUNIT_EXPECT_LE(test, c->calls, PP_DMA_EACH);
		rounds++;
	} while (more);
	KUNIT_EXPECT_EQ(test, rounds, 3);
	for (i = 0; i < got; i++) {
		unsigned long key = (__force unsigned long)page_to_netmem(pages[i]);

		if (!xa_erase(&c->pages, key / sizeof(void *)))
			break;
	}
	KUNIT_EXPECT_EQ(test, i, got);
	xa_destroy(&c->pages);

	pph_test_look(t, false);
	KUNIT_EXPECT_GE(test, t->h->seen, got);
	KUNIT_EXPECT_EQ(test, pph_test_pages(t, 0,
					     NETDEV_PAGE_POOL_HOLDER_UNKNOWN),
			got);
	KUNIT_EXPECT_GT(test, t->h->records[0].since, 0);
	ppk_put_many(t->pool[0], pages, got);
	kvfree(pages);
}

#define PPH_ROOM	8192

static int pph_test_dump(struct page_pool_holders *h, struct sk_buff *skb,
			 unsigned int room)
{
	const struct genl_family family = { .name = "pph" };
	struct genl_info info;

	genl_info_init_ntf(&info, &family, NETDEV_CMD_PAGE_POOL_HOLDERS_GET);
	__skb_trim(skb, 0);
	skb->data = skb->head;
	skb_reset_tail_pointer(skb);
	skb_reserve(skb, skb_tailroom(skb) - room);

	return page_pool_holders_dump(skb, h, &info);
}

/* Who asks from within another namespace is not told whose the socket is. */
static void holders_other_namespace(struct kunit *test)
{
	static const int whose[] = {
		NETDEV_A_PAGE_POOL_HOLDERS_INODE,
		NETDEV_A_PAGE_POOL_HOLDERS_LOCAL_ADDR,
		NETDEV_A_PAGE_POOL_HOLDERS_LOCAL_PORT,
		NETDEV_A_PAGE_POOL_HOLDERS_REMOTE_ADDR,
		NETDEV_A_PAGE_POOL_HOLDERS_REMOTE_PORT,
	};
	struct pph_test *t = pph_test_begin(test, NULL);
	struct socket *sock = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	struct nlmsghdr *nlh;
	struct sk_buff *skb;
	struct net *other;
	int i, inside;

	if (!IS_ENABLED(CONFIG_NET_NS))
		kunit_skip(test, "needs CONFIG_NET_NS");

	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	skb = alloc_skb(PPH_ROOM, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	pph_test_queue(sock, pph_test_skb(test, NULL, t->pool, 1));
	for (inside = 0; inside < 2; inside++) {
		t->net = inside ? other : &init_net;
		pph_test_socks(t, &sock, 1);
		KUNIT_EXPECT_EQ(test, t->h->nr_records, 1);
		t->h->begun = true;
		t->h->next = PPH_POOLS;
		KUNIT_EXPECT_EQ(test, pph_test_dump(t->h, skb, PPH_ROOM), 0);
		nlh = nlmsg_hdr(skb);
		KUNIT_EXPECT_NOT_NULL(test, nlmsg_find_attr(nlh, GENL_HDRLEN,
							    NETDEV_A_PAGE_POOL_HOLDERS_PAGES));
		KUNIT_EXPECT_NOT_NULL(test, nlmsg_find_attr(nlh, GENL_HDRLEN,
							    NETDEV_A_PAGE_POOL_HOLDERS_NETNS));
		KUNIT_EXPECT_NOT_NULL(test, nlmsg_find_attr(nlh, GENL_HDRLEN,
							    NETDEV_A_PAGE_POOL_HOLDERS_PROTOCOL));
		for (i = 0; i < ARRAY_SIZE(whose); i++)
			KUNIT_EXPECT_EQ_MSG(test, inside,
					    !nlmsg_find_attr(nlh, GENL_HDRLEN,
							     whose[i]),
					    "attribute %d", whose[i]);
	}
	kfree_skb(skb);
}

/* The boundary between two messages may fall anywhere. */
static void holders_any_room(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	unsigned int room, most = 0, all, got;
	struct socket *socks[3];
	struct sk_buff *skb;
	struct nlmsghdr *nlh;
	struct page *page;
	u8 *want;
	int len, err;
	u32 i;

	socks[0] = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	socks[1] = pph_test_socket(test, AF_INET, SOCK_RAW);
	socks[2] = pph_test_socket(test, IS_ENABLED(CONFIG_IPV6) ? AF_INET6 :
				   AF_INET, SOCK_DGRAM);
	for (i = 0; i < ARRAY_SIZE(socks); i++)
		pph_test_queue(socks[i], pph_test_skb(test, NULL, t->pool, 2));
	/* held by nobody who is known */
	page = ppk_alloc(t->pool[0]);
	KUNIT_ASSERT_NOT_NULL(test, page);
	pph_test_socks(t, socks, ARRAY_SIZE(socks));
	ppk_put(t->pool[0], page);
	KUNIT_ASSERT_EQ(test, t->h->nr_records, 7);
	/* as long as a message can be */
	for (i = 0; i < t->h->nr_records; i++) {
		struct pph_record *r = &t->h->records[i];

		r->partial = true;
		r->exact = true;
		r->since = 1;
		r->pid = 1;
		r->inode = U64_MAX;
		strscpy(r->comm, "fifteen letters", sizeof(r->comm));
	}

	want = kunit_kzalloc(test, PPH_ROOM, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, want);
	skb = alloc_skb(PPH_ROOM, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	/* the first message is alone */
	len = pph_test_dump(t->h, skb, PPH_ROOM);
	KUNIT_EXPECT_EQ(test, len, skb->len);
	KUNIT_EXPECT_TRUE(test, nlmsg_find_attr(nlmsg_hdr(skb), GENL_HDRLEN,
						NETDEV_A_PAGE_POOL_HOLDERS_POOLS));
	t->h->begun = false;
	KUNIT_EXPECT_EQ(test, pph_test_dump(t->h, skb, len - 1), -EMSGSIZE);
	KUNIT_EXPECT_EQ(test, skb->len, 0);
	KUNIT_EXPECT_FALSE(test, t->h->begun);
	t->h->begun = true;

	KUNIT_EXPECT_EQ(test, pph_test_dump(t->h, skb, PPH_ROOM), 0);
	all = skb->len;
	memcpy(want, skb->data, all);
	i = 0;
	len = all;
	for (nlh = nlmsg_hdr(skb); nlmsg_ok(nlh, len); nlh = nlmsg_next(nlh, &len)) {
		most = max(most, NLMSG_ALIGN(nlh->nlmsg_len));
		i++;
	}
	KUNIT_EXPECT_EQ(test, i, t->h->nr_pools + t->h->nr_records);

	for (room = most; room <= all; room++) {
		t->h->next = 0;
		got = 0;
		do {
			err = pph_test_dump(t->h, skb, room);
			if ((err && err != -EMSGSIZE) || (err && !skb->len) ||
			    got + skb->len > all ||
			    memcmp(want + got, skb->data, skb->len)) {
				KUNIT_FAIL(test, "room for %u of %u: %d at %u",
					   room, all, err, got);
				goto out;
			}
			got += skb->len;
		} while (err);
		KUNIT_EXPECT_EQ_MSG(test, got, all, "room for %u", room);
	}

	/* not even one fits: said so, and nothing skipped */
	for (room = 0; room < most; room++) {
		t->h->next = 0;
		do {
			i = t->h->next;
			err = pph_test_dump(t->h, skb, room);
		} while (err == -EMSGSIZE && skb->len);
		KUNIT_EXPECT_EQ_MSG(test, err, -EMSGSIZE, "room for %u", room);
		KUNIT_EXPECT_EQ_MSG(test, i, t->h->next, "room for %u", room);
	}
out:
	kfree_skb(skb);
}

/* Who asks may have had enough of it. */
static void holders_interrupted(struct kunit *test)
{
	struct pph_test *t = pph_test_begin(test, NULL);
	struct socket *sock = pph_test_socket(test, AF_INET, SOCK_DGRAM);
	int err;

	pph_test_queue(sock, pph_test_skb(test, NULL, t->pool, 2));
	pph_test_ask(t, true);
	set_thread_flag(TIF_SIGPENDING);
	err = page_pool_holders_look(t->h);
	clear_thread_flag(TIF_SIGPENDING);
	KUNIT_EXPECT_EQ(test, err, -EINTR);

	pph_test_socks(t, &sock, 1);
	KUNIT_EXPECT_EQ(test, t->h->nr_records, 2);
}

static void pph_exit(struct kunit *test)
{
	struct pph_test *t = test->priv;
	int i;

	if (t) {
		pph_test_stop(t);
		pph_test_free(t);
		for (i = 0; i < t->socks; i++) {
			struct sock *sk = t->sock[i]->sk;

			if (IS_ENABLED(CONFIG_INET) &&
			    sk->sk_state == TCP_ESTABLISHED)
				tcp_set_state(sk, TCP_CLOSE);
			skb_queue_purge(&sk->sk_receive_queue);
			sock_release(t->sock[i]);
		}
	}
	ppk_exit(test);
}

static struct kunit_case pph_cases[] = {
	KUNIT_CASE(holders_packet),
	KUNIT_CASE(holders_consumed_slots),
	KUNIT_CASE(holders_clone),
	KUNIT_CASE(holders_frag_list),
	KUNIT_CASE(holders_long_queue),
	KUNIT_CASE(holders_endless_queue),
#ifdef CONFIG_INET
	KUNIT_CASE(holders_tcp),
	KUNIT_CASE(holders_namespace_goes),
	KUNIT_CASE_SLOW(holders_socket_goes),
#endif
	KUNIT_CASE(holders_cpu),
	KUNIT_CASE(holders_backlog),
	KUNIT_CASE(holders_nowhere),
	KUNIT_CASE(holders_nowhere_mapped),
	KUNIT_CASE(holders_pool_gone),
	KUNIT_CASE(holders_pool_forgotten),
	KUNIT_CASE(holders_many_mapped),
	KUNIT_CASE(holders_other_namespace),
	KUNIT_CASE(holders_any_room),
	KUNIT_CASE(holders_interrupted),
	{}
};

static struct kunit_suite pph_suite = {
	.name = "page_pool_holders",
	.init = ppk_init,
	.exit = pph_exit,
	.test_cases = pph_cases,
};

kunit_test_suite(pph_suite);
