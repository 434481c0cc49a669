// SPDX-License-Identifier: GPL-2.0
/*
 * lapic_freq: tells the kernel of a laboratory's guest how fast its local APICs' timers are.
 *
 * Where an instruction is to take less than a nanosecond, the guest's clock is slower than
 * QEMU's: the kernel is told that the TSC, which counts the nanoseconds of QEMU's clock, counts
 * so many times more of them (tsc_early_khz). The timer counts by that clock, too, but the kernel
 * knows it by a figure of its CPU model (arch/x86/kernel/tsc_msr.c), because it would measure it
 * against the PIT, which is QEMU's as well. With a figure that is too low each timer comes much too
 * soon, is found to be so, and set again: correct, but a hundred times. This module puts the true
 * one in its place, once; there is nothing to undo.
 *
 * Neither the devices nor the function that changes them are exported. A kprobe tells where
 * kallsyms_lookup_name() is, and that the rest. Only for guests of the laboratory.
 */
#include <linux/clockchips.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <asm/apicdef.h>
#include <asm/tsc.h>

/* By which the kernel has the timer divide its clock (arch/x86/kernel/apic/apic.c). */
#define LAPIC_FREQ_DIVISOR	16

typedef unsigned long lapic_freq_lookup(const char *name);
typedef int lapic_freq_update(struct clock_event_device *timer, u32 hz);

struct lapic_freq_symbols {
	struct clock_event_device __percpu *timers;
	lapic_freq_update *update;
};

static lapic_freq_lookup *lapic_freq_find_lookup(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	lapic_freq_lookup *lookup;
	int err;

	err = register_kprobe(&probe);
	if (err)
		return ERR_PTR(err);
	lookup = (lapic_freq_lookup *)probe.addr;
	unregister_kprobe(&probe);
	return lookup;
}

/* On each processor, interrupts off. That the next event is past already is no failure. */
static void lapic_freq_correct(void *info)
{
	const struct lapic_freq_symbols *symbols = info;

	symbols->update(this_cpu_ptr(symbols->timers), tsc_khz / LAPIC_FREQ_DIVISOR * 1000);
}

static int __init lapic_freq_init(void)
{
	struct lapic_freq_symbols symbols;
	lapic_freq_lookup *lookup;

	lookup = lapic_freq_find_lookup();
	if (IS_ERR(lookup)) {
		pr_err("lapic_freq: no kprobe finds kallsyms_lookup_name (%ld)\n", PTR_ERR(lookup));
		return PTR_ERR(lookup);
	}
	symbols.timers = (struct clock_event_device __percpu *)lookup("lapic_events");
	symbols.update = (lapic_freq_update *)lookup("clockevents_update_freq");
	if (!symbols.timers || !symbols.update) {
		pr_err("lapic_freq: this kernel names no lapic_events or clockevents_update_freq\n");
		return -ENOENT;
	}
	on_each_cpu(lapic_freq_correct, &symbols, 1);
	return 0;
}

static void __exit lapic_freq_exit(void)
{
}

module_init(lapic_freq_init);
module_exit(lapic_freq_exit);
MODULE_DESCRIPTION("The frequency of the local APIC's timer in a guest of Teiji's laboratory");
MODULE_AUTHOR("The Teiji authors");
MODULE_LICENSE("GPL");
