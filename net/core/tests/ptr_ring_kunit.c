// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ptr_ring: producing and consuming in batches.
 *
 * A model, a plain list of what is in the ring, is taken along. After each step
 * every slot is looked at: entries stand where they belong and in order, and
 * slots that were consumed are empty again, but for a few of the last, which
 * the consumer may keep for a while.
 */

#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/ptr_ring.h>
#include <linux/sched.h>

#define RING_MAX	40
/* More than any ring has room for */
#define OPS_MAX		(RING_MAX + 4)

struct prk {
	struct ptr_ring ring;
	/* The model */
	int size, n, head;
	void *fifo[RING_MAX];
	/* Values are never used twice. */
	unsigned long next;
	int wrong;
	const char *what;	/* the first thing that was wrong */
	int line;
};

#define prk_check(k, cond)	__prk_check(k, cond, #cond, __LINE__)

static void __prk_check(struct prk *k, bool good, const char *what, int line)
{
	if (good || k->wrong++)
		return;
	k->what = what;
	k->line = line;
}

/* Entries that did not fit, as they were handed to destroy() */
static void *prk_destroyed[OPS_MAX];
static int prk_ndestroyed;

static void prk_destroy(void *ptr)
{
	if (prk_ndestroyed < OPS_MAX)
		prk_destroyed[prk_ndestroyed] = ptr;
	prk_ndestroyed++;
}

/* Slots that were consumed and that producers have not got back */
static int prk_lag(const struct prk *k)
{
	return k->ring.consumer_head - k->ring.consumer_tail;
}

static void prk_look(struct prk *k)
{
	const struct ptr_ring *r = &k->ring;
	int i, lag = prk_lag(k);

	prk_check(k, r->size == k->size);
	prk_check(k, __ptr_ring_empty(&k->ring) == !k->n);
	if (!k->size)
		return;

	prk_check(k, r->consumer_head == k->head);
	prk_check(k, r->producer == (k->head + k->n) % k->size);
	prk_check(k, lag >= 0 && lag < r->batch);
	prk_check(k, k->n + lag <= k->size);
	for (i = 0; i < k->n; i++)
		prk_check(k, r->queue[(k->head + i) % k->size] == k->fifo[i]);
	for (; i < k->size - lag; i++)
		prk_check(k, !r->queue[(k->head + i) % k->size]);
	for (; i < k->size; i++)
		prk_check(k, r->queue[(k->head + i) % k->size]);
}

static void prk_model_produce(struct prk *k, void *ptr)
{
	if (k->n < RING_MAX)
		k->fifo[k->n++] = ptr;
}

static void *prk_model_consume(struct prk *k)
{
	void *ptr;

	if (!k->n)
		return NULL;
	ptr = k->fifo[0];
	memmove(k->fifo, k->fifo + 1, --k->n * sizeof(*k->fifo));
	if (++k->head == k->size)
		k->head = 0;
	return ptr;
}

static void *prk_new(struct prk *k)
{
	k->next++;
	return (void *)k->next;
}

static void prk_produce(struct prk *k)
{
	bool room = k->n + prk_lag(k) < k->size;
	void *ptr = prk_new(k);
	int err = ptr_ring_produce(&k->ring, ptr);

	prk_check(k, err == (room ? 0 : -ENOSPC));
	if (!err)
		prk_model_produce(k, ptr);
	prk_look(k);
}

static void prk_produce_batched(struct prk *k, int n)
{
	int i, done, room = k->size - k->n - prk_lag(k);
	void *ptr[OPS_MAX];

	for (i = 0; i < n; i++)
		ptr[i] = prk_new(k);
	spin_lock(&k->ring.producer_lock);
	done = __ptr_ring_produce_batched(&k->ring, ptr, n);
	spin_unlock(&k->ring.producer_lock);

	prk_check(k, done == min(n, room));
	for (i = 0; i < done; i++)
		prk_model_produce(k, ptr[i]);
	prk_look(k);
}

static void prk_consume(struct prk *k)
{
	void *ptr = ptr_ring_consume(&k->ring);

	prk_check(k, ptr == prk_model_consume(k));
	prk_look(k);
}

