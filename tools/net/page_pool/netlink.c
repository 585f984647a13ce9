// SPDX-License-Identifier: GPL-2.0
/*
 * What the kernel tells of page pools, through YNL's generated code. It skips
 * attributes that it does not know, and marks those that came, so that one program
 * serves kernels with more and with less.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ynl.h>
#include "netdev-user.h"

#include "ppstat.h"

#define NETNS_DIR	"/run/netns"

/* A dump that pools came into while it went on is asked for again. */
#define DUMP_TRIES	10

void pp_error(const char *fmt, ...)
{
	va_list ap;

	fputs("ppstat: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static const char *release(void)
{
	static struct utsname uts;

	return uname(&uts) ? "?" : uts.release;
}

int pp_enter_netns(const char *name)
{
	char path[4096];
	int fd, err;

	if (strchr(name, '/'))
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), NETNS_DIR "/%s", name);

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err = errno;
		pp_error("no network namespace %s: %s", name, strerror(err));
		return err == EACCES ? PP_DENIED : PP_NO_SUCH;
	}
	err = setns(fd, CLONE_NEWNET) ? errno : 0;
	close(fd);
	if (!err)
		return PP_OK;
	if (err == EPERM) {
		pp_error("entering network namespace %s needs CAP_SYS_ADMIN",
			 name);
		return PP_DENIED;
	}
	pp_error("cannot enter network namespace %s: %s", name, strerror(err));
	return err == EINVAL ? PP_NO_SUCH : PP_FAILED;
}

int pp_open(struct ynl_sock **ys)
{
	struct ynl_error err = {};

	errno = 0;
	*ys = ynl_sock_create(&ynl_netdev_family, &err);
	if (*ys)
		return PP_OK;
	if (err.code == ENOENT) {
		pp_error("Linux %s has no netlink family netdev (6.8 and later tell of page pools)",
			 release());
		return PP_NOT_OFFERED;
	}
	pp_error("netlink: %s", err.msg[0] ? err.msg : strerror(errno));
	return err.code == EPERM || err.code == EACCES ? PP_DENIED : PP_FAILED;
}

void pp_close(struct ynl_sock *ys)
{
	if (ys)
		ynl_sock_destroy(ys);
}

static int failed(const struct ynl_error *err)
{
	switch ((int)err->code) {
	case EOPNOTSUPP:
		pp_error("Linux %s tells nothing of page pools (6.8 and later can)",
			 release());
		return PP_NOT_OFFERED;
	case EPERM:
	case EACCES:
		pp_error("no permission to read page pools");
		return PP_DENIED;
	case YNL_ERROR_DUMP_INTER:
		pp_error("pools come and go faster than they can be listed");
		return PP_FAILED;
	}
	/* recv() has failed when nothing is said */
	pp_error("netlink: %s", err->msg[0] ? err->msg : strerror(errno));
	return PP_FAILED;
}

static void fill_detail(struct pp_pool *p,
			const struct netdev_page_pool_detail *d)
{
	p->has_detail = true;
	if (d->_present.dev_name_len)
		p->dev_name = pp_plain(strdup(d->dev_name));
	if (d->_present.order)
		p->order = d->order;
	p->node = d->_present.node ? d->node : -1;
	p->flags = d->flags;
	p->ring_size = d->ring_size;
	p->array = d->array;
	p->staged = d->staged;
	p->ring = d->ring;
	p->held = d->held;
	p->allocated = d->allocated;
	p->released = d->released;
	p->age = d->age;
}

