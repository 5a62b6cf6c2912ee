// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/sys/class/net`: the loop-back interface, which every machine has, as it is where nobody has configured it: down.

use alloc::format;

use hadal_vfs::Errno;
use hadal_vfs::synthetic::Directory;

const LOOPBACK: &str = "devices/virtual/net/lo";

/// Its attributes (linux/if_arp.h and linux/if.h have the numbers): `type` is `ARPHRD_LOOPBACK`, `flags` `IFF_LOOPBACK`.
const ATTRIBUTES: [(&str, &str); 17] = [
    ("addr_assign_type", "0\n"),
    ("addr_len", "6\n"),
    ("address", "00:00:00:00:00:00\n"),
    ("broadcast", "00:00:00:00:00:00\n"),
    ("dev_id", "0x0\n"),
    ("dev_port", "0\n"),
    ("dormant", "0\n"),
    ("flags", "0x8\n"),
    ("gro_flush_timeout", "0\n"),
    ("ifalias", ""),
    ("ifindex", "1\n"),
    ("iflink", "1\n"),
    ("mtu", "65536\n"),
    ("operstate", "down\n"),
    ("tx_queue_len", "1000\n"),
    ("type", "772\n"),
    ("uevent", "INTERFACE=lo\nIFINDEX=1\n"),
];

/// What can be asked only about an interface that is up.
const OF_LINK: [&str; 3] = ["carrier", "duplex", "speed"];

/// Nothing has ever passed.
const STATISTICS: [&str; 12] = [
    "collisions",
    "multicast",
    "rx_bytes",
    "rx_dropped",
    "rx_errors",
    "rx_frame_errors",
    "rx_packets",
    "tx_bytes",
    "tx_carrier_errors",
    "tx_dropped",
    "tx_errors",
    "tx_packets",
];

pub(super) fn add(sys: &Directory) {
    for (name, content) in ATTRIBUTES {
        sys.text(&format!("{LOOPBACK}/{name}"), content);
    }
    for name in OF_LINK {
        sys.file(&format!("{LOOPBACK}/{name}"), || Err(Errno::EINVAL));
    }
    for name in STATISTICS {
        sys.text(&format!("{LOOPBACK}/statistics/{name}"), "0\n");
    }
    sys.symlink(&format!("{LOOPBACK}/subsystem"), "../../../../class/net");
    sys.symlink("class/net/lo", &format!("../../{LOOPBACK}"));
}
