// SPDX-License-Identifier: GPL-2.0
/*
 * vtsn: a port's PTP hardware clock.
 *
 * PHC time is piecewise linear over wire time; each setting begins a new piece at
 * the current point. The oscillator's error (drift, wander) and the correction by
 * adjfine add up. Fractions of a ns are kept, so that rounding does not accumulate.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/overflow.h>

#include "vtsn.h"

/* 1 ppb and the ptp core's 2^-16 ppm as deviations in 2^-48 */
#define VTSN_Q48_PER_MILLION_PPB	281474976711LL
#define VTSN_PHC_MAX_PPB		10000000
/* A new piece begins at least this often: its product must fit into 64 bits. */
#define VTSN_PHC_REFRESH		(30 * HZ)
/* A piece is exact up to this distance: 2^63 / 2^32 ns / 1.2 % is 178 s. */
#define VTSN_PHC_EXACT_NS		(170LL * NSEC_PER_SEC)
#define VTSN_WANDER_STEPS		64

/* Deviation that has accumulated over @ns, in 2^-32 ns. */
static s64 vtsn_phc_deviation(const struct vtsn_phc *phc, s64 ns)
{
	u64 size = mul_u64_u64_shr(abs(ns), abs(phc->rate_q48), 16);

	return (ns < 0) != (phc->rate_q48 < 0) ? -(s64)size : size;
}

/* PHC time at an instant of wire time. */
s64 vtsn_phc_at(const struct vtsn_phc *phc, s64 raw)
{
	s64 ns = raw - phc->base_raw;

	if (!phc->rate_q48)
		return phc->base_phc + ns;
	return phc->base_phc + ns + ((vtsn_phc_deviation(phc, ns) + phc->base_frac) >> 32);
}

/* The first instant of wire time at which the PHC shows @when_phc or more. */
s64 vtsn_phc_to_raw(const struct vtsn_phc *phc, s64 when_phc)
{
	s64 ns = when_phc - phc->base_phc;
	s64 raw = phc->base_raw + ns;
	u32 i;

	if (!phc->rate_q48)
		return raw;
	/* Out of this piece: a new one will have begun, or it is in the past. */
	if (abs(ns) > VTSN_PHC_EXACT_NS)
		return raw;
	/* Each step leaves a thousandth of the error, or less. */
	for (i = 0; i < 6; i++) {
		s64 error = when_phc - vtsn_phc_at(phc, raw);

		if (!error)
			break;
		raw += error;
	}
	while (vtsn_phc_at(phc, raw - 1) >= when_phc)
		raw--;
	while (vtsn_phc_at(phc, raw) < when_phc)
		raw++;
	return raw;
}

/* A length of wire time in PHC time, rounded up. */
s64 vtsn_phc_length(const struct vtsn_phc *phc, s64 length_raw)
{
	return length_raw + ((vtsn_phc_deviation(phc, length_raw) + U32_MAX) >> 32);
}

/* Begins a new piece at @raw, at the current PHC time. */
static void vtsn_phc_rebase(struct vtsn_phc *phc, s64 raw)
{
	s64 ns = raw - phc->base_raw;
	s64 q32;

	q32 = vtsn_phc_deviation(phc, ns) + phc->base_frac;
	phc->base_phc += ns + (q32 >> 32);
	phc->base_frac = (u32)q32;
	phc->base_raw = raw;
	vtsn_gates_forget(container_of(phc, struct vtsn_port, phc));
}

/* The oscillator's wander: a triangle that starts at zero and rises. */
static s64 vtsn_phc_wander_ppb(const struct vtsn_phc *phc, s64 raw)
{
	s64 period = (s64)phc->wander_period_ms * NSEC_PER_MSEC;
	s64 amplitude = phc->wander_ppb;
	s64 phase;

	if (!amplitude || !period)
		return 0;
	phase = raw - phc->wander_start_raw;
	phase -= div64_s64(phase, period) * period;
	/* in thousandths of a quarter of the period */
	phase = div64_s64(phase * 4000, period);
	if (phase < 1000)
		return div_s64(amplitude * phase, 1000);
	if (phase < 3000)
		return div_s64(amplitude * (2000 - phase), 1000);
	return div_s64(amplitude * (phase - 4000), 1000);
}

/* Applies changed drift, wander or correction from @raw on. */
void vtsn_phc_retune(struct vtsn_phc *phc, s64 raw)
{
	s64 ppb = phc->drift_ppb + vtsn_phc_wander_ppb(phc, raw);

	vtsn_phc_rebase(phc, raw);
	phc->rate_q48 = phc->adjust_q48 + div_s64(ppb * VTSN_Q48_PER_MILLION_PPB, 1000000);
}

/*
 * Steps the clock to @now_phc at @raw. A clock can be read from 1678 to 2262; half of that
 * range is allowed, so that computing gates and launch times does not overflow.
 */
int vtsn_phc_step(struct vtsn_port *port, s64 raw, s64 now_phc)
{
	struct vtsn_phc *phc = &port->phc;

	lockdep_assert_held(&port->wire->lock);
	if (now_phc > S64_MAX / 2 || now_phc < -S64_MAX / 2)
		return -ERANGE;
	vtsn_phc_rebase(phc, raw);
	phc->base_phc = now_phc;
	phc->base_frac = 0;
	return 0;
}

/* Steps the clock by @delta ns, now. Takes the lock. */
int vtsn_phc_shift(struct vtsn_port *port, s64 delta)
{
	unsigned long flags;
	s64 now_raw, phc;
	int err;

	now_raw = vtsn_wire_enter(port->wire, &flags);
	if (check_add_overflow(vtsn_phc_at(&port->phc, now_raw), delta, &phc))
		err = -ERANGE;
	else
		err = vtsn_phc_step(port, now_raw, phc);
	vtsn_wire_leave(port->wire, now_raw, flags);
	return err;
}

