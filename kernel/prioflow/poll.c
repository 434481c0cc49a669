// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: polls the receivers in XOFF. That a program reads has no callback: a timer of the
 * namespace looks at them, round robin, for three things: a receiver has room again, or has
 * ended (resume); or its program has not read for too long (the receiver watchdog): then it
 * is no longer served, until it reads. A polled socket is referenced, so that its destruction
 * need not wait for the timer.
 */
#include <linux/hrtimer.h>
#include <linux/udp.h>
#include <net/sock.h>

#include "../compat/compat.h"
#include "prioflow.h"

/* Poll interval; bounds the latency of a resume. */
#define PRIOFLOW_POLL_NS	(250 * NSEC_PER_USEC)
/* Sockets per poll: at least, at most, and otherwise a part of all. */
#define PRIOFLOW_POLL_MIN	8
#define PRIOFLOW_POLL_MAX	64
#define PRIOFLOW_POLL_PART	16
/*
 * After its polls a timer rests so many times as long as they took, so that a slow or overloaded CPU
 * has time for others. What a preemption adds is limited.
 */
#define PRIOFLOW_POLL_REST	3
#define PRIOFLOW_POLL_REST_MAX_NS	(10 * NSEC_PER_MSEC)

/* Namespaces whose timer runs: those of the administrator, and those that anybody can have made. */
static atomic_t prioflow_polling_admin = ATOMIC_INIT(0);
static atomic_t prioflow_polling_anybody = ATOMIC_INIT(0);

static bool prioflow_poll_is_admin(const struct prioflow_net *net)
{
	return net->net->user_ns == &init_user_ns;
}

static atomic_t *prioflow_poll_counter(const struct prioflow_net *net)
{
	return prioflow_poll_is_admin(net) ? &prioflow_polling_admin : &prioflow_polling_anybody;
}

/* How many namespaces of its kind share a CPU in the worst case. */
static u32 prioflow_poll_alike(const struct prioflow_net *net)
{
	return max(atomic_read(prioflow_poll_counter(net)), 1);
}

/* How many share the number of polls; the administrator's namespaces do not. */
static u32 prioflow_poll_sharers(const struct prioflow_net *net)
{
	return prioflow_poll_is_admin(net) ? 1 : prioflow_poll_alike(net);
}

static void prioflow_poll_count(const struct prioflow_net *net, int change)
{
	atomic_add(change, prioflow_poll_counter(net));
}

/* Most sockets that a namespace polls at once. */
static u32 prioflow_poll_share(const struct prioflow_net *net)
{
	return max_t(u32, PRIOFLOW_POLL_MAX / prioflow_poll_sharers(net), PRIOFLOW_POLL_MIN);
}

/* The poll interval: longer where the share of each cannot be smaller. */
static u64 prioflow_poll_interval_ns(const struct prioflow_net *net)
{
	u32 most = PRIOFLOW_POLL_MAX / PRIOFLOW_POLL_MIN;

	return (u64)DIV_ROUND_UP(prioflow_poll_sharers(net), most) * PRIOFLOW_POLL_NS;
}

/* From the end of polls that took @took_ns until the next ones. */
static u64 prioflow_poll_rest_ns(const struct prioflow_net *net, u64 took_ns)
{
	u64 rest_ns = min_t(u64, took_ns * PRIOFLOW_POLL_REST, PRIOFLOW_POLL_REST_MAX_NS);

	return max(prioflow_poll_interval_ns(net), rest_ns * prioflow_poll_alike(net));
}

/* Bytes that the program has not read. The kernel returns what it has read in portions. */
u32 prioflow_poll_fill(const struct sock *sk)
{
	return max(sk_rmem_alloc_get(sk) - READ_ONCE(udp_sk(sk)->forward_deficit), 0);
}

/* Has the timer poll a receiver until it has room. */
void prioflow_poll_start(struct prioflow_net *net, struct prioflow_receiver *receiver, u64 now_ns)
{
	lockdep_assert_held(&receiver->lock);
	WRITE_ONCE(receiver->xoff_ns, now_ns);
	receiver->read_ns = now_ns;
	receiver->fill = 0;
	spin_lock(&net->poll_lock);
	list_add_tail(&receiver->node, &net->polled);
	net->polled_count++;
	if (!net->timer_runs) {
		prioflow_poll_count(net, 1);
		hrtimer_start(&net->timer, ns_to_ktime(prioflow_poll_interval_ns(net)),
			      HRTIMER_MODE_REL_SOFT);
	}
	net->timer_runs = true;
	spin_unlock(&net->poll_lock);
}