/* Returns how many there were; they are left in @ptr. */
static int prk_consume_batched(struct prk *k, void **ptr, int n)
{
	void *guard = prk_new(k);
	int i, done, have = k->n;

	for (i = 0; i < OPS_MAX; i++)
		ptr[i] = guard;
	done = ptr_ring_consume_batched(&k->ring, ptr, n);

	prk_check(k, done == min(n, have));
	for (i = 0; i < done; i++)
		prk_check(k, ptr[i] == prk_model_consume(k));
	for (; i < OPS_MAX; i++)
		prk_check(k, ptr[i] == guard);
	prk_look(k);
	return done;
}

/* The last of the batch are the first that must fit. */
static void prk_unconsume(struct prk *k, void **ptr, int n)
{
	int i, fit = min(n, k->size - k->n);

	prk_ndestroyed = 0;
	ptr_ring_unconsume(&k->ring, ptr, n, prk_destroy);

	prk_check(k, prk_ndestroyed == n - fit);
	for (i = 0; i < n - fit; i++)
		prk_check(k, prk_destroyed[n - fit - 1 - i] == ptr[i]);
	memmove(k->fifo + fit, k->fifo, k->n * sizeof(*k->fifo));
	memcpy(k->fifo, ptr + n - fit, fit * sizeof(*k->fifo));
	k->n += fit;
	if (k->size)
		k->head = (k->head + k->size - fit) % k->size;
	prk_look(k);
}

/* The oldest stay. */
static void prk_resize(struct prk *k, int size)
{
	int i, fit = min(k->n, size);

	prk_ndestroyed = 0;
	prk_check(k, !ptr_ring_resize(&k->ring, size, GFP_KERNEL, prk_destroy));

	prk_check(k, prk_ndestroyed == k->n - fit);
	for (i = fit; i < k->n; i++)
		prk_check(k, prk_destroyed[i - fit] == k->fifo[i]);
	k->size = size;
	k->n = fit;
	k->head = 0;
	prk_look(k);
}

static void prk_cleanup(void *arg)
{
	struct ptr_ring *ring = arg;

	ptr_ring_cleanup(ring, NULL);
}

static struct prk *prk_init(struct kunit *test, int size)
{
	struct prk *k = kunit_kzalloc(test, sizeof(*k), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, k);
	KUNIT_ASSERT_EQ(test, 0, ptr_ring_init(&k->ring, size, GFP_KERNEL));
	kunit_add_action(test, prk_cleanup, &k->ring);
	k->size = size;
	return k;
}

static void prk_expect_right(struct kunit *test, struct prk *k)
{
	KUNIT_EXPECT_EQ_MSG(test, k->wrong, 0, "size %d: line %d, %s", k->size,
			    k->line, k->what ?: "");
}

/* Entries that pass through an empty ring take it to @at. */
static void prk_go_to(struct prk *k, int at)
{
	void *ptr[OPS_MAX];
	int n;

	while (k->head != at) {
		n = (at - k->head + k->size) % k->size;
		prk_produce_batched(k, n);
		prk_consume_batched(k, ptr, n);
	}
}

/* From every position of a ring of every size: amounts on both sides of
 * everything that makes a difference.
 */
static void batches_at_every_position(struct kunit *test)
{
	void *ptr[OPS_MAX];
	int size, at, i, j;

	for (size = 0; size <= RING_MAX; size++) {
		struct prk *k = prk_init(test, size);
		int batch = k->ring.batch;
		const int amounts[] = {
			0, 1, 2, batch - 1, batch, batch + 1, size / 2,
			size - 1, size, size + 1,
		};

		for (at = 0; at < max(size, 1); at++)
			for (i = 0; i < ARRAY_SIZE(amounts); i++)
				for (j = 0; j < ARRAY_SIZE(amounts); j++) {
					int in = max(amounts[i], 0);
					int out = max(amounts[j], 0);

					prk_go_to(k, at);
					/* Out in two goes, with more between */
					prk_produce_batched(k, in);
					prk_consume_batched(k, ptr, out);
					prk_produce_batched(k, out);
					prk_consume_batched(k, ptr, size);
					prk_consume_batched(k, ptr, 1);
				}
		prk_expect_right(test, k);
		kunit_release_action(test, prk_cleanup, &k->ring);
		kunit_kfree(test, k);
		cond_resched();
	}
}

