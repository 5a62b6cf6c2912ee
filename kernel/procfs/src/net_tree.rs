// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `/sys/class/net`: the loop-back interface, which every machine has, as it is where nobody has configured it: down.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_vfs::Result;
use hadal_vfs::synthetic::{Child, Children, Directory, generated_file};
use hadal_vfs::{Errno, FileKind};

use crate::{SYS_FILE_BYTES, sys_file, text_link};

/// Where the interfaces are.
const INTERFACES: &str = "devices/virtual/net";
/// The one interface.
const LOOPBACK: &str = "lo";

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
    sys.dynamic(INTERFACES, Arc::new(Interfaces));
    sys.dynamic("class/net", Arc::new(ClassLinks));
}

/// Entries of one name each.
fn entries<'a>(
    names: impl IntoIterator<Item = &'a str>,
    kind: FileKind,
) -> impl Iterator<Item = (Vec<u8>, FileKind)> {
    names.into_iter().map(move |name| (name.as_bytes().to_vec(), kind))
}

/// The directories of interfaces.
struct Interfaces;

impl Children for Interfaces {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        (name == LOOPBACK.as_bytes()).then(|| Child::Directory(Arc::new(Loopback)))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(entries([LOOPBACK], FileKind::Directory).collect())
    }
}

/// `/sys/class/net`: links to them.
struct ClassLinks;

impl Children for ClassLinks {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        (name == LOOPBACK.as_bytes()).then(|| text_link(["../../", INTERFACES, "/", LOOPBACK].concat()))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(entries([LOOPBACK], FileKind::Symlink).collect())
    }
}

/// The directory of the loop-back interface.
struct Loopback;

impl Children for Loopback {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        match name {
            b"statistics" => return Some(Child::Directory(Arc::new(Statistics))),
            b"subsystem" => return Some(text_link("../../../../class/net".into())),
            _ => {}
        }
        if OF_LINK.iter().any(|attribute| attribute.as_bytes() == name) {
            let refused = Box::new(|| Err(Errno::EINVAL));
            return Some(Child::Leaf(generated_file(0o444, SYS_FILE_BYTES, refused, None)));
        }
        let &(_, content) = ATTRIBUTES.iter().find(|(attribute, _)| attribute.as_bytes() == name)?;
        Some(sys_file(move || String::from(content)))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        let files = ATTRIBUTES.map(|(name, _)| name).into_iter().chain(OF_LINK);
        Ok(entries(files, FileKind::Regular)
            .chain(entries(["statistics"], FileKind::Directory))
            .chain(entries(["subsystem"], FileKind::Symlink))
            .collect())
    }
}

/// `statistics`.
struct Statistics;

impl Children for Statistics {
    fn lookup(&self, name: &[u8]) -> Option<Child> {
        STATISTICS.iter().any(|counter| counter.as_bytes() == name).then(|| sys_file(|| String::from("0\n")))
    }

    fn list(&self) -> Result<Vec<(Vec<u8>, FileKind)>> {
        Ok(entries(STATISTICS, FileKind::Regular).collect())
    }
}
