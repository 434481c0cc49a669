// SPDX-License-Identifier: GPL-2.0
/*
 * faults: mistakes on purpose, one at a time, to prove that the tests of kernel
 * modules find them. Write a name to /sys/kernel/debug/faults. Never load it
 * outside of a laboratory's guest.
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

static DEFINE_MUTEX(faults_a);
static DEFINE_MUTEX(faults_b);
static int __rcu *faults_pointer;
/* What is read lands here, so that no read is optimised away. */
static int faults_sink;

/* Read memory that was given back. */
static void faults_use_after_free(void)
{
	int *number = kmalloc(sizeof(*number), GFP_KERNEL);

	if (!number)
		return;
	WRITE_ONCE(*number, 1);
	kfree(number);
	/* The compiler would see through it, and refuse. */
	OPTIMIZER_HIDE_VAR(number);
	faults_sink = READ_ONCE(*number);
}

/* Forget memory: no pointer to it stays anywhere. */
static void faults_leak(void)
{
	void *memory = kmalloc(512, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(memory);
}

/* Take a lock that may sleep where nothing may. */
static void faults_sleep(void)
{
	preempt_disable();
	mutex_lock(&faults_a);
	mutex_unlock(&faults_a);
	preempt_enable();
}

/* Take two locks in both orders; no deadlock comes of it today. */
static void faults_abba(void)
{
	mutex_lock(&faults_a);
	mutex_lock(&faults_b);
	mutex_unlock(&faults_b);
	mutex_unlock(&faults_a);

	mutex_lock(&faults_b);
	mutex_lock(&faults_a);
	mutex_unlock(&faults_a);
	mutex_unlock(&faults_b);
}

/* Follow an RCU pointer outside of a read side. */
static void faults_rcu(void)
{
	int *number = rcu_dereference(faults_pointer);

	if (number)
		faults_sink = *number;
}

/* Keep a reference to the module that nobody will give back. */
static void faults_stuck(void)
{
	__module_get(THIS_MODULE);
}

static const struct {
	const char *name;
	void (*make)(void);
} faults_all[] = {
	{ "use-after-free",	faults_use_after_free },
	{ "leak",		faults_leak },
	{ "sleep",		faults_sleep },
	{ "abba",		faults_abba },
	{ "rcu",		faults_rcu },
	{ "stuck",		faults_stuck },
};

static ssize_t faults_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	char name[32] = {};
	size_t i;

	if (count >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, count))
		return -EFAULT;
	for (i = 0; i < ARRAY_SIZE(faults_all); i++) {
		if (sysfs_streq(name, faults_all[i].name)) {
			faults_all[i].make();
			return count;
		}
	}
	return -EINVAL;
}

static const struct file_operations faults_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= faults_write,
};

static struct dentry *faults_file;

static int __init faults_init(void)
{
	faults_file = debugfs_create_file("faults", 0200, NULL, NULL, &faults_fops);
	return PTR_ERR_OR_ZERO(faults_file);
}

static void __exit faults_exit(void)
{
	debugfs_remove(faults_file);
}

module_init(faults_init);
module_exit(faults_exit);

MODULE_DESCRIPTION("mistakes on purpose");
MODULE_LICENSE("GPL");