static void ring_of_no_entries(struct kunit *test)
{
	struct prk *k = prk_init(test, 0);
	void *ptr[OPS_MAX];

	prk_produce(k);
	prk_produce_batched(k, 0);
	prk_produce_batched(k, 1);
	prk_produce_batched(k, 16);
	KUNIT_EXPECT_EQ(test, prk_consume_batched(k, ptr, 0), 0);
	KUNIT_EXPECT_EQ(test, prk_consume_batched(k, ptr, 16), 0);
	prk_consume(k);

	/* Closed with entries in it, and opened again */
	prk_resize(k, 8);
	prk_produce_batched(k, 8);
	prk_resize(k, 0);
	KUNIT_EXPECT_EQ(test, prk_ndestroyed, 8);
	prk_produce_batched(k, 16);
	KUNIT_EXPECT_EQ(test, prk_consume_batched(k, ptr, 16), 0);
	prk_resize(k, 3);
	prk_produce_batched(k, 16);
	KUNIT_EXPECT_EQ(test, prk_consume_batched(k, ptr, 16), 3);
	prk_expect_right(test, k);
}

/* Everything that may be done to a ring, in any order */
static void batches_mixed_with_all_else(struct kunit *test)
{
	struct rnd_state rnd;
	int i, n, size;

	prandom_seed_state(&rnd, 6121024);
	for (size = 0; size <= RING_MAX; size++) {
		struct prk *k = prk_init(test, size);
		void *ptr[OPS_MAX];

		for (i = 0; i < 400; i++) {
			n = prandom_u32_state(&rnd) % (k->size + 3);
			switch (prandom_u32_state(&rnd) % 32) {
			case 0 ... 5:
				prk_produce(k);
				break;
			case 6 ... 13:
				prk_produce_batched(k, n);
				break;
			case 14 ... 18:
				prk_consume(k);
				break;
			case 19 ... 26:
				prk_consume_batched(k, ptr, n);
				break;
			case 27 ... 30:
				/* Some, all or more than was taken out */
				n = prk_consume_batched(k, ptr, n);
				if (n && i & 1)
					n = prandom_u32_state(&rnd) % n;
				if (i & 2)
					prk_produce_batched(k, k->size / 2);
				prk_unconsume(k, ptr, n);
				break;
			default:
				n = prandom_u32_state(&rnd) % (RING_MAX + 1);
				prk_resize(k, i & 1 ? n : size);
			}
		}
		prk_expect_right(test, k);
		kunit_release_action(test, prk_cleanup, &k->ring);
		kunit_kfree(test, k);
		cond_resched();
	}
}

/* --- a producer and a consumer at the same time --- */

#define STRESS_ENTRIES	60000
/* All of them, or as many as there is time for on a machine that is busy, but
 * once round at least
 */
#define STRESS_MS	300
#define STRESS_MS_MAX	10000

struct prk_stress {
	struct ptr_ring ring;
	struct completion done;
	unsigned long *entry;	/* what the entries point to */
	unsigned long produced;
	bool stop;
};

static int prk_producer(void *arg)
{
	struct prk_stress *s = arg;
	struct rnd_state rnd;
	unsigned long n = 0;

	prandom_seed_state(&rnd, 4711);
	while (n < STRESS_ENTRIES && !READ_ONCE(s->stop)) {
		int i, did, batch = prandom_u32_state(&rnd) % 24;
		void *ptr[24];

		batch = min_t(int, batch, STRESS_ENTRIES - n);
		for (i = 0; i < batch; i++) {
			ptr[i] = &s->entry[n + i];
			s->entry[n + i] = ~(n + i);
		}
		spin_lock(&s->ring.producer_lock);
		if (batch == 1)
			did = !__ptr_ring_produce(&s->ring, ptr[0]);
		else
			did = __ptr_ring_produce_batched(&s->ring, ptr, batch);
		spin_unlock(&s->ring.producer_lock);
		/* What found no room is told apart from what is still there */
		for (i = did; i < batch; i++)
			s->entry[n + i] = 0;
		n += did;
		if (!did)
			cond_resched();
	}
	s->produced = n;
	complete(&s->done);
	return 0;
}

