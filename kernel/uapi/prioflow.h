/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * prioflow: options and counters of the queueing discipline (netlink attributes TCA_OPTIONS
 * and TCA_STATS_APP of a qdisc of kind "prioflow"), events, and socket options.
 */
#ifndef _UAPI_PRIOFLOW_H
#define _UAPI_PRIOFLOW_H

#include <linux/types.h>

#define PRIOFLOW_LEVELS		16
/* Network control: never paused, and no table leads to it. */
#define PRIOFLOW_TOP_LEVEL	15

/* Source of a frame's level. A default is at most 14. */
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
	PRIOFLOW_LINK_OFF,		/* neither sent nor obeyed */
	PRIOFLOW_LINK_MAC_CONTROL,	/* level frames, sent with ethertype 0x8808 */
	PRIOFLOW_LINK_EXPERIMENTAL,	/* with 0x88b5, for MACs that consume 0x8808 */
	PRIOFLOW_LINK_PFC,		/* IEEE 802.1Qbb, standard equipment: by priorities */
	PRIOFLOW_LINK_PAUSE,		/* IEEE 802.3, standard equipment: all levels at once */

	__PRIOFLOW_LINK_MAX
#define PRIOFLOW_LINK_MAX	(__PRIOFLOW_LINK_MAX - 1)
};

/* Which levels a congested level pauses. */
enum {
	PRIOFLOW_SCOPE_LEVEL,		/* itself alone, as PFC */
	PRIOFLOW_SCOPE_BELOW,		/* itself and all levels below */

	__PRIOFLOW_SCOPE_MAX
#define PRIOFLOW_SCOPE_MAX	(__PRIOFLOW_SCOPE_MAX - 1)
};

#define PRIOFLOW_STORM_MS	10000	/* default of TCA_PRIOFLOW_STORM */
#define PRIOFLOW_REACTION_US	1000	/* default of TCA_PRIOFLOW_REACTION */
#define PRIOFLOW_REACTION_MAX_US	32000
#define PRIOFLOW_RING		64	/* default of TCA_PRIOFLOW_RING */
#define PRIOFLOW_RING_MAX	32000
#define PRIOFLOW_ROOM_MAX	32000

