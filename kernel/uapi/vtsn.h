/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vtsn: attributes in IFLA_INFO_DATA of a link of kind "vtsn".
 * Other settings are files in /sys/class/net/NAME/vtsn/ (kernel/vtsn/README.md).
 */
#ifndef _UAPI_VTSN_H
#define _UAPI_VTSN_H

enum {
	VTSN_INFO_UNSPEC,
	/* struct ifinfomsg and link attributes of the other end, as VETH_INFO_PEER */
	VTSN_INFO_PEER,
	/* Read only, u32 each */
	VTSN_INFO_RATE_MBPS,	/* set by ethtool -s */
	VTSN_INFO_DELAY_NS,	/* propagation; set in sysfs */
	VTSN_INFO_PHC_INDEX,	/* N of /dev/ptpN */

	__VTSN_INFO_MAX
#define VTSN_INFO_MAX	(__VTSN_INFO_MAX - 1)
};

#endif /* _UAPI_VTSN_H */
