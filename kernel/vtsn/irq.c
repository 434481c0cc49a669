// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: a port's interrupt line, and the timer that raises it.
 *
 * The line has a number and a name in /proc/interrupts, an affinity, and under
 * PREEMPT_RT a thread whose priority can be set. The timer runs in hard interrupt
 * context on the line's CPU, in place of the NIC's hardware.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>

#include "vtsn.h"

static void vtsn_irq_mask(struct irq_data *data)
{
}

static void vtsn_irq_unmask(struct irq_data *data)
{
}

static int vtsn_irq_set_affinity(struct irq_data *data, const struct cpumask *mask, bool force)
{
	struct vtsn_port *port = irq_data_get_irq_chip_data(data);
	unsigned int cpu = cpumask_any_and(mask, cpu_online_mask);

	if (cpu >= nr_cpu_ids)
		return -EINVAL;
	WRITE_ONCE(port->cpu, cpu);
	irq_data_update_effective_affinity(data, cpumask_of(cpu));
	return IRQ_SET_MASK_OK;
}

static struct irq_chip vtsn_irq_chip = {
	.name			= VTSN_NAME,
	.irq_mask		= vtsn_irq_mask,
	.irq_unmask		= vtsn_irq_unmask,
	.irq_set_affinity	= vtsn_irq_set_affinity,
};

static irqreturn_t vtsn_interrupt(int irq, void *data)
{
	struct vtsn_port *port = data;

	napi_schedule(&port->napi);
	return IRQ_HANDLED;
}

/* Starts the timer, on this CPU, for timer_raw. */
static void vtsn_timer_start(struct vtsn_port *port)
{
	s64 left = port->timer_raw - (s64)ktime_get_raw_ns();

	/* CLOCK_MONOTONIC may be slewed against wire time: then it is set again. */
	hrtimer_start(&port->timer, ns_to_ktime(max_t(s64, left, 0)),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/* Sets the timer to @event_raw, if that is earlier. */
void vtsn_irq_arm(struct vtsn_port *port, s64 event_raw)
{
	int cpu = READ_ONCE(port->cpu);

	lockdep_assert_held(&port->wire->lock);
	/* An early timer does no harm, so it is never postponed. */
	if (event_raw >= port->timer_raw)
		return;
	port->timer_raw = event_raw;
	if (port->kicked)
		return;
	if (cpu == smp_processor_id())
		vtsn_timer_start(port);
	else if (!smp_call_function_single_async(cpu, &port->kick))
		port->kicked = true;
	else
		/* The CPU has gone offline: use this one. */
		vtsn_timer_start(port);
}

static void vtsn_kick(void *data)
{
	struct vtsn_port *port = data;
	unsigned long flags;

	raw_spin_lock_irqsave(&port->wire->lock, flags);
	WRITE_ONCE(port->kicked, false);
	if (port->up && port->timer_raw != VTSN_NEVER)
		vtsn_timer_start(port);
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);
}

static enum hrtimer_restart vtsn_timer(struct hrtimer *timer)
{
	struct vtsn_port *port = container_of(timer, struct vtsn_port, timer);
	unsigned long flags;
	s64 now_raw;
	bool raise;

	/* Whatever is left takes another timer: interrupts are disabled. */
	vtsn_wire_begin(port->wire, &now_raw, &flags);
	port->timer_raw = VTSN_NEVER;
	raise = vtsn_irq_cause(port, now_raw);
	vtsn_wire_watch(port->wire, now_raw, flags);
	if (raise)
		generic_handle_irq_safe(port->irq);
	return HRTIMER_NORESTART;
}

int vtsn_irq_create(struct vtsn_port *port)
{
	/* No owner: the descriptor would pin the module. */
	int irq = __irq_alloc_descs(-1, 1, 1, NUMA_NO_NODE, NULL, NULL);

	if (irq < 0)
		return irq;
	irq_set_chip_and_handler_name(irq, &vtsn_irq_chip, handle_simple_irq, "wire");
	irq_set_chip_data(irq, port);
	/* Change the affinity at once: there is no handler to do it later, as an APIC's. */
	irq_modify_status(irq, IRQ_NOREQUEST | IRQ_NOAUTOEN, IRQ_NOPROBE | COMPAT_IRQ_MOVE_PCNTXT);
	port->irq = irq;
	port->timer_raw = VTSN_NEVER;
	hrtimer_setup(&port->timer, vtsn_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	INIT_CSD(&port->kick, vtsn_kick, port);
	return 0;
}

void vtsn_irq_destroy(struct vtsn_port *port)
{
	irq_free_desc(port->irq);
}

int vtsn_irq_request(struct vtsn_port *port)
{
	return request_irq(port->irq, vtsn_interrupt, 0, port->dev->name, port);
}

/* Stops timer and interrupt; port->up must be false already. */
void vtsn_irq_quiesce(struct vtsn_port *port)
{
	while (READ_ONCE(port->kicked))
		usleep_range(10, 100);
	hrtimer_cancel(&port->timer);
	port->timer_raw = VTSN_NEVER;
	synchronize_irq(port->irq);
}

void vtsn_irq_free(struct vtsn_port *port)
{
	free_irq(port->irq, port);
}