static void fill_pool(struct pp_pool *p,
		      const struct netdev_page_pool_get_rsp *rsp)
{
	memset(p, 0, sizeof(*p));
	p->id = rsp->id;
	p->queue = -1;
	p->node = -1;
	if (rsp->_present.ifindex)
		p->ifindex = rsp->ifindex;
	if (p->ifindex && !if_indextoname(p->ifindex, p->ifname))
		snprintf(p->ifname, sizeof(p->ifname), "if%u", p->ifindex);
	memcpy(p->plain, p->ifname, sizeof(p->plain));
	pp_plain(p->plain);
	if (rsp->_present.napi_id)
		p->napi_id = rsp->napi_id;
	p->has_pages = rsp->_present.inflight;
	p->pages = rsp->inflight;
	p->has_bytes = rsp->_present.inflight_mem;
	p->bytes = rsp->inflight_mem;
	p->dying = rsp->_present.detach_time;
	p->detach_time = rsp->detach_time;
	p->has_dmabuf = rsp->_present.dmabuf;
	p->dmabuf = rsp->dmabuf;
	p->order = p->has_pages && p->has_bytes ?
		   pp_order(p->pages, p->bytes) : -1;
	if (rsp->_present.detail)
		fill_detail(p, &rsp->detail);
}

static void take(struct pp_counters *c, enum pp_counter i, bool present, __u64 v)
{
	if (present)
		pp_set(c, i, v);
}

static void fill_stats(struct pp_pool *p,
		       const struct netdev_page_pool_stats_get_rsp *rsp)
{
	const struct netdev_page_pool_stats_detail *d = &rsp->detail;
	struct pp_counters *c = &p->c;
	unsigned int i;

	p->has_stats = true;
	take(c, PP_ALLOC_FAST, rsp->_present.alloc_fast,
	     rsp->alloc_fast);
	take(c, PP_ALLOC_REFILL, rsp->_present.alloc_refill,
	     rsp->alloc_refill);
	take(c, PP_ALLOC_SLOW, rsp->_present.alloc_slow,
	     rsp->alloc_slow);
	take(c, PP_ALLOC_SLOW_HIGH_ORDER, rsp->_present.alloc_slow_high_order,
	     rsp->alloc_slow_high_order);
	take(c, PP_ALLOC_EMPTY, rsp->_present.alloc_empty,
	     rsp->alloc_empty);
	take(c, PP_ALLOC_WAIVE, rsp->_present.alloc_waive,
	     rsp->alloc_waive);
	take(c, PP_RECYCLE_CACHED, rsp->_present.recycle_cached,
	     rsp->recycle_cached);
	take(c, PP_RECYCLE_RING, rsp->_present.recycle_ring,
	     rsp->recycle_ring);
	take(c, PP_RECYCLE_CACHE_FULL, rsp->_present.recycle_cache_full,
	     rsp->recycle_cache_full);
	take(c, PP_RECYCLE_RING_FULL, rsp->_present.recycle_ring_full,
	     rsp->recycle_ring_full);
	take(c, PP_RECYCLE_RELEASED_REFCNT, rsp->_present.recycle_released_refcnt,
	     rsp->recycle_released_refcnt);
	if (!rsp->_present.detail)
		return;

	take(c, PP_RECYCLE_RELEASED_PFMEMALLOC, d->_present.recycle_released_pfmemalloc,
	     d->recycle_released_pfmemalloc);
	take(c, PP_RECYCLE_RELEASED_NID, d->_present.recycle_released_nid,
	     d->recycle_released_nid);
	p->cpus = calloc(d->n_cpu, sizeof(*p->cpus));
	if (!p->cpus)
		return;
	p->nr_cpus = d->n_cpu;
	for (i = 0; i < d->n_cpu; i++) {
		const struct netdev_page_pool_stats_cpu *cpu = &d->cpu[i];

		p->cpus[i].cpu = cpu->cpu;
		c = &p->cpus[i].c;
		take(c, PP_RECYCLE_CACHED, cpu->_present.recycle_cached,
		     cpu->recycle_cached);
		take(c, PP_RECYCLE_RING, cpu->_present.recycle_ring,
		     cpu->recycle_ring);
		take(c, PP_RECYCLE_CACHE_FULL, cpu->_present.recycle_cache_full,
		     cpu->recycle_cache_full);
		take(c, PP_RECYCLE_RING_FULL, cpu->_present.recycle_ring_full,
		     cpu->recycle_ring_full);
		take(c, PP_RECYCLE_RELEASED_REFCNT, cpu->_present.recycle_released_refcnt,
		     cpu->recycle_released_refcnt);
		take(c, PP_RECYCLE_RELEASED_PFMEMALLOC, cpu->_present.recycle_released_pfmemalloc,
		     cpu->recycle_released_pfmemalloc);
		take(c, PP_RECYCLE_RELEASED_NID, cpu->_present.recycle_released_nid,
		     cpu->recycle_released_nid);
	}
}

