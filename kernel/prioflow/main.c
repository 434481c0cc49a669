// SPDX-License-Identifier: GPL-2.0
/*
 * prioflow: the module.
 */
#include <linux/module.h>

#include "prioflow.h"

static int __init prioflow_module_init(void)
{
	int err;

	err = prioflow_event_module_init();
	if (err)
		return err;
	err = prioflow_net_module_init();
	if (err)
		goto err_event;
	err = prioflow_socket_module_init();
	if (err)
		goto err_net;
	err = prioflow_port_module_init();
	if (err)
		goto err_socket;
	err = prioflow_qdisc_module_init();
	if (err)
		goto err_port;
	err = prioflow_sockopt_module_init();
	if (err)
		goto err_qdisc;
	return 0;

err_qdisc:
	prioflow_qdisc_module_exit();
err_port:
	prioflow_port_module_exit();
err_socket:
	prioflow_socket_module_exit();
err_net:
	prioflow_net_module_exit();
err_event:
	prioflow_event_module_exit();
	return err;
}

static void __exit prioflow_module_exit(void)
{
	prioflow_sockopt_module_exit();
	prioflow_qdisc_module_exit();
	prioflow_port_module_exit();
	prioflow_socket_module_exit();
	prioflow_net_module_exit();
	prioflow_event_module_exit();
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
