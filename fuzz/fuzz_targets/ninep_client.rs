// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The 9P client against a server that answers with arbitrary bytes.
//!
//! The input is a script: for each request one byte that picks the kind of answer, then its body. Most answers
//! have the right type and tag, so that their bodies are looked at.
#![no_main]

use std::sync::{Arc, Mutex};

use hadal_hal::memory::frames::{Block, FrameSource};
use hadal_vfs::ninep::{MountOptions, Transport, TransportError, mount};
use hadal_vfs::page_cache::PageCache;
use hadal_vfs::{Caller, Follow, MountFlags, Namespace, OpenFlags, RenameFlags, SeekFrom, SetAttr};
use libfuzzer_sys::fuzz_target;

/// Answers one input may give: more than the calls below can use up, unless the client loops.
const MAX_ANSWERS: usize = 4096;

struct Server {
    script: Mutex<(Vec<u8>, usize, usize)>,
}

impl Server {
    fn take(&self, len: usize) -> Vec<u8> {
        let mut script = self.script.lock().unwrap();
        let start = script.1;
        let end = (start + len).min(script.0.len());
        script.1 = end;
        script.0[start..end].to_vec()
    }
}

/// No memory for pages: every read asks the server.
struct NoFrames;

impl FrameSource for NoFrames {
    fn alloc(&self, _order: u8) -> Option<Block> {
        None
    }

    fn alloc_spare(&self, _order: u8) -> Option<Block> {
        None
    }

    fn has_spare(&self, _bytes: usize) -> bool {
        false
    }

    fn free(&self, _block: Block) {}

    fn split(&self, _pa: u64, _order: u8) {}
}

impl Transport for Server {
    fn msize_limit(&self) -> usize {
        65536
    }

    fn request(&self, request: &[u8], reply: &mut [u8]) -> Result<usize, TransportError> {
        let answers = {
            let mut script = self.script.lock().unwrap();
            script.2 += 1;
            script.2
        };
        assert!(answers < MAX_ANSWERS, "the client keeps asking");
        let (kind, tag) = (request[4], [request[5], request[6]]);
        let Some(&control) = self.take(1).first() else { return Err(TransportError::Closed) };
        let body = match (kind, control) {
            // Get past the greeting more often than not.
            (100, 0..200) => b"\x00\x00\x01\x00\x08\x009P2000.L".to_vec(),
            (104, 0..200) => vec![0x80; 13],
            (_, 0..64) => self.take(usize::from(control)),
            (_, 64..200) => self.take(usize::from(control) * 4),
            _ => {
                // No frame at all: whatever bytes come next are the message.
                let bytes = self.take(usize::from(control - 200));
                reply[..bytes.len()].copy_from_slice(&bytes);
                return Ok(bytes.len() + usize::from(control & 1) * 70000);
            }
        };
        let mut bytes = (body.len() as u32 + 7).to_le_bytes().to_vec();
        bytes.push(if control == 63 { 7 } else { kind.wrapping_add(1) });
        bytes.extend(tag);
        bytes.extend(body);
        let target = reply.get_mut(..bytes.len()).ok_or(TransportError::TooLarge)?;
        target.copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, script)) = data.split_first() else { return };
    let read_only = first & 1 != 0;
    let server = Arc::new(Server { script: Mutex::new((script.to_vec(), 0, 0)) });
    let pages = PageCache::new(&NoFrames, 1 << 18);
    let options = MountOptions { tree: Vec::new(), uid: 0, read_only, pages };
    let Ok(root) = mount(server, &options) else { return };
    let ns = Namespace::new(root, MountFlags::empty(), "9p", "host");
    let (caller, at) = (Caller::KERNEL, ns.root());
    let _ = ns.resolve(&caller, &at, b"/a/b/../c/d", Follow::Yes).map(|place| {
        let _ = place.inode().metadata();
        let _ = place.inode().statfs();
        let _ = ns.set_attr(&caller, &place, &SetAttr::size(5));
        let _ = ns.link(&caller, &place, &at, b"/l");
    });
    let _ = ns.readlink(&caller, &at, b"/link");
    let flags = OpenFlags::READ_WRITE | OpenFlags::CREATE;
    for (path, flags) in
        [(&b"/x/y"[..], OpenFlags::read_only()), (b"/dir", OpenFlags::DIRECTORY), (b"/n", flags)]
    {
        let Ok(file) = ns.open(&caller, &at, path, flags, 0o644) else { continue };
        let _ = file.metadata();
        let _ = file.read(&mut [0; 3000]);
        let _ = file.seek(SeekFrom::End(0));
        let _ = file.write(&[0; 3000]);
        let mut entries = 0;
        let _ = file.readdir(&mut |_| {
            entries += 1;
            entries < 200
        });
        if let Ok(open) = file.file() {
            let _ = open.fsync(false);
            let _ = open.truncate(3);
            if let Some(source) = open.clone().page_source() {
                let _ = source.read(4096, &mut [0; 4096]);
            }
        }
    }
    let _ = ns.mkdir(&caller, &at, b"/m", 0o755);
    let _ = ns.symlink(&caller, b"t", &at, b"/s");
    let _ = ns.rename(&caller, (&at, b"/a/r"), (&at, b"/b/q"), RenameFlags::NO_REPLACE);
    let _ = ns.unlink(&caller, &at, b"/u");
    let _ = ns.rmdir(&caller, &at, b"/d/e");
});
