// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pages of a file: read once, dropped when it changes, written back once, given back when memory is short.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::testing::{TestFrames, page_cache};

const PAGE: u64 = PAGE_SIZE as u64;

/// A file of the host.
struct Host {
    content: Mutex<Vec<u8>>,
    reads: AtomicUsize,
}

impl Host {
    fn new(len: usize) -> Self {
        let content = (0..len).map(|at| (at / PAGE_SIZE + at % 251) as u8 | 1).collect();
        Self { content: Mutex::new(content), reads: AtomicUsize::new(0) }
    }

    /// In pieces that end where no page does.
    fn read(&self, offset: u64, len: usize, take: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let content = self.content.lock().unwrap();
        let rest = content.get(offset as usize..).unwrap_or_default();
        rest[..rest.len().min(len)].chunks(3000).for_each(take);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.content.lock().unwrap()[offset as usize..][..data.len()].copy_from_slice(data);
        Ok(())
    }

    fn reads(&self) -> usize {
        self.reads.swap(0, Ordering::Relaxed)
    }
}

fn unknown() -> u64 {
    u64::MAX
}

fn first_byte(page: &Page) -> u8 {
    let mut byte = [0];
    page.read(0, &mut byte);
    byte[0]
}

#[test]
fn a_window_is_read_once_and_sequential_reads_are_long() {
    let (cache, host) = (page_cache(8 << 20), Host::new(400 * PAGE_SIZE + 100));
    let pages = FilePages::new(&cache, 124 * PAGE_SIZE);
    let read = |offset, len, take: &mut dyn FnMut(&[u8])| host.read(offset, len, take);
    assert!(pages.page(40, &unknown, &read).unwrap().is_some());
    assert_eq!((host.reads(), pages.count()), (1, 32));
    assert!(pages.page(63, &unknown, &read).unwrap().is_some());
    assert_eq!(host.reads(), 0);
    assert!(pages.page(64, &unknown, &read).unwrap().is_some());
    assert_eq!((host.reads(), pages.count()), (1, 32 + 32));
    for (index, count) in [(96, 64), (160, 124), (284, 117)] {
        assert!(pages.page(index, &unknown, &read).unwrap().is_some());
        assert_eq!((host.reads(), pages.count() as u64), (1, index - 32 + count));
    }
    let mut all = vec![0; 401 * PAGE_SIZE];
    assert_eq!(pages.read(0, &mut all, u64::MAX, &read), Ok(401 * PAGE_SIZE));
    assert_eq!(all[..400 * PAGE_SIZE + 100], host.content.lock().unwrap()[..]);
    assert!(all[400 * PAGE_SIZE + 100..].iter().all(|&byte| byte == 0));
    assert_eq!(pages.page(401, &unknown, &read).map(|page| page.is_none()), Ok(true));
    assert_eq!(pages.count(), 401);
}

#[test]
fn no_page_behind_the_end_is_asked_for_unless_it_is_wanted() {
    let (cache, host) = (page_cache(1 << 20), Host::new(6 * PAGE_SIZE));
    let pages = FilePages::new(&cache, 64 * PAGE_SIZE);
    let asked = AtomicUsize::new(0);
    let read = |offset, len, take: &mut dyn FnMut(&[u8])| {
        asked.store(len, Ordering::Relaxed);
        host.read(offset, len, take)
    };
    let size = || 5 * PAGE - 100;
    assert!(pages.page(1, &size, &read).unwrap().is_some());
    assert_eq!((asked.load(Ordering::Relaxed), pages.count()), (5 * PAGE_SIZE, 5));
    // It has grown since somebody asked for its length.
    assert!(pages.page(5, &size, &read).unwrap().is_some());
    assert_eq!((asked.load(Ordering::Relaxed), pages.count()), (PAGE_SIZE, 6));
    assert!(pages.page(6, &size, &read).unwrap().is_none());
}

#[test]
fn a_failed_read_is_tried_again() {
    let (cache, host) = (page_cache(1 << 20), Host::new(PAGE_SIZE));
    let pages = FilePages::new(&cache, PAGE_SIZE);
    assert_eq!(pages.page(0, &unknown, &|_, _, _| Err(Errno::EIO)).err(), Some(Errno::EIO));
    assert!(pages.page(0, &unknown, &|offset, len, take| host.read(offset, len, take)).unwrap().is_some());
}