enum {
	TCA_PRIOFLOW_UNSPEC,
	TCA_PRIOFLOW_LIMIT,		/* u32, packets */
	TCA_PRIOFLOW_BYTES,		/* u32, bytes */
	TCA_PRIOFLOW_SOURCE,		/* u8, PRIOFLOW_SOURCE_* */
	TCA_PRIOFLOW_TABLE,		/* u8 [entries of the source], levels 0 to 14 */
	TCA_PRIOFLOW_SEND_LEVEL,	/* u8: the device sends nothing below; 0: all */
	TCA_PRIOFLOW_LIFETIME,		/* u64, ns until the send level expires; 0: never */
	TCA_PRIOFLOW_PAD,
	TCA_PRIOFLOW_LINK,		/* u8, PRIOFLOW_LINK_*, of the device */
	TCA_PRIOFLOW_RECEIVE_LEVEL,	/* u8: the peer is to send nothing below; 0: all */
	TCA_PRIOFLOW_STORM,		/* u32, ms: pause-storm watchdog timeout; 0: none */
	TCA_PRIOFLOW_REACTION,		/* u32, us: XOFF to last frame, without the rings */
	TCA_PRIOFLOW_RING,		/* u32, most frames in the rings of both ends */
	TCA_PRIOFLOW_ROOM,		/* u32, forwarded frames per queue and level; 0: computed */
	TCA_PRIOFLOW_SCOPE,		/* u8, PRIOFLOW_SCOPE_*: what the peer is requested to pause */
	TCA_PRIOFLOW_OBEY,		/* u8: the peer can pause the levels below; default: 15 */
	TCA_PRIOFLOW_PROPAGATE,		/* u8: whether frames for this port may pause other ports */

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

/* Flow control frames of the device. Received ones are obeyed, or also counted below. */
struct tc_prioflow_link {
	__u64 frames_sent;
	__u64 frames_received;
	__u64 malformed;	/* not in frames_received */
	__u64 stale;		/* older than a received one */
	__u64 limited;		/* above the rate limit */
	__u64 ignored;		/* by the pause-storm watchdog */
	__u32 storms;		/* how often the watchdog timed out */
	__u8 peer[6];		/* source address of the last obeyed one; zeros: none yet */
	__u8 peer_state;	/* PRIOFLOW_PEER_* */
	__u8 peer_version;	/* of the protocol of level frames; 0: unknown */
	__u8 peer_obeys;	/* pauses the levels below; version 2 */
	__u8 unused;
	__u16 peer_ring;	/* what its headroom covers, as RING and REACTION here */
	__u64 peer_silent_ns;	/* since the last frame; 0 without one */
	__u64 foreign;		/* level frames that others wanted to send here: dropped */
	__u64 no_memory;	/* frames not sent for lack of memory; repeated later */
	__s32 thread;		/* the sending thread; 0: none */
	__u32 peer_reaction_us;	/* 0: it does not say */
};

/* What is known of the other end of the wire. */
enum {
	PRIOFLOW_PEER_UNKNOWN,		/* the link is off or new, or its equipment says nothing */
	PRIOFLOW_PEER_OBEYS,
	PRIOFLOW_PEER_OBEYS_LESS,	/* not all of the requested levels */
	PRIOFLOW_PEER_IGNORES,		/* its pause-storm watchdog ignores a level */
	PRIOFLOW_PEER_RECEIVES_NOTHING,	/* sends, but does not receive this port's frames */
	PRIOFLOW_PEER_SILENT,		/* sends no frames (any more) */
	PRIOFLOW_PEER_DEFIES,		/* has sent levels that it was requested to pause */
};

/*
 * Frames that a bridge forwards. Limits apply per ingress port, queue and level.
 */
struct tc_prioflow_forward {
	__u32 room;		/* of this device as ingress port; 0: none */
	__u32 headroom;		/* part of the room for in-flight frames after XOFF */
	__u64 pause_requests;		/* XOFFs that forwarded frames have caused */
	__u64 over_limit;		/* in this queue: frames that exceeded the room */
	__u32 most;		/* in this queue: most frames at once, of one port and level */
	__u32 unused;
};

/* Who pauses levels. A level here is the highest paused level plus one; 0: none. */
struct tc_prioflow_by {
	__u8 send_hand;		/* TCA_PRIOFLOW_SEND_LEVEL */
	__u8 send_peer;		/* the peer's frames */
	__u8 receive_hand;	/* TCA_PRIOFLOW_RECEIVE_LEVEL */
	__u8 receive_sockets;	/* sockets of the namespace in XOFF */
	__u8 receive_forwarded;	/* frames that a bridge forwards from the device */
	__u8 unused[3];
	/* the same as masks of paused levels */
	__u16 paused_hand;
	__u16 paused_peer;
	__u16 request_hand;
	__u16 request_sockets;
	__u16 request_forwarded;
	__u16 unused2;
};

/* TCA_STATS_APP of the qdisc. */
struct tc_prioflow_xstats {
	__u16 paused;		/* mask of levels that the device does not send */
	__u16 request;		/* mask of levels that the peer is requested to pause */
	__u32 unused;
	struct tc_prioflow_level level[PRIOFLOW_LEVELS];
	struct tc_prioflow_link link;
	struct tc_prioflow_forward forward;
	struct tc_prioflow_by by;
	__u64 ruled;		/* packets that a rule of the administrator's has protected */
	__u64 ruled_over_room;	/* packets that it has not, because of net.prioflow.send_room */
	/* of the device */
	__u64 kept;		/* protected packets that wait for the carrier now */
	__u64 lost;		/* protected packets that were dropped, with the carrier or a qdisc */
};

/*
 * Events for monitors: the generic netlink family PRIOFLOW_GENL_NAME has one multicast
 * group, PRIOFLOW_GENL_EVENTS, in each network namespace. A slow reader gets ENOBUFS.
 * Its only request is the dump of the receivers. Both need CAP_NET_ADMIN.
 */
#define PRIOFLOW_GENL_NAME	"prioflow"
#define PRIOFLOW_GENL_VERSION	2
#define PRIOFLOW_GENL_EVENTS	"events"

enum {
	PRIOFLOW_CMD_UNSPEC,
	PRIOFLOW_CMD_LEVELS,		/* a device pauses or requests other levels */
	PRIOFLOW_CMD_STORM,		/* the pause-storm watchdog ignores its peer */
	PRIOFLOW_CMD_PEER,		/* the state of a device's peer has changed */
	PRIOFLOW_CMD_RECEIVER,		/* a socket is no longer served, or is again */
	PRIOFLOW_CMD_GET_RECEIVERS,	/* request: dumps the opted-in receivers */
};

/*
 * An event of a device has IFINDEX, PAUSED, REQUEST, TIME, PEER_STATE; one of a receiver has
 * TIME and, as the dump, the attributes from INODE on.
 */
enum {
	PRIOFLOW_A_UNSPEC,
	PRIOFLOW_A_IFINDEX,		/* u32; of a receiver: the device it is bound to, or 0 */
	PRIOFLOW_A_PAUSED,		/* u16, mask of levels that the device does not send */
	PRIOFLOW_A_REQUEST,		/* u16, mask of levels that the peer is requested to pause */
	PRIOFLOW_A_TIME,		/* u64, ns of CLOCK_MONOTONIC */
	PRIOFLOW_A_PAD,
	PRIOFLOW_A_PEER_STATE,		/* u8, PRIOFLOW_PEER_* */
	PRIOFLOW_A_INODE,		/* u64, of the socket, as in /proc/PID/fd */
	PRIOFLOW_A_PID,			/* u32, of the process that opted it in */
	PRIOFLOW_A_LEVEL,		/* u8, of the datagrams */
	PRIOFLOW_A_XOFF_NS,		/* u64, how long it has been in XOFF; 0: it is not */
	PRIOFLOW_A_ABANDONED,		/* u8, the receiver watchdog no longer serves it */
	PRIOFLOW_A_QUEUED,		/* u32, bytes charged to the socket */
	PRIOFLOW_A_HIGH,		/* u32, XOFF mark in force, bytes */
	PRIOFLOW_A_BUFFER,		/* u32, SO_RCVBUF, bytes */
	PRIOFLOW_A_PAUSE_REQUESTS,	/* u32 */

