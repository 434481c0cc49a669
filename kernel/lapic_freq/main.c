// SPDX-License-Identifier: GPL-2.0
/*
 * lapic_freq: corrects the frequency of the local APICs' timers in a guest of the laboratory.
 *
 * To simulate an instruction time below one nanosecond, the guest's clock is slower than
 * QEMU's: tsc_early_khz gives the TSC, which counts nanoseconds of QEMU's clock, a frequency that
 * is a multiple of the real one. The local APIC's timer counts by the same clock, but the kernel
 * takes its frequency from the CPU model (arch/x86/kernel/tsc_msr.c), because it would otherwise
 * calibrate against the PIT, which is emulated as well. That frequency is too low: each timer
 * expires much too early and is set again, about a hundred times. This module sets the true
 * frequency once; there is nothing to undo.
 *
 * Neither the devices nor the function that changes them are exported. A kprobe finds
 * kallsyms_lookup_name(), which finds the rest. Only for guests of the laboratory.
 */
#include <linux/clockchips.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <asm/apicdef.h>
#include <asm/cpufeature.h>
#include <asm/tsc.h>

/* The kernel sets the timer's divider to this (arch/x86/kernel/apic/apic.c). */
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

/* On each CPU, interrupts off. An error means that the next event is past, which is harmless. */
static void lapic_freq_correct(void *info)
{
	const struct lapic_freq_symbols *symbols = info;

	symbols->update(this_cpu_ptr(symbols->timers), tsc_khz / LAPIC_FREQ_DIVISOR * 1000);
}

static int __init lapic_freq_init(void)
{
	struct lapic_freq_symbols symbols;
	lapic_freq_lookup *lookup;

	if (!boot_cpu_has(X86_FEATURE_HYPERVISOR)) {
		pr_err("lapic_freq: only for guests: this is no virtual machine\n");
		return -ENODEV;
	}
	/* The functions that are called by address here have no ENDBR then, or a sealed one. */
	if (boot_cpu_has(X86_FEATURE_IBT)) {
		pr_err("lapic_freq: indirect branch tracking is enabled; boot with ibt=off\n");
		return -EOPNOTSUPP;
	}
	lookup = lapic_freq_find_lookup();
	if (IS_ERR(lookup)) {
		pr_err("lapic_freq: cannot find kallsyms_lookup_name by kprobe (%ld)\n",
		       PTR_ERR(lookup));
		return PTR_ERR(lookup);
	}
	symbols.timers = (struct clock_event_device __percpu *)lookup("lapic_events");
	symbols.update = (lapic_freq_update *)lookup("clockevents_update_freq");
	if (!symbols.timers || !symbols.update) {
		pr_err("lapic_freq: lapic_events or clockevents_update_freq not found\n");
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
MODULE_DESCRIPTION("Corrects the local APIC timer frequency in guests of the Teiji laboratory");
MODULE_AUTHOR("The Teiji authors");
MODULE_LICENSE("GPL");