/// What changes the file while it is being read is not lost in what comes.
#[test]
fn a_change_during_a_read_makes_it_a_new_one() {
    let (cache, host) = (page_cache(1 << 20), Host::new(4 * PAGE_SIZE));
    let pages = FilePages::new(&cache, 64 * PAGE_SIZE);
    let read = |offset, len, take: &mut dyn FnMut(&[u8])| {
        let count = host.read(offset, len, take);
        if host.reads.load(Ordering::Relaxed) == 1 {
            host.write(2 * PAGE, &[99]).unwrap();
            pages.patch(2 * PAGE, &[99]);
        }
        count
    };
    let page = pages.page(2, &unknown, &read).unwrap().unwrap();
    assert_eq!((first_byte(&page), host.reads()), (99, 2));
    assert_eq!(pages.count(), 4);
    let cut = |offset, len, take: &mut dyn FnMut(&[u8])| {
        let count = host.read(offset, len, take);
        if host.reads.load(Ordering::Relaxed) == 1 {
            host.content.lock().unwrap().truncate(PAGE_SIZE / 2);
            pages.cut(PAGE / 2);
        }
        count
    };
    pages.cut(0);
    host.reads();
    assert!(pages.page(2, &unknown, &cut).unwrap().is_none());
    assert_eq!(pages.page(0, &unknown, &cut).unwrap().map(|page| first_byte(&page)), Some(1));
}

#[test]
fn written_pages_are_written_back_once_and_not_behind_the_end() {
    let (cache, host) = (page_cache(1 << 20), Host::new(3 * PAGE_SIZE + 10));
    let pages = FilePages::new(&cache, 64 * PAGE_SIZE);
    let read = |offset, len, take: &mut dyn FnMut(&[u8])| host.read(offset, len, take);
    let held: Vec<_> = (0..4).map(|index| pages.page(index, &unknown, &read).unwrap().unwrap()).collect();
    for (index, page) in (0..).zip(&held) {
        page.write(0, &[200 + index as u8; 20]);
        pages.mark_written(index);
        pages.mark_written(index);
    }
    pages.cut(3 * PAGE + 10);
    assert!(pages.has_written());
    let size = 3 * PAGE + 10;
    assert_eq!(pages.write_back(0..2, size, &|_, _| Err(Errno::ENOSPC)), Err(Errno::ENOSPC));
    assert_eq!(pages.write_back(0..u64::MAX, size, &|offset, data| host.write(offset, data)), Ok(()));
    assert!(!pages.has_written());
    let content = host.content.lock().unwrap();
    assert_eq!(content.len(), 3 * PAGE_SIZE + 10);
    assert_eq!((content[0], content[2 * PAGE_SIZE], content[3 * PAGE_SIZE + 9]), (200, 202, 203));
    let mut tail = [0; 20];
    held[3].read(0, &mut tail);
    assert_eq!((tail[9], tail[10]), (203, 0), "what is behind the end of the file is zeros");
}

#[test]
fn unused_pages_make_room_and_used_ones_stay() {
    let frames = TestFrames::leak(300);
    let cache = PageCache::new(frames, 100 * PAGE);
    let host = Host::new(200 * PAGE_SIZE);
    let read = |offset, len, take: &mut dyn FnMut(&[u8])| host.read(offset, len, take);
    let (one, two) = (FilePages::new(&cache, 16 * PAGE_SIZE), FilePages::new(&cache, 16 * PAGE_SIZE));
    let held: Vec<_> = (0..60).map(|index| one.page(index, &unknown, &read).unwrap().unwrap()).collect();
    one.page(199, &unknown, &read).unwrap();
    for index in 0..200 {
        two.page(index, &unknown, &read).unwrap();
        assert!(cache.stats().bytes <= 200 * PAGE, "{} pages", cache.stats().bytes / PAGE);
    }
    assert!(cache.stats().given_back > 100);
    host.reads();
    assert!(
        held.iter()
            .zip(0..)
            .all(|(page, index)| one.page(index, &unknown, &read).unwrap().unwrap().phys() == page.phys())
    );
    assert_eq!(host.reads(), 0, "what is in use was kept");
    // Written pages are not given back either.
    drop(held);
    one.mark_written(5);
    while cache.give_back(1000) > 0 {}
    assert_eq!((one.count(), two.count(), frames.in_use()), (1, 0, 1));
    drop((one, two));
    assert_eq!((cache.stats().bytes, frames.in_use()), (0, 0));
}

#[test]
fn without_memory_for_a_window_one_page_is_read() {
    let frames = TestFrames::leak(3);
    let cache = PageCache::new(frames, 100 * PAGE);
    let host = Host::new(200 * PAGE_SIZE);
    let read = |offset, len, take: &mut dyn FnMut(&[u8])| host.read(offset, len, take);
    let pages = FilePages::new(&cache, 64 * PAGE_SIZE);
    let held: Vec<_> =
        (0..3).map(|index| pages.page(index * 50, &unknown, &read).unwrap().unwrap()).collect();
    assert_eq!(pages.page(10, &unknown, &read).err(), Some(Errno::ENOMEM));
    drop(held);
    assert_eq!(cache.give_back(2), 3);
    assert!(pages.page(10, &unknown, &read).unwrap().is_some());
}
