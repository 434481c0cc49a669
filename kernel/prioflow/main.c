// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the module.
 */
#include <linux/module.h>

#include "prioflow.h"

static int __init prioflow_module_init(void)
{
	int err = prioflow_link_module_init();

	if (err)
		return err;
	err = register_qdisc(&prioflow_qdisc_ops);
	if (err)
		prioflow_link_module_exit();
	return err;
}

static void __exit prioflow_module_exit(void)
{
	unregister_qdisc(&prioflow_qdisc_ops);
	prioflow_link_module_exit();
	/* Frames that were on their way in when the last port went are through then. */
	synchronize_net();
	rcu_barrier();
}

module_init(prioflow_module_init);
module_exit(prioflow_module_exit);

MODULE_DESCRIPTION("16 strict priority levels with a transmit level");
MODULE_AUTHOR("The Teiji authors");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
/* How the core asks for it until 6.7, and since. */
MODULE_ALIAS("sch_prioflow");
MODULE_ALIAS("net-sch-prioflow");
