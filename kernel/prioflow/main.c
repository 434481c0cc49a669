// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the module.
 */
#include <linux/module.h>

#include "prioflow.h"

/* Initialised in this order, undone in reverse order. */
static const struct {
	int (*init)(void);
	void (*exit)(void);
} prioflow_parts[] = {
	{ prioflow_event_module_init, prioflow_event_module_exit },
	{ prioflow_net_module_init, prioflow_net_module_exit },
	{ prioflow_socket_module_init, prioflow_socket_module_exit },
	{ prioflow_port_module_init, prioflow_port_module_exit },
	{ prioflow_qdisc_module_init, prioflow_qdisc_module_exit },
	{ prioflow_sockopt_module_init, prioflow_sockopt_module_exit },
};

static void prioflow_end(u32 parts)
{
	while (parts--)
		prioflow_parts[parts].exit();
}

static int __init prioflow_module_init(void)
{
	int err;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(prioflow_parts); i++) {
		err = prioflow_parts[i].init();
		if (err) {
			prioflow_end(i);
			return err;
		}
	}
	return 0;
}

static void __exit prioflow_module_exit(void)
{
	prioflow_end(ARRAY_SIZE(prioflow_parts));
	/* Wait for the rx hook, */
	synchronize_net();
	/* and for prioflow_socket_destruct() to return after module_put(). */
	synchronize_rcu_tasks();
	rcu_barrier();
}

module_init(prioflow_module_init);
module_exit(prioflow_module_exit);

MODULE_DESCRIPTION("qdisc of 16 strict priority levels with lossless flow control");
MODULE_AUTHOR("The Teiji authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
/* The names that older and newer kernels request. */
MODULE_ALIAS("sch_prioflow");
MODULE_ALIAS("net-sch-prioflow");
