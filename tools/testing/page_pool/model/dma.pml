/* SPDX-License-Identifier: GPL-2.0 */
/*
 * DMA slots, net/core/page_pool_dma.c: owners sync and unmap their pages while
 * page_pool_destroy() unmaps everything, after which the device is gone.
 *
 *	NO_WAIT		who loses a slot to destroy does not wait for the lock
 *	NO_CLAIM	owners work on the page without marking the slot BUSY
 *	NO_SLEEP	destroy takes a BUSY slot for an empty one
 */
#define PAGES	2

mtype = { NONE, PAGE, BUSY };
mtype slot[PAGES] = PAGE;
bool mapped[PAGES] = true;
bool locked, device_gone;

inline lock()   { atomic { !locked -> locked = true } }
inline unlock() { locked = false }
inline device() { assert(!device_gone) }

inline claim(i, to, won)
{
	d_step {
		won = (slot[i] == PAGE);
		if
		:: won -> slot[i] = to
		:: else
		fi
	}
}

inline unmap(i) { device(); d_step { assert(mapped[i]); mapped[i] = false } }

proctype owner(byte i)
{
	bool won;

	/* a put that syncs, or not */
	if
	:: skip
	:: true ->
#ifdef NO_CLAIM
		won = (slot[i] == PAGE);
#else
		claim(i, BUSY, won);
#endif
		if
		:: won -> device(); assert(mapped[i]); slot[i] = PAGE
		:: else
		fi
	fi;
	/* the page leaves */
#ifdef NO_CLAIM
	won = (slot[i] == PAGE);
#else
	claim(i, BUSY, won);
#endif
	if
	:: won -> unmap(i); slot[i] = NONE
	:: else ->
#ifndef NO_WAIT
		lock();
		unlock();
#endif
		skip
	fi;
	/* to the page allocator */
	assert(!mapped[i])
}

active proctype destroy()
{
	byte i = 0;
	bool won;
	mtype seen;

	atomic { run owner(0); run owner(1) };
	lock();
	do
	:: i == PAGES -> break
	:: else ->
		seen = slot[i];
		if
		:: seen == NONE -> i++
#ifdef NO_SLEEP
		:: seen == BUSY -> i++
#else
		:: seen == BUSY -> unlock(); lock()
#endif
		:: seen == PAGE ->
			claim(i, NONE, won);
			if
			:: won -> unmap(i); i++
			:: else
			fi
		fi
	od;
	unlock();
	device_gone = true;
	assert(!mapped[0] && !mapped[1])
}