/* The rest of an answer that was given up is still in the socket. */
static int open_anew(struct ynl_sock **ys)
{
	pp_close(*ys);
	return pp_open(ys);
}

static bool again(const struct ynl_sock *ys, unsigned int *tries)
{
	return ys->err.code == YNL_ERROR_DUMP_INTER && ++*tries < DUMP_TRIES;
}

static int read_pools(struct ynl_sock **ys, struct pp_snap *snap)
{
	struct netdev_page_pool_get_req_dump req = {};
	struct netdev_page_pool_get_list *list;
	unsigned int tries = 0;
	size_t n = 0;
	int ret;

	/* The base takes no filter, so none is asked for. */
	while (!(list = netdev_page_pool_get_dump(*ys, &req))) {
		if (!again(*ys, &tries))
			return failed(&(*ys)->err);
		ret = open_anew(ys);
		if (ret)
			return ret;
	}
	ynl_dump_foreach(list, rsp)
		n++;
	snap->pools = calloc(n + 1, sizeof(*snap->pools));
	if (!snap->pools) {
		pp_error("out of memory");
		ret = PP_FAILED;
		goto free;
	}
	ynl_dump_foreach(list, rsp) {
		fill_pool(&snap->pools[snap->nr], rsp);
		snap->has_detail |= snap->pools[snap->nr].has_detail;
		snap->nr++;
	}
	ret = PP_OK;
free:
	netdev_page_pool_get_list_free(list);
	return ret;
}

static int read_stats(struct ynl_sock **ys, struct pp_snap *snap)
{
	struct netdev_page_pool_stats_get_req_dump req = {};
	struct netdev_page_pool_stats_get_list *list;
	unsigned int tries = 0;
	int ret;

	while (!(list = netdev_page_pool_stats_get_dump(*ys, &req))) {
		if ((int)(*ys)->err.code == EOPNOTSUPP)
			return PP_OK;
		if (!again(*ys, &tries))
			return failed(&(*ys)->err);
		ret = open_anew(ys);
		if (ret)
			return ret;
	}
	snap->has_stats = true;
	ynl_dump_foreach(list, rsp) {
		struct pp_pool *pool;

		/* It may have come after the pools were listed. */
		pool = pp_find(snap, rsp->info.id);
		if (pool && !pool->has_stats)
			fill_stats(pool, rsp);
	}
	netdev_page_pool_stats_get_list_free(list);
	return PP_OK;
}

/* Best effort: few drivers tell which NAPI instance serves which queue. */
static void read_queues(struct ynl_sock **ys, struct pp_snap *snap)
{
	struct netdev_queue_get_req_dump req = {};
	struct netdev_queue_get_list *list;
	size_t i;

	list = netdev_queue_get_dump(*ys, &req);
	if (!list) {
		open_anew(ys);
		return;
	}
	ynl_dump_foreach(list, q) {
		if (q->type != NETDEV_QUEUE_TYPE_RX || !q->_present.napi_id)
			continue;
		for (i = 0; i < snap->nr; i++)
			if (snap->pools[i].napi_id == q->napi_id &&
			    snap->pools[i].ifindex == q->ifindex &&
			    snap->pools[i].queue < 0)
				snap->pools[i].queue = q->id;
	}
	netdev_queue_get_list_free(list);
}

