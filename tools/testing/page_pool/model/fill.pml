/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters in the fill word, net/core/page_pool_priv.h: a reader of "cached"
 * beside a consumer that puts pages and refills. Stores of the consumer arrive
 * in the order of its barriers only: what has not been ordered may be late.
 *
 *	NO_WMB_BASE	between a sequence and the base after the next
 *	NO_WMB_FILL	between a base and its fill word
 *	NO_WMB_SEQ	between a fill word and its sequence
 *	NO_RETRY	the reader does not look at the sequence
 */
#define MOVES	3
#define BROUGHT	10

/* The word changes in one store: pages that entered, and which base is valid. */
short fill, base[2], seq;
/* what is true once the word has changed */
short cached;

short late_base, late_seq;	/* stores on their way */
bool base_is_late, seq_is_late, which_late;

inline arrive_base()
{
	d_step {
		if
		:: base_is_late -> base[which_late] = late_base; base_is_late = false
		:: else
		fi
	}
}

inline arrive_seq()
{
	d_step {
		if
		:: seq_is_late -> seq = late_seq; seq_is_late = false
		:: else
		fi
	}
}

active proctype consumer()
{
	short now[2], sequence = 0, entered = 0;
	bool valid = false;
	byte i = 0;

	do
	:: i == MOVES -> break
	:: else ->
		/* a put into the array */
		if
		:: entered = entered + 1;
		   d_step { fill = entered * 2 + valid; cached++ }
		:: skip
		fi;
		/* a move, see page_pool_array_move() */
#ifndef NO_WMB_BASE
		arrive_seq();
#endif
		now[1 - valid] = now[valid] + BROUGHT;
		entered = entered + BROUGHT;
#ifdef NO_WMB_FILL
		d_step {
			late_base = now[1 - valid];
			which_late = 1 - valid;
			base_is_late = true
		};
#else
		base[1 - valid] = now[1 - valid];
#endif
		valid = 1 - valid;
		sequence++;
#ifdef NO_WMB_SEQ
		if
		:: seq = sequence; fill = entered * 2 + valid
		:: fill = entered * 2 + valid; seq = sequence
		fi;
#else
		fill = entered * 2 + valid;
		if
		:: seq = sequence
		:: d_step { late_seq = sequence; seq_is_late = true }
		fi;
#endif
		arrive_base();
		i++
	od;
	arrive_seq()
}

active proctype reader()
{
	short s, f, b, again, low, high;

	do
	:: low = cached;
	   s = seq;
	   f = fill;
	   b = base[f & 1];
	   again = seq;
	   high = cached;
	   if
#ifdef NO_RETRY
	   :: true -> break
#else
	   :: again == s -> break
	   :: else
#endif
	   fi
	od;
	assert(f / 2 - b >= low && f / 2 - b <= high)
}
