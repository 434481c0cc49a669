/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * prioflow: options and counters of the queueing discipline, as netlink carries
 * them (TCA_OPTIONS and TCA_STATS_APP of a qdisc of kind "prioflow"), and options of
 * sockets.
 */
#ifndef _UAPI_PRIOFLOW_H
#define _UAPI_PRIOFLOW_H

#include <linux/types.h>

#define PRIOFLOW_LEVELS		16
#define PRIOFLOW_TOP_LEVEL	15

/* What a frame's level is taken from. */
enum {
	PRIOFLOW_SOURCE_DSCP,		/* 64 entries, default: its upper four bits */
	PRIOFLOW_SOURCE_TOS,		/* 16 entries, RFC 1349's four property bits */
	PRIOFLOW_SOURCE_PCP,		/* 8 entries of IEEE 802.1Q, default: 2 * PCP + 1 */
	PRIOFLOW_SOURCE_PRIORITY,	/* 16 entries, skb->priority (SO_PRIORITY) */

	__PRIOFLOW_SOURCE_MAX
#define PRIOFLOW_SOURCE_MAX	(__PRIOFLOW_SOURCE_MAX - 1)
};

#define PRIOFLOW_TABLE_SIZE	64

/* Flow control with the other end of the wire (docs/protocol.md). */
enum {
	PRIOFLOW_LINK_OFF,		/* none are sent, none are listened to */
	PRIOFLOW_LINK_MAC_CONTROL,	/* sent with ethertype 0x8808 */
	PRIOFLOW_LINK_EXPERIMENTAL,	/* with 0x88b5, for MACs that swallow the other */
	PRIOFLOW_LINK_PFC,		/* IEEE 802.1Qbb with standard equipment: two levels a priority */
	PRIOFLOW_LINK_PAUSE,		/* IEEE 802.3 with standard equipment: all levels at once */

	__PRIOFLOW_LINK_MAX
#define PRIOFLOW_LINK_MAX	(__PRIOFLOW_LINK_MAX - 1)
};

#define PRIOFLOW_STORM_MS	10000	/* default of TCA_PRIOFLOW_STORM */
#define PRIOFLOW_REACTION_US	1000	/* and of TCA_PRIOFLOW_REACTION */
#define PRIOFLOW_REACTION_MAX_US	32000
#define PRIOFLOW_RING		64	/* and of TCA_PRIOFLOW_RING */
#define PRIOFLOW_RING_MAX	32000
#define PRIOFLOW_ROOM_MAX	32000

enum {
	TCA_PRIOFLOW_UNSPEC,
	TCA_PRIOFLOW_LIMIT,		/* u32, packets */
	TCA_PRIOFLOW_BYTES,		/* u32, bytes */
	TCA_PRIOFLOW_SOURCE,		/* u8, PRIOFLOW_SOURCE_* */
	TCA_PRIOFLOW_TABLE,		/* u8 [entries of the source], levels */
	TCA_PRIOFLOW_SEND_LEVEL,	/* u8: nothing below leaves the device; 0: all does */
	TCA_PRIOFLOW_LIFETIME,		/* u64, ns until the send level expires; 0: never */
	TCA_PRIOFLOW_PAD,
	TCA_PRIOFLOW_LINK,		/* u8, PRIOFLOW_LINK_*, of the device */
	TCA_PRIOFLOW_RECEIVE_LEVEL,	/* u8: the peer shall send nothing below; 0: all */
	TCA_PRIOFLOW_STORM,		/* u32, ms: a peer that pauses for longer is ignored; 0: none */
	TCA_PRIOFLOW_REACTION,		/* u32, us: asking for silence to last frame, rings aside */
	TCA_PRIOFLOW_RING,		/* u32, frames that wait in the rings of both ends, at most */
	TCA_PRIOFLOW_ROOM,		/* u32, frames of a level that came in here and are forwarded; 0: as needed */

	__TCA_PRIOFLOW_MAX
#define TCA_PRIOFLOW_MAX	(__TCA_PRIOFLOW_MAX - 1)
};

/* One level's counters. */
struct tc_prioflow_level {
	__u64 sent;
	__u64 sent_bytes;
	__u64 dropped;
	__u64 longest_wait_ns;
	__u64 paused_ns;	/* of the device */
	__u32 pauses;		/* of the device */
	__u32 queued;
	__u64 queued_bytes;
};

/* Level frames of the device. Received ones are obeyed, or counted once more below. */
struct tc_prioflow_link {
	__u64 frames_sent;
	__u64 frames_received;
	__u64 malformed;	/* not in frames_received */
	__u64 stale;		/* older than one that came before */
	__u64 limited;		/* more a second than are listened to */
	__u64 ignored;		/* from a peer that had paused for too long */
	__u32 storms;		/* how often it had */
	__u8 peer[6];		/* address that the last obeyed one came from; zeros: none has come */
	__u8 unused[6];
};

/*
 * What a bridge forwards, in frames of one level that came in by one port and wait in one
 * queue.
 */