/* Takes some entries out, the @n-th of all and those that follow. Returns how
 * many those were.
 */
static int prk_consumer(struct prk_stress *s, struct rnd_state *rnd,
			unsigned long n, unsigned long *wrong)
{
	int i, did, batch = prandom_u32_state(rnd) % 40;
	unsigned long *ptr[40];

	if (batch == 1) {
		ptr[0] = __ptr_ring_consume(&s->ring);
		did = !!ptr[0];
	} else {
		did = __ptr_ring_consume_batched(&s->ring, (void **)ptr, batch);
	}
	for (i = 0; i < did; i++, n++)
		*wrong += ptr[i] != &s->entry[n] || *ptr[i] != ~n;
	return did;
}

static const struct prk_stress_case {
	const char *desc;
	int size;
} prk_stresses[] = {
	{ "1 entry", 1 }, { "7 entries", 7 }, { "32 entries", 32 },
	{ "40 entries", 40 }, { "1024 entries", 1024 },
};

KUNIT_ARRAY_PARAM_DESC(prk_stresses, prk_stresses, desc);

static void prk_stress_end(void *arg)
{
	struct prk_stress *s = arg;

	kvfree(s->entry);
	ptr_ring_cleanup(&s->ring, NULL);
}

static void producer_and_consumer(struct kunit *test)
{
	const struct prk_stress_case *c = test->param_value;
	unsigned long end = jiffies + msecs_to_jiffies(STRESS_MS);
	unsigned long last = jiffies + msecs_to_jiffies(STRESS_MS_MAX);
	unsigned long n = 0, wrong = 0;
	struct task_struct *task;
	struct prk_stress *s;
	struct rnd_state rnd;
	int did;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");

	s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s);
	init_completion(&s->done);
	KUNIT_ASSERT_EQ(test, 0, ptr_ring_init(&s->ring, c->size, GFP_KERNEL));
	kunit_add_action(test, prk_stress_end, s);
	s->entry = kvcalloc(STRESS_ENTRIES, sizeof(*s->entry), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, s->entry);

	WARN_ON(set_cpus_allowed_ptr(current,
				     cpumask_of(cpumask_first(cpu_online_mask))));
	task = kthread_create(prk_producer, s, "prk_producer");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	kthread_bind(task, cpumask_last(cpu_online_mask));
	wake_up_process(task);

	prandom_seed_state(&rnd, 815);
	while (n < STRESS_ENTRIES &&
	       time_before(jiffies, n > c->size ? end : last)) {
		did = prk_consumer(s, &rnd, n, &wrong);
		n += did;
		if (!did)
			cond_resched();
	}
	WRITE_ONCE(s->stop, true);
	wait_for_completion(&s->done);
	while (!__ptr_ring_empty(&s->ring))
		n += prk_consumer(s, &rnd, n, &wrong);

	KUNIT_EXPECT_EQ(test, wrong, 0);
	KUNIT_EXPECT_EQ(test, n, s->produced);
	KUNIT_EXPECT_GT(test, n, c->size);
	kunit_info(test, "%lu entries\n", n);
}

static struct kunit_case prk_cases[] = {
	KUNIT_CASE(batches_at_every_position),
	KUNIT_CASE(ring_of_no_entries),
	KUNIT_CASE(batches_mixed_with_all_else),
	KUNIT_CASE_PARAM(producer_and_consumer, prk_stresses_gen_params),
	{}
};

static struct kunit_suite prk_suite = {
	.name = "page_pool_ptr_ring",
	.test_cases = prk_cases,
};

kunit_test_suites(&prk_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of ptr_ring");