/* CLOCK_TAI at one instant of wire time, which @raw gets. */
s64 vtsn_tai_now(s64 *raw)
{
	s64 tai_offset = ktime_to_ns(ktime_sub(ktime_mono_to_any(0, TK_OFFS_TAI),
					       ktime_mono_to_any(0, TK_OFFS_REAL)));
	ktime_t real, monoraw;

	compat_snapshot(CLOCK_REALTIME, &real, &monoraw);
	*raw = ktime_to_ns(monoraw);
	return ktime_to_ns(real) + tai_offset;
}

static struct vtsn_port *vtsn_phc_port(struct ptp_clock_info *info)
{
	return container_of(info, struct vtsn_port, phc.info);
}

static int vtsn_phc_adjfine(struct ptp_clock_info *info, long scaled_ppm)
{
	struct vtsn_port *port = vtsn_phc_port(info);
	unsigned long flags;
	s64 now_raw;

	now_raw = vtsn_wire_enter(port->wire, &flags);
	port->phc.adjust_q48 = div_s64((s64)scaled_ppm << 32, 1000000);
	vtsn_phc_retune(&port->phc, now_raw);
	vtsn_wire_leave(port->wire, now_raw, flags);
	return 0;
}

static int vtsn_phc_adjtime(struct ptp_clock_info *info, s64 delta)
{
	return vtsn_phc_shift(vtsn_phc_port(info), delta);
}

static int vtsn_phc_settime(struct ptp_clock_info *info, const struct timespec64 *ts)
{
	struct vtsn_port *port = vtsn_phc_port(info);
	unsigned long flags;
	s64 now_raw;
	int err;

	now_raw = vtsn_wire_enter(port->wire, &flags);
	err = vtsn_phc_step(port, now_raw, timespec64_to_ns(ts));
	vtsn_wire_leave(port->wire, now_raw, flags);
	return err;
}

static int vtsn_phc_gettimex(struct ptp_clock_info *info, struct timespec64 *ts,
			     struct ptp_system_timestamp *sts)
{
	struct vtsn_port *port = vtsn_phc_port(info);
	unsigned long flags;
	s64 now;

	raw_spin_lock_irqsave(&port->wire->lock, flags);
	ptp_read_system_prets(sts);
	now = vtsn_phc_at(&port->phc, ktime_get_raw_ns());
	ptp_read_system_postts(sts);
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);
	*ts = ns_to_timespec64(now);
	return 0;
}

/* System time and PHC at the same instant, as with PCIe PTM. */
static int vtsn_phc_crosststamp(struct ptp_clock_info *info,
				struct system_device_crosststamp *cross)
{
	struct vtsn_port *port = vtsn_phc_port(info);
	ktime_t system, monoraw;
	unsigned long flags;

	raw_spin_lock_irqsave(&port->wire->lock, flags);
	compat_snapshot(compat_cross_clock(cross), &system, &monoraw);
	cross->device = ns_to_ktime(vtsn_phc_at(&port->phc, ktime_to_ns(monoraw)));
	raw_spin_unlock_irqrestore(&port->wire->lock, flags);
	cross->sys_systime = system;
	cross->sys_monoraw = monoraw;
	return 0;
}

static long vtsn_phc_refresh(struct ptp_clock_info *info)
{
	struct vtsn_port *port = vtsn_phc_port(info);
	struct vtsn_phc *phc = &port->phc;
	long again = VTSN_PHC_REFRESH;
	unsigned long flags;
	s64 now_raw;

	now_raw = vtsn_wire_enter(port->wire, &flags);
	vtsn_phc_retune(phc, now_raw);
	if (phc->wander_ppb && phc->wander_period_ms)
		again = min_t(long, again,
			      msecs_to_jiffies(phc->wander_period_ms / VTSN_WANDER_STEPS) + 1);
	vtsn_wire_leave(port->wire, now_raw, flags);
	return again;
}

/* No PPS, no pins. Some kernels call it without looking whether there is one. */
static int vtsn_phc_enable(struct ptp_clock_info *info, struct ptp_clock_request *request, int on)
{
	return -EOPNOTSUPP;
}

static const struct ptp_clock_info vtsn_phc_info = {
	.owner		= THIS_MODULE,
	.max_adj	= VTSN_PHC_MAX_PPB,
	.adjfine	= vtsn_phc_adjfine,
	.adjtime	= vtsn_phc_adjtime,
	.gettimex64	= vtsn_phc_gettimex,
	.getcrosststamp	= vtsn_phc_crosststamp,
	.settime64	= vtsn_phc_settime,
	.enable		= vtsn_phc_enable,
	.do_aux_work	= vtsn_phc_refresh,
};

/* Makes a clock that starts as CLOCK_TAI, at the rate of wire time. */
int vtsn_phc_create(struct vtsn_port *port)
{
	struct vtsn_phc *phc = &port->phc;
	struct ptp_clock *clock;

	phc->info = vtsn_phc_info;
	snprintf(phc->info.name, sizeof(phc->info.name), "%s %s", VTSN_NAME, port->dev->name);
	phc->base_phc = vtsn_tai_now(&phc->base_raw);
	clock = ptp_clock_register(&phc->info, NULL);
	if (IS_ERR(clock))
		return PTR_ERR(clock);
	/* NULL: a kernel without PTP clocks. */
	if (!clock)
		return -EOPNOTSUPP;
	phc->clock = clock;
	ptp_schedule_worker(clock, VTSN_PHC_REFRESH);
	return 0;
}

void vtsn_phc_destroy(struct vtsn_port *port)
{
	ptp_clock_unregister(port->phc.clock);
}
