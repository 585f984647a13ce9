/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Batches in the ring, include/linux/ptr_ring.h: a producer (they exclude each
 * other) and the consumer, without a lock between them. Stores arrive in the
 * order of barriers only: those that give slots back in any.
 *
 *	NO_WMB		between what a page holds and its slot
 *	NO_TEST		only the first slot of a batch is tested
 *	NO_ONCE		a slot is given back by two stores, as memset() may
 */
#define SIZE	4
#define BATCH	2		/* as r->batch, and of the producer */
#define PAGES	7

byte slot[SIZE];		/* 0: empty */
bool late[SIZE];		/* a store of 0 is on its way */
bool again[SIZE];		/* and another one */
bool filled[PAGES + 1];		/* what a page holds has arrived */

inline arrive(i) { slot[i] = 0; late[i] = again[i]; again[i] = false }

active proctype memory()
{
end:	do
	:: d_step { late[0] -> arrive(0) }
	:: d_step { late[1] -> arrive(1) }
	:: d_step { late[2] -> arrive(2) }
	:: d_step { late[3] -> arrive(3) }
	od
}

active proctype producer()
{
	byte next = 1, at = 0, n;

	do
	:: next > PAGES -> break
	:: next <= PAGES && slot[at] == 0 ->
		n = 0;
		do
		:: n == BATCH || next > PAGES -> break
		:: else ->
#ifdef NO_TEST
			if
			:: n == 0 && slot[at] != 0 -> break
			:: else
			fi;
#else
			if
			:: slot[at] != 0 -> break
			:: else
			fi;
#endif
#ifdef NO_WMB
			slot[at] = next;
			filled[next] = true;
#else
			filled[next] = true;
			slot[at] = next;
#endif
			at = (at + 1) % SIZE;
			next++;
			n++
		od
	od
}

active proctype consumer()
{
	byte head = 0, tail = 0, want = 1, got, i;

	do
	:: want > PAGES -> break
	/* It sees its own stores at once. */
	:: d_step { want <= PAGES && slot[head] != 0 && !late[head] -> got = slot[head] };
		assert(got == want && filled[got]);
		want++;
		head++;
		if
		:: head - tail >= BATCH || head == SIZE ->
			i = head;
			do
			:: i > tail ->
				i--;
#ifdef NO_ONCE
				again[i] = true;
#endif
				late[i] = true
			:: else -> break
			od;
			tail = head
		:: else
		fi;
		if
		:: head == SIZE -> head = 0; tail = 0
		:: else
		fi
	od
}