	__PRIOFLOW_A_MAX
#define PRIOFLOW_A_MAX	(__PRIOFLOW_A_MAX - 1)
};

/*
 * Options of UDP sockets, for setsockopt and getsockopt at level IPPROTO_IP (AF_INET) or
 * IPPROTO_IPV6 (AF_INET6). getsockopt reads the structure, too.
 *
 *   EPERM		the level is not open (net.prioflow.open_levels): needs CAP_NET_ADMIN
 *   ENOBUFS		not enough room: getsockopt returns the numbers
 *   EOPNOTSUPP		neither UDP nor, by packet_socket, a packet socket
 *   ERANGE		no such level; a receiver's level is at most 14, over PFC 13
 *   EBUSY		(receiver) the socket is in a BPF sockmap, or something else has hooked it
 *   ENOSPC		(receiver) the namespace has 16384, or some bound to 64 other devices
 *   EINVAL		not the structure's size; the low mark is not below the high mark
 *   ENODEV, ENETDOWN	(receiver) no device in question has a link; none has a link rate
 *   ENOPROTOOPT	the module is not loaded
 */
#define PRIOFLOW_SO_SEND	0x5470
#define PRIOFLOW_SO_RECEIVE	0x5471

/*
 * PRIOFLOW_SO_SEND: no prioflow qdisc of the namespace drops the socket's packets. Set it
 * after SO_SNDBUF, and again after each increase of that.
 */
struct prioflow_send {
	__s32 level;		/* highest protected level; -1: opt out */
	__s32 packet_socket;	/* descriptor of the packet socket to set; -1: this socket */
	/* output only, in bytes */
	__u32 reserve;		/* of the room, by a socket with this buffer */
	__u32 buffer;		/* SO_SNDBUF */
	__u32 room;		/* net.prioflow.send_room, of each user in the namespace */
	__u32 unused;
	__u64 reserved;		/* of the room, by the senders of the socket's user */
	/* output only, packets since the socket has opted in; absent from a shorter structure */
	__u64 protected;	/* taken by a prioflow qdisc as protected ones */
	__u64 unprotected;	/* taken as droppable ones: above its level or its reserve */
};

/*
 * PRIOFLOW_SO_RECEIVE: from the high mark (XOFF) to the low mark (XON) the devices of the
 * namespace with a link request that their peers pause this level (TCA_PRIOFLOW_SCOPE: and
 * those below). A socket bound to a device, or connected, stands for that device alone, or
 * the ports below it. Marks are bytes as the kernel charges them to the socket and compares
 * them with SO_RCVBUF.
 */
struct prioflow_receive {
	__s32 level;		/* of the received datagrams, 0 to 14; -1: opt out */
	__u32 payload;		/* of the smallest received datagram, octets */
	__u32 high;		/* XOFF mark; 0: buffer minus headroom */
	__u32 low;		/* XON mark; 0: half of the high mark */
	/* output only */
	__u32 headroom;		/* bytes for in-flight frames after XOFF */
	__u32 frames;		/* in-flight frames */
	__u32 buffer;		/* SO_RCVBUF, bytes */
	__u32 pause_requests;		/* how often the socket has sent XOFF */
};

#endif /* _UAPI_PRIOFLOW_H */
