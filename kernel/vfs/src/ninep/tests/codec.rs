// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Property tests of the codec: what is encoded is decoded, and no bytes make it panic.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::ninep::codec::{Attributes, Changes, FsNumbers, Qid, Reader, WireEntry, WireTime};
use crate::ninep::message::{Reply, Request};

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn qid() -> impl Strategy<Value = Qid> {
    any::<(u8, u32, u64)>().prop_map(|(kind, version, path)| Qid { kind, version, path })
}

fn time() -> impl Strategy<Value = WireTime> {
    any::<(u64, u64)>().prop_map(|(sec, nsec)| WireTime { sec, nsec })
}

/// Checks one request in both directions.
fn request(tag: u16, request: &Request<'_>) -> Result<(), TestCaseError> {
    let bytes = request.encode(tag, vec![1, 2, 3]).unwrap();
    prop_assert_eq!(Request::decode(&bytes), Ok((tag, request.clone())));
    for len in 0..bytes.len() {
        prop_assert!(Request::decode(&bytes[..len]).is_err());
    }
    Ok(())
}

/// Checks one reply in both directions.
fn reply(tag: u16, reply: &Reply<'_>) -> Result<(), TestCaseError> {
    let bytes = reply.encode(tag).unwrap();
    prop_assert_eq!(Reply::decode(&bytes), Ok((tag, reply.clone())));
    for len in 0..bytes.len() {
        prop_assert!(Reply::decode(&bytes[..len]).is_err());
    }
    Ok(())
}

proptest! {
    #[test]
    fn requests_round_trip(
        tag: u16,
        (a, b, c, d) in any::<(u32, u32, u32, u32)>(),
        (offset, flag) in any::<(u64, bool)>(),
        x in bytes(),
        y in bytes(),
        names in vec(bytes(), 0..17),
        (atime, mtime) in (time(), time()),
    ) {
        let (x, y) = (&x[..], &y[..]);
        let changes = Changes { valid: a, mode: b, uid: c, gid: d, size: offset, atime, mtime };
        for message in [
            Request::Statfs { fid: a },
            Request::Lopen { fid: a, flags: b },
            Request::Lcreate { fid: a, name: x, flags: b, mode: c, gid: d },
            Request::Symlink { dir: a, name: x, target: y, gid: b },
            Request::Readlink { fid: a },
            Request::Getattr { fid: a, mask: offset },
            Request::Setattr { fid: a, changes },
            Request::Readdir { fid: a, offset, count: b },
            Request::Fsync { fid: a, data_only: flag },
            Request::Link { dir: a, fid: b, name: x },
            Request::Mkdir { dir: a, name: x, mode: b, gid: c },
            Request::Renameat { dir: a, name: x, new_dir: b, new_name: y },
            Request::Unlinkat { dir: a, name: x, flags: b },
            Request::Version { msize: a, version: x },
            Request::Attach { fid: a, afid: b, user: x, tree: y, uid: c },
            Request::Walk { fid: a, new_fid: b, names: names.iter().map(|name| &name[..]).collect() },
            Request::Read { fid: a, offset, count: b },
            Request::Write { fid: a, offset, data: x },
            Request::Clunk { fid: a },
        ] {
            request(tag, &message)?;
        }
    }

    #[test]
    fn replies_round_trip(
        tag: u16,
        (a, b, c, d) in any::<(u32, u32, u32, u32)>(),
        (e, f, g, h) in any::<(u64, u64, u64, u64)>(),
        x in bytes(),
        (qid, qids) in (qid(), vec(qid(), 0..17)),
        (atime, mtime) in (time(), time()),
    ) {
        let attributes = Attributes {
            valid: e, qid, mode: a, uid: b, gid: c, nlink: f, rdev: g, size: h, blksize: e, blocks: f,
            atime, mtime, ctime: atime, btime: mtime, generation: g, data_version: h,
        };
        let numbers = FsNumbers {
            magic: a, block_size: b, blocks: e, blocks_free: f, blocks_available: g, files: h, files_free: e,
            fsid: f, name_max: c,
        };
        for message in [
            Reply::Error { number: d },
            Reply::Statfs(numbers),
            Reply::Lopen { qid, io_unit: a },
            Reply::Lcreate { qid, io_unit: a },
            Reply::Symlink { qid },
            Reply::Readlink { target: &x },
            Reply::Getattr(attributes),
            Reply::Setattr,
            Reply::Readdir { data: &x },
            Reply::Fsync,
            Reply::Link,
            Reply::Mkdir { qid },
            Reply::Renameat,
            Reply::Unlinkat,
            Reply::Version { msize: a, version: &x },
            Reply::Attach { qid },
            Reply::Walk { qids: qids.iter().copied().take(16).collect() },
            Reply::Read { data: &x },
            Reply::Write { count: a },
            Reply::Clunk,
        ] {
            reply(tag, &message)?;
        }
    }

    #[test]
    fn any_bytes_end_in_a_result(body in vec(any::<u8>(), 0..300), kind: u8, tag: u16) {
        let _ = Reply::decode(&body);
        let _ = Request::decode(&body);
        let mut message = (body.len() as u32 + 7).to_le_bytes().to_vec();
        message.push(kind);
        message.extend(tag.to_le_bytes());
        message.extend(&body);
        let _ = Reply::decode(&message);
        let _ = Request::decode(&message);
        let mut reader = Reader::new(&body);
        while let Ok(Some(_)) = reader.entry() {}
    }

    #[test]
    fn entries_round_trip(list in vec((qid(), any::<u64>(), any::<u8>(), bytes()), 0..10)) {
        let mut data = Vec::new();
        for (qid, offset, kind, name) in &list {
            WireEntry { qid: *qid, offset: *offset, kind: *kind, name }.encode(&mut data);
        }
        let mut reader = Reader::new(&data);
        for (qid, offset, kind, name) in &list {
            let entry = WireEntry { qid: *qid, offset: *offset, kind: *kind, name };
            prop_assert_eq!(reader.entry(), Ok(Some(entry)));
        }
        prop_assert_eq!(reader.entry(), Ok(None));
    }
}
