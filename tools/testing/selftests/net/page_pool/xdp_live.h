/* SPDX-License-Identifier: GPL-2.0 */
/* What xdp_live.bpf.c and xdp_live_frames.c share. */
#ifndef _XDP_LIVE_H
#define _XDP_LIVE_H

/* Begins the payload; frames of others have none of it. */
#define LIVE_MAGIC	0x706f6f6c6c697665ULL

struct live_payload {
	__u64	magic;
	__u32	len;	/* of the frame */
	__u32	trips;	/* how often the page has been here */
};

enum live_verdict {
	LIVE_REDIRECT,
	LIVE_TX,
	LIVE_PASS,
	LIVE_DROP,
	LIVE_MIXED,	/* one after the other */
};

struct live_state {
	/* set by the test */
	__u32	verdict;
	__u32	target;
	__u32	task;
	__u32	far_passes;	/* the far end drops, or passes to its stack */
	/* counted */
	__u64	sent;
	__u64	again;		/* of these on a page that had been sent before */
	__u64	broken;		/* with another content than was written */
	__u64	far;		/* seen by XDP at the far end */
	__u64	near_tc, far_tc; /* seen in the stack */
	__u64	dropped;
};

struct live_pages {
	__u64	came;
	__u64	left;
};

#endif
