// SPDX-License-Identifier: GPL-2.0
/*
 * planted: delays at known instants, to prove that `teiji why` names them. Three threads of one
 * processor: the first disables interrupts, the second holds the lock of transmit queues, the
 * third is a real-time thread that computes. From the printed start on, each does so once per
 * period, a third of a period after the one before. Never load it outside of a laboratory's guest.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>

/* Transmit queues that are locked together, at most. */
#define PLANTED_QUEUES	4U

static unsigned int period_us = 10010;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time from one instant of a thread to its next, in us");

static unsigned int interrupts_us = 50;
module_param(interrupts_us, uint, 0444);
MODULE_PARM_DESC(interrupts_us, "how long interrupts are disabled, in us; 0: never");

static unsigned int lock_us = 200;
module_param(lock_us, uint, 0444);
MODULE_PARM_DESC(lock_us, "how long the lock is held, in us; 0: never");

static unsigned int compute_us = 100;
module_param(compute_us, uint, 0444);
MODULE_PARM_DESC(compute_us, "how long the real-time thread (SCHED_FIFO 50) computes, in us; 0: never");

static char *kind = "vtsn";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "kind of the devices whose first transmit queue is locked");

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "processor of the threads");

/* What was done; also code behind the instruction that enables interrupts. */
static unsigned long planted_done;

static __always_inline void planted_pass(unsigned int length_us)
{
	ktime_t until = ktime_add_us(ktime_get(), length_us);

	while (ktime_before(ktime_get(), until))
		cpu_relax();
}

static noinline void planted_disable_interrupts(unsigned int length_us)
{
	unsigned long flags;

	local_irq_save(flags);
	planted_pass(length_us);
	local_irq_restore(flags);
	WRITE_ONCE(planted_done, planted_done + 1);
}

static noinline void planted_compute(unsigned int length_us)
{
	planted_pass(length_us);
	WRITE_ONCE(planted_done, planted_done + 1);
}

/* The devices of the kind, in all namespaces, with a reference to each. */
static unsigned int planted_devices(struct net_device **devices)
{
	unsigned int count = 0;
	struct net_device *dev;
	struct net *net;

	rcu_read_lock();
	for_each_net_rcu(net) {
		for_each_netdev_rcu(net, dev) {
			if (count == PLANTED_QUEUES || !dev->rtnl_link_ops ||
			    strcmp(dev->rtnl_link_ops->kind, kind))
				continue;
			dev_hold(dev);
			devices[count++] = dev;
		}
	}
	rcu_read_unlock();
	return count;
}

/* Holds the locks of all of them, each within the one before. */
static void planted_within_locks(struct net_device **devices, unsigned int count,
				 unsigned int length_us)
{
	struct netdev_queue *queue;

	if (!count) {
		planted_pass(length_us);
		return;
	}
	queue = netdev_get_tx_queue(devices[0], 0);
	spin_lock_nested(&queue->_xmit_lock, count);
	planted_within_locks(devices + 1, count - 1, length_us);
	spin_unlock(&queue->_xmit_lock);
}

/*
 * With PREEMPT_RT the lock sleeps, and who has it can be preempted. Without, a softirq would spin
 * for it forever on this processor.
 */
static noinline void planted_hold_lock(unsigned int length_us)
{
	struct net_device *devices[PLANTED_QUEUES];
	unsigned int count = planted_devices(devices);
	unsigned int i;

	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		local_bh_disable();
	planted_within_locks(devices, count, length_us);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		local_bh_enable();
	for (i = 0; i < count; i++)
		dev_put(devices[i]);
	WRITE_ONCE(planted_done, planted_done + 1);
}

static struct planted {
	const char *name;
	void (*delay)(unsigned int length_us);
	const unsigned int *length_us;
	bool realtime;
	ktime_t first;
	struct task_struct *thread;
} planted_all[] = {
	{ "planted-irqs", planted_disable_interrupts, &interrupts_us },
	{ "planted-lock", planted_hold_lock, &lock_us },
	{ "planted-fifo", planted_compute, &compute_us, true },
};

static int planted_thread(void *data)
{
	const struct planted *planted = data;
	ktime_t at = planted->first;

	if (planted->realtime)
		sched_set_fifo(current);
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (schedule_hrtimeout(&at, HRTIMER_MODE_ABS_HARD))
			continue;
		planted->delay(*planted->length_us);
		do {
			at = ktime_add_us(at, period_us);
		} while (ktime_before(at, ktime_get()));
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static void planted_stop(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(planted_all); i++)
		if (planted_all[i].thread)
			kthread_stop(planted_all[i].thread);
}

static int __init planted_init(void)
{
	ktime_t start = ktime_add_ms(ktime_get(), 10);
	struct task_struct *thread;
	unsigned int i;

	if (!period_us || !cpu_online(cpu))
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(planted_all); i++) {
		struct planted *planted = &planted_all[i];

		if (!*planted->length_us)
			continue;
		planted->first = ktime_add_us(start, period_us * i / ARRAY_SIZE(planted_all));
		thread = kthread_create(planted_thread, planted, "%s", planted->name);
		if (IS_ERR(thread)) {
			planted_stop();
			return PTR_ERR(thread);
		}
		kthread_bind(thread, cpu);
		planted->thread = thread;
		wake_up_process(thread);
	}
	pr_info("planted: from %lld ns of CLOCK_TAI on, every %u us\n",
		ktime_to_ns(ktime_mono_to_any(start, TK_OFFS_TAI)), period_us);
	return 0;
}

static void __exit planted_exit(void)
{
	planted_stop();
}

module_init(planted_init);
module_exit(planted_exit);

MODULE_DESCRIPTION("delays at known instants, for tests of `teiji why`");
MODULE_LICENSE("GPL");