static void prioflow_poll_end(struct prioflow_net *net, struct prioflow_receiver *receiver)
{
	lockdep_assert_held(&receiver->lock);
	WRITE_ONCE(receiver->xoff_ns, 0);
	spin_lock(&net->poll_lock);
	list_del(&receiver->node);
	net->polled_count--;
	spin_unlock(&net->poll_lock);
}

/* The next socket to poll; moves it to the end of the list. */
static struct prioflow_socket *prioflow_poll_next(struct prioflow_net *net)
{
	struct prioflow_receiver *receiver;

	spin_lock(&net->poll_lock);
	receiver = list_first_entry(&net->polled, struct prioflow_receiver, node);
	list_move_tail(&receiver->node, &net->polled);
	spin_unlock(&net->poll_lock);
	return container_of(receiver, struct prioflow_socket, receiver);
}

/* Whether the receiver needs no pause any more. */
static bool prioflow_poll_has_room(const struct prioflow_socket *socket)
{
	const struct prioflow_receiver *receiver = &socket->receiver;
	u32 high = prioflow_receive_high(socket), low = receiver->low;
	struct sock *sk = socket->sk;

	/* It may have fallen since the socket opted in, below the low mark of then. */
	if (high < receiver->high)
		low = min(low, high / 2);

	return receiver->level == PRIOFLOW_NO_LEVEL || sock_flag(sk, SOCK_DEAD) ||
	       sk_rmem_alloc_get(sk) <= (int)low ||
	       /* What fills the buffer may be another queue, as that of errors. */
	       (skb_queue_empty_lockless(&sk->sk_receive_queue) &&
		skb_queue_empty_lockless(&udp_sk(sk)->reader_queue));
}

/* The receiver watchdog. */
static void prioflow_poll_watch(struct prioflow_net *net, struct prioflow_socket *socket,
				u64 now_ns)
{
	u64 limit_ns = READ_ONCE(net->receiver_watchdog_ms) * (u64)NSEC_PER_MSEC;
	struct prioflow_receiver *receiver = &socket->receiver;
	u32 fill = prioflow_poll_fill(socket->sk);
	bool reads = fill < receiver->fill, stays_away;

	receiver->fill = fill;
	if (reads)
		receiver->read_ns = now_ns;
	stays_away = limit_ns && now_ns - receiver->read_ns > limit_ns;
	if (stays_away == receiver->abandoned)
		return;
	receiver->abandoned = stays_away;
	prioflow_event_receiver(socket, now_ns);
}

/* Looks at a receiver in XOFF. */
static void prioflow_poll_one(struct prioflow_net *net, struct prioflow_socket *socket)
{
	struct prioflow_receiver *receiver = &socket->receiver;
	u64 now_ns = ktime_get_ns();
	bool done;

	spin_lock(&receiver->lock);
	done = prioflow_poll_has_room(socket);
	if (done) {
		if (receiver->abandoned) {
			receiver->abandoned = false;
			prioflow_event_receiver(socket, now_ns);
		}
		prioflow_receive_request(receiver, net, 0);
		prioflow_poll_end(net, receiver);
	} else {
		prioflow_poll_watch(net, socket, now_ns);
		/* The socket may have changed its level. */
		prioflow_receive_request(receiver, net,
					 receiver->abandoned ? 0 : receiver->level + 1);
	}
	spin_unlock(&receiver->lock);
	if (done)
		sock_put(socket->sk);
}

/* The timer, while a receiver of the namespace is in XOFF. */
static enum hrtimer_restart prioflow_poll(struct hrtimer *timer)
{
	struct prioflow_net *net = container_of(timer, struct prioflow_net, timer);
	u32 count = READ_ONCE(net->polled_count);
	u32 looks = clamp_t(u32, count / PRIOFLOW_POLL_PART, PRIOFLOW_POLL_MIN,
			    prioflow_poll_share(net));
	u64 start_ns = ktime_get_ns(), end_ns;
	bool again;

	lockdep_assert_in_softirq();
	for (looks = min(looks, count); looks; looks--)
		prioflow_poll_one(net, prioflow_poll_next(net));
	end_ns = ktime_get_ns();
	spin_lock(&net->poll_lock);
	again = net->polled_count;
	net->timer_runs = again;
	if (again)
		hrtimer_set_expires(timer, ns_to_ktime(end_ns +
						       prioflow_poll_rest_ns(net, end_ns - start_ns)));
	else
		prioflow_poll_count(net, -1);
	spin_unlock(&net->poll_lock);
	return again ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

void prioflow_poll_init(struct prioflow_net *net)
{
	spin_lock_init(&net->poll_lock);
	INIT_LIST_HEAD(&net->polled);
	hrtimer_setup(&net->timer, prioflow_poll, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}

void prioflow_poll_exit(struct prioflow_net *net)
{
	hrtimer_cancel(&net->timer);
	if (net->timer_runs)
		prioflow_poll_count(net, -1);
}
