// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The 9P transport (QEMU's virtio-9p, device class 9): carries the messages of `hadal-vfs`' client to a server in the
//! virtual machine monitor. Message buffers are lent to the device as they are; nothing is copied.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hadal_vfs::ninep::{Transport, TransportError};

use super::device::{Device, Running};
use super::exchange::Exchange;
use super::memory::Segment;
use super::ring::MAX_SIZE;
use crate::pci::Function;
use crate::{Closed, DriverError};

const FEATURE_MOUNT_TAG: u64 = 1;
/// Configuration: length of the mount tag in 16 bits, then its bytes.
const CONFIG_TAG: usize = 2;
/// Largest message in bytes: what QEMU's server and its queue are made for.
const MSIZE_LIMIT: usize = 512_000;

/// A 9P server reached through a virtio device.
pub struct NinepTransport {
    tag: String,
    exchange: Arc<Exchange>,
    running: Running,
}

impl NinepTransport {
    pub(crate) fn start(function: Function) -> Result<Self, DriverError> {
        let device = Device::open(function, FEATURE_MOUNT_TAG)?;
        let tag = read_tag(&device)?;
        let exchange =
            Arc::new(Exchange::new(device.queue(0, MAX_SIZE)?, &"answer of the 9P server, request"));
        let running = device.start(&exchange)?;
        Ok(Self { tag, exchange, running })
    }

    /// The name that the server was given on the monitor's command line.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    pub(crate) fn requests(&self) -> u64 {
        self.exchange.requests()
    }
}

fn read_tag(device: &Device) -> Result<String, DriverError> {
    if !device.has_feature(FEATURE_MOUNT_TAG) {
        return Err(DriverError::BadTag);
    }
    let len = usize::from(device.config(CONFIG_TAG)?.read16(0));
    let config = device.config(CONFIG_TAG + len)?;
    let bytes: Vec<u8> = (0..len).map(|index| config.read8(CONFIG_TAG + index)).collect();
    let tag = String::from_utf8(bytes).map_err(|_| DriverError::BadTag)?;
    if tag.is_empty() { Err(DriverError::BadTag) } else { Ok(tag) }
}

impl From<Closed> for TransportError {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl Transport for NinepTransport {
    fn msize_limit(&self) -> usize {
        MSIZE_LIMIT
    }

    fn request(&self, request: &[u8], reply: &mut [u8]) -> Result<usize, TransportError> {
        let limit = reply.len();
        let segments = [
            Segment::to_device(request).ok_or(TransportError::NoResources)?,
            Segment::from_device(reply).ok_or(TransportError::NoResources)?,
        ];
        let written = self.exchange.run(&segments)?;
        // A device that claims more than it was given is not believed.
        usize::try_from(written).ok().filter(|&written| written <= limit).ok_or(TransportError::TooLarge)
    }
}
