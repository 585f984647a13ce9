/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a pool, net/core/page_pool.c: pages are put through a stage and
 * directly while page_pool_destroy() empties and closes the ring; whoever finds
 * that the last page has outs frees the pool, whose memory stays until all who
 * may still look at it are out of their RCU read side (sections, with BHs off,
 * are one each).
 *
 * Each -D names a step that is left out; the checker must then find a fault.
 *
 *	NO_FENCE	(A): destroyed may be seen after release was read
 *	NO_RCU		memory goes at once
 *	NO_LOCK		the ring is closed without the producer lock
 *	NO_BIT		who frees is not decided by the bit
 *	LATE_COUNT	a counter of the pool is written after the unlock
 *	NO_FLUSH	a section ends without publishing
 */
#define HOLD	4		/* pages that entered: 1 parked, 3 are out */

#define STAGER	0		/* readers */
#define TASK	1
#define DESTROY	2

byte released, frees, done;
byte ring = 1;
bool closed, destroyed, freeing, ring_gone, memory_gone, locked;
bool inside[3];
byte outs[3];

inline read_lock(me)   { inside[me] = true }
inline read_unlock(me) { d_step { inside[me] = false; outs[me]++ } }

inline touch()      { assert(!memory_gone) }
inline touch_ring() { assert(!memory_gone && !ring_gone) }

inline lock()   { atomic { touch_ring(); !locked -> locked = true } }
inline unlock() { touch_ring(); locked = false }

active proctype free_work()
{
	bool was[3];
	byte seen[3];
	byte i;

	(frees > 0) ->
	ring_gone = true;
#ifndef NO_RCU
	d_step {
		i = 0;
		do
		:: i < 3 -> was[i] = inside[i]; seen[i] = outs[i]; i++
		:: else -> break
		od
	}
	i = 0;
	do
	:: i < 3 -> (!was[i] || outs[i] != seen[i]) -> i++
	:: else -> break
	od;
#endif
	memory_gone = true
}

inline try_free()
{
	d_step {
#ifdef NO_BIT
		frees++
#else
		if
		:: !freeing -> freeing = true; frees++
		:: else
		fi
#endif
	}
}

/* page_pool_count_release() */
inline release(me, nested)
{
	if
	:: !nested -> read_lock(me)
	:: else
	fi;
	d_step { touch(); released++ };
	touch();
	if
	:: destroyed ->
		touch();
		if
		:: released == HOLD -> try_free()
		:: else
		fi
	:: else
	fi;
	if
	:: !nested -> read_unlock(me)
	:: else
	fi
}

/* page_pool_put_ring_batch() of @n pages */
inline publish(me, n, nested)
{
	lock();
	touch_ring();
	if
	:: !closed -> ring = ring + n; n = 0
	:: else
	fi;
	unlock();
#ifdef LATE_COUNT
	touch();
#endif
	do
	:: n > 0 -> n--; release(me, nested)
	:: else -> break
	od
}

/* A softirq puts two pages, and may have to publish in between. */
active proctype stager()
{
	byte staged = 0, todo = 2;

	read_lock(STAGER);
	do
	:: todo > 0 ->
		touch();
		staged++;
		todo--;
		if
		:: publish(STAGER, staged, true)
		:: skip
		fi
	:: else -> break
	od;
	/* The end of the section: the pool is on the CPU's list, staged or not. */
	touch();
#ifndef NO_FLUSH
	if
	:: staged > 0 -> publish(STAGER, staged, true)
	:: else
	fi;
#endif
	touch();
	read_unlock(STAGER);
	done++
}

/* A task puts a page. */
active proctype task()
{
	byte n = 1;

	publish(TASK, n, false);
	done++
}

active proctype destroy()
{
	byte n = 0;
	bool last;

	/* page_pool_drain(): what is there now */
	do
	:: d_step { ring > 0 -> ring-- }; release(DESTROY, false)
	:: ring == 0 -> break
	od;
	/* and what came meanwhile, under the lock */
#ifndef NO_LOCK
	lock();
#endif
	n = ring;
	ring = 0;
	closed = true;
#ifndef NO_LOCK
	unlock();
#endif
	do
	:: n > 0 -> n--; release(DESTROY, false)
	:: else -> break
	od;

	read_lock(DESTROY);
#ifdef NO_FENCE
	last = (released == HOLD);
	destroyed = true;
#else
	destroyed = true;
	last = (released == HOLD);
#endif
	if
	:: last -> try_free()
	:: else
	fi;
	read_unlock(DESTROY);
	done++
}

active proctype verdict()
{
	(done == 3) ->
	assert(released == HOLD && ring == 0 && frees == 1);
	(memory_gone)
}