static bool wanted(const struct pp_pool *p, const struct pp_options *opt,
		   unsigned int ifindex)
{
	return (!opt->dev || p->ifindex == ifindex) &&
	       (!opt->pool || p->id == opt->pool) &&
	       (!opt->dying || p->dying);
}

static void pool_free(struct pp_pool *p)
{
	free(p->dev_name);
	free(p->cpus);
}

void pp_snap_free(struct pp_snap *snap)
{
	size_t i;

	for (i = 0; i < snap->nr; i++)
		pool_free(&snap->pools[i]);
	pool_free(&snap->system);
	free(snap->pools);
	memset(snap, 0, sizeof(*snap));
}

int pp_read(struct ynl_sock **ys, const struct pp_options *opt,
	    struct pp_snap *snap)
{
	unsigned int ifindex = 0;
	size_t i, n = 0;
	int ret;

	memset(snap, 0, sizeof(*snap));
	if (opt->dev) {
		ifindex = if_nametoindex(opt->dev);
		if (!ifindex) {
			pp_error("no device %s%s%s", opt->dev,
				 opt->netns ? " in network namespace " : "",
				 opt->netns ? opt->netns : "");
			return PP_NO_SUCH;
		}
	}

	ret = read_pools(ys, snap);
	if (ret)
		return ret;
	snap->time = pp_now();
	pp_sort_by_id(snap);
	ret = read_stats(ys, snap);
	if (ret) {
		pp_snap_free(snap);
		return ret;
	}
	read_queues(ys, snap);
	if (!*ys) {
		pp_snap_free(snap);
		return PP_FAILED;
	}

	for (i = 0; i < snap->nr; i++) {
		if (wanted(&snap->pools[i], opt, ifindex))
			snap->pools[n++] = snap->pools[i];
		else
			pool_free(&snap->pools[i]);
	}
	snap->nr = n;
	pp_tell_apart(snap);
	return PP_OK;
}

static void fill_addr(struct pp_addr *a, const void *addr, size_t len,
		      unsigned int port)
{
	if (len && len <= sizeof(a->addr))
		memcpy(a->addr, addr, len);
	a->port = port;
}

static void fill_holder(struct pp_holder *h,
			const struct netdev_page_pool_holders_get_rsp_dump *rsp)
{
	h->kind = rsp->kind;
	h->pages = rsp->pages;
	h->shared = rsp->shared;
	h->has_age = rsp->_present.age;
	h->age = rsp->age;
	h->exact = rsp->_present.exact;
	h->partial = rsp->_present.partial;
	h->cpu = rsp->cpu;
	h->netns = rsp->netns;
	h->pid = rsp->pid;
	h->hidden = rsp->_present.pid && !rsp->pid;
	if (rsp->_present.comm_len)
		h->comm = strdup(rsp->comm);
	h->inode = rsp->inode;
	h->family = rsp->family;
	h->protocol = rsp->protocol;
	h->has_addr = rsp->_present.local_addr_len;
	fill_addr(&h->local, rsp->local_addr, rsp->_present.local_addr_len,
		  rsp->local_port);
	fill_addr(&h->remote, rsp->remote_addr, rsp->_present.remote_addr_len,
		  rsp->remote_port);
}

/* Room for one more, in steps of powers of two */
static void *one_more(void *array, size_t nr, size_t size)
{
	char *p = array;

	if (!(nr & (nr - 1))) {
		p = reallocarray(p, nr ? 2 * nr : 1, size);
		if (!p) {
			pp_error("out of memory");
			exit(PP_FAILED);
		}
	}
	memset(p + nr * size, 0, size);
	return p;
}

void pp_holders_free(struct pp_holders *all)
{
	size_t i, n;

	for (i = 0; i < all->nr; i++) {
		for (n = 0; n < all->pools[i].nr; n++)
			free(all->pools[i].holders[n].comm);
		free(all->pools[i].holders);
	}
	free(all->pools);
	memset(all, 0, sizeof(*all));
}