struct tc_prioflow_forward {
	__u32 room;		/* for those that came in by this device; 0: none */
	__u32 headroom;		/* of it for what can still come after asking for silence */
	__u64 asks;		/* how often the peer was asked because of them */
	__u64 beyond;		/* in this queue: frames that found no room, and could be dropped */
	__u32 most;		/* in this queue: so many at most have waited */
	__u32 unused;
};

/* Who holds the device's levels; the highest is in force. */
struct tc_prioflow_by {
	__u8 send_hand;		/* TCA_PRIOFLOW_SEND_LEVEL */
	__u8 send_peer;		/* the peer's frames */
	__u8 receive_hand;	/* TCA_PRIOFLOW_RECEIVE_LEVEL */
	__u8 receive_sockets;	/* sockets of the namespace that are full */
	__u8 receive_forwarded;	/* frames that a bridge has taken from the device */
	__u8 unused[3];
};

/* TCA_STATS_APP of the qdisc. */
struct tc_prioflow_xstats {
	__u32 send_level;	/* in force, by whoever holds it */
	__u32 receive_level;	/* asked of the peer */
	struct tc_prioflow_level level[PRIOFLOW_LEVELS];
	struct tc_prioflow_link link;
	struct tc_prioflow_forward forward;
	struct tc_prioflow_by by;
};

/*
 * Events, for monitors: the generic netlink family PRIOFLOW_GENL_NAME has one multicast
 * group, PRIOFLOW_GENL_EVENTS, in each network namespace. A reader that is too slow gets
 * ENOBUFS.
 */
#define PRIOFLOW_GENL_NAME	"prioflow"
#define PRIOFLOW_GENL_VERSION	1
#define PRIOFLOW_GENL_EVENTS	"events"

enum {
	PRIOFLOW_CMD_UNSPEC,
	PRIOFLOW_CMD_LEVELS,		/* one of a device's levels is another now */
	PRIOFLOW_CMD_STORM,		/* its peer has paused for too long, and is ignored */
};

/* All are in each event. */
enum {
	PRIOFLOW_A_UNSPEC,
	PRIOFLOW_A_IFINDEX,		/* u32 */
	PRIOFLOW_A_SEND_LEVEL,		/* u8, in force */
	PRIOFLOW_A_RECEIVE_LEVEL,	/* u8, asked of the peer */
	PRIOFLOW_A_TIME,		/* u64, ns of CLOCK_MONOTONIC */
	PRIOFLOW_A_PAD,

	__PRIOFLOW_A_MAX
#define PRIOFLOW_A_MAX	(__PRIOFLOW_A_MAX - 1)
};

/*
 * Options of UDP sockets, for setsockopt and getsockopt at level IPPROTO_IP (AF_INET) or
 * IPPROTO_IPV6 (AF_INET6). getsockopt reads the structure, too.
 *
 *   EPERM		the level is not open (net.prioflow.open_levels): CAP_NET_ADMIN
 *   ENOBUFS		no room: getsockopt has the numbers
 *   EOPNOTSUPP		neither UDP nor, by packet_socket, a packet socket
 *   ERANGE		no such level; a receiver's is at most 14
 *   EINVAL		not the structure's size; a low mark that is not below the high one
 *   ENODEV, ENETDOWN	(receiver) no device of the namespace has a link; one has no rate now
 *   ENOPROTOOPT	the module is not there
 */
#define PRIOFLOW_SO_SEND	0x5470
#define PRIOFLOW_SO_RECEIVE	0x5471

/*
 * PRIOFLOW_SO_SEND: no prioflow qdisc of the namespace drops what the socket sends. To be
 * set after SO_SNDBUF, and again when that becomes larger.
 */
struct prioflow_send {
	__s32 level;		/* the highest at which that holds; -1: at none */
	__s32 packet_socket;	/* descriptor of one for which this is meant; -1: this socket */
	/* to user space only, in bytes */
	__u32 reserve;		/* of the room, which a socket with this buffer takes */
	__u32 buffer;		/* SO_SNDBUF */
	__u32 room;		/* net.prioflow.send_room, for all senders of the namespace */
	__u32 unused;
	__u64 reserved;		/* of the room, by all */
};

/*
 * PRIOFLOW_SO_RECEIVE: while the socket holds more than a mark, the peers of the
 * namespace's devices are asked to send nothing up to this level. Bytes are what the
 * kernel charges to the socket and compares with SO_RCVBUF.
 */
struct prioflow_receive {
	__s32 level;		/* of what comes, 0 to 14; -1: ask for nothing */
	__u32 payload;		/* smallest datagram that comes, octets */
	__u32 high;		/* bytes from which it asks; 0: what the buffer allows */
	__u32 low;		/* bytes from which it asks no more; 0: half of that */
	/* to user space only */
	__u32 headroom;		/* bytes for what can still come after asking */
	__u32 frames;		/* as many frames */
	__u32 buffer;		/* bytes: SO_RCVBUF */
	__u32 asks;		/* how often it has asked */
};

#endif /* _UAPI_PRIOFLOW_H */