static int no_holders(const struct ynl_error *err, __u64 pool)
{
	switch ((int)err->code) {
	case EOPNOTSUPP:
		pp_error("Linux %s does not tell who holds pages; try ss -tmnp and ss -uamnp",
			 release());
		return PP_NOT_OFFERED;
	case EPERM:
	case EACCES:
		pp_error("who holds pages is told to those with CAP_NET_ADMIN only");
		return PP_DENIED;
	case ENOENT:
		pp_error("no pool %llu", (unsigned long long)pool);
		return PP_NO_SUCH;
	}
	return failed(err);
}

int pp_read_holders(struct ynl_sock **ys, const struct pp_options *opt,
		    struct pp_holders *all)
{
	struct netdev_page_pool_holders_get_req_dump req = {};
	struct netdev_page_pool_holders_get_rsp_list *list;
	struct pp_held *held;

	memset(all, 0, sizeof(*all));
	if (opt->pool)
		netdev_page_pool_holders_get_req_dump_set_id(&req, opt->pool);
	if (!opt->no_scan)
		netdev_page_pool_holders_get_req_dump_set_scan(&req);
	list = netdev_page_pool_holders_get_dump(*ys, &req);
	if (!list)
		return no_holders(&(*ys)->err, opt->pool);

	ynl_dump_foreach(list, rsp) {
		if (!rsp->_present.held)
			continue;
		all->pools = one_more(all->pools, all->nr, sizeof(*all->pools));
		held = &all->pools[all->nr++];
		held->id = rsp->id;
		held->held = rsp->held;
		held->several = rsp->several;
		held->returned = rsp->returned;
	}
	ynl_dump_foreach(list, rsp) {
		held = rsp->_present.kind ? pp_held_by(all, rsp->id) : NULL;
		if (!held)
			continue;
		held->holders = one_more(held->holders, held->nr,
					 sizeof(*held->holders));
		fill_holder(&held->holders[held->nr++], rsp);
	}
	netdev_page_pool_holders_get_rsp_list_free(list);
	return PP_OK;
}

static int event_of(unsigned int cmd, enum pp_event *what)
{
	switch (cmd) {
	case NETDEV_CMD_PAGE_POOL_ADD_NTF:
		*what = PP_ADD;
		return 0;
	case NETDEV_CMD_PAGE_POOL_DEL_NTF:
		*what = PP_DEL;
		return 0;
	case NETDEV_CMD_PAGE_POOL_CHANGE_NTF:
		*what = PP_CHANGE;
		return 0;
	}
	return -1;
}

int pp_listen(struct ynl_sock *ys,
	      void (*event)(enum pp_event what, struct pp_pool *pool, void *arg),
	      void *arg)
{
	struct pollfd pfd = { .fd = ynl_socket_get_fd(ys), .events = POLLIN };
	struct ynl_ntf_base_type *ntf;
	struct pp_pool pool;
	enum pp_event what;

	if (ynl_subscribe(ys, "page-pool")) {
		pp_error("Linux %s does not notify about page pools: %s",
			 release(), ys->err.msg);
		return PP_NOT_OFFERED;
	}
	for (;;) {
		/* interrupted: whoever wants an end sends a signal */
		if (poll(&pfd, 1, -1) < 0)
			return PP_OK;
		if (ynl_ntf_check(ys) < 0 && errno == ENOBUFS)
			pp_error("events came too fast, some are lost");
		while ((ntf = ynl_ntf_dequeue(ys))) {
			if (!event_of(ntf->cmd, &what)) {
				fill_pool(&pool, &((struct netdev_page_pool_get_ntf *)ntf)->obj);
				event(what, &pool, arg);
				pool_free(&pool);
			}
			ynl_ntf_free(ntf);
		}
		if (pfd.revents & (POLLHUP | POLLNVAL))
			return PP_FAILED;
	}
}
