// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random operations against a model that knows, for each page, its protection and content.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::super::vma::Vma;
use super::super::*;
use super::machine::*;
use crate::frames::FrameAllocator;
use crate::frames::tests::allocator;

const BASE: usize = 0x4000_0000 - 64 * PAGE;
const PAGES: usize = 3 * 512 + 128;
const FILE_LEN: usize = 200 * PAGE + 1234;
const SHARED_LEN: usize = 150 * PAGE;

/// Memory of runs that ended well: host memory that stands in for RAM is never freed.
static POOL: Mutex<Vec<&'static FrameAllocator>> = Mutex::new(Vec::new());

/// What the first byte of a page is.
#[derive(Clone, Copy, Debug)]
enum Content {
    Byte(u8),
    /// Page of the private file, unchanged.
    File(usize),
    /// Page of the shared file.
    Shared(usize),
}

#[derive(Clone, Copy, Debug)]
struct Page {
    prot: Prot,
    content: Content,
    origin: Content,
}

#[derive(Clone, Debug)]
enum Operation {
    Map { page: usize, pages: usize, prot: u8, kind: u8, offset: usize },
    Unmap { page: usize, pages: usize },
    Protect { page: usize, pages: usize, prot: u8 },
    Discard { page: usize, pages: usize },
    Remap { page: usize, pages: usize, new_pages: usize, target: usize },
    Write { cpu: usize, page: usize, value: u8 },
    Read { cpu: usize, page: usize, pages: usize },
    Flush { cpu: usize },
    Reclaim,
}

struct Model {
    pages: BTreeMap<usize, Page>,
    shared: BTreeMap<usize, u8>,
}

impl Model {
    fn byte(&self, page: &Page) -> Result<u8, FaultOutcome> {
        match page.content {
            Content::Byte(value) => Ok(value),
            Content::File(index) if index * PAGE < FILE_LEN => Ok(TestFile::byte(1, index * PAGE)),
            Content::Shared(index) if index * PAGE < SHARED_LEN => {
                Ok(self.shared.get(&index).copied().unwrap_or(0))
            }
            _ => Err(FaultOutcome::BeyondEnd),
        }
    }

    fn read(&self, page: usize) -> Result<u8, FaultOutcome> {
        let found = self.pages.get(&page).ok_or(FaultOutcome::NoMapping)?;
        if found.prot.is_empty() { Err(FaultOutcome::Protection) } else { self.byte(found) }
    }

    fn write(&mut self, page: usize, value: u8) -> Result<(), FaultOutcome> {
        let found = *self.pages.get(&page).ok_or(FaultOutcome::NoMapping)?;
        if !found.prot.contains(Prot::WRITE) {
            return Err(FaultOutcome::Protection);
        }
        self.byte(&found)?;
        match found.content {
            Content::Shared(index) => drop(self.shared.insert(index, value)),
            _ => self.pages.get_mut(&page).expect("page").content = Content::Byte(value),
        }
        Ok(())
    }

    fn covered(&self, page: usize, pages: usize) -> usize {
        (page..page + pages).take_while(|page| self.pages.contains_key(page)).count()
    }
}

fn prot_of(number: u8) -> Prot {
    [NONE, Prot::READ, RW, RW, RW, Prot::READ | Prot::EXEC][usize::from(number) % 6]
}

fn operation() -> impl Strategy<Value = Operation> {
    let page = prop_oneof![0..PAGES, (0usize..4).prop_map(|block| block * 512 + 64), 50usize..80];
    let pages = prop_oneof![1usize..20, 1usize..700, Just(512usize), Just(1024usize)];
    let cpu = 0usize..3;
    prop_oneof![
        3 => (page.clone(), pages.clone(), 0u8..6, 0u8..6, 0usize..180)
            .prop_map(|(page, pages, prot, kind, offset)| Operation::Map { page, pages, prot, kind, offset }),
        2 => (page.clone(), pages.clone()).prop_map(|(page, pages)| Operation::Unmap { page, pages }),
        3 => (page.clone(), pages.clone(), 0u8..6)
            .prop_map(|(page, pages, prot)| Operation::Protect { page, pages, prot }),
        1 => (page.clone(), pages.clone()).prop_map(|(page, pages)| Operation::Discard { page, pages }),
        2 => (page.clone(), pages.clone(), pages.clone(), page.clone())
            .prop_map(|(page, pages, new_pages, target)| Operation::Remap { page, pages, new_pages, target }),
        6 => (cpu.clone(), page.clone(), 1u8..255).prop_map(|(cpu, page, value)| Operation::Write { cpu, page, value }),
        4 => (cpu.clone(), page, 1usize..40).prop_map(|(cpu, page, pages)| Operation::Read { cpu, page, pages }),
        1 => cpu.prop_map(|cpu| Operation::Flush { cpu }),
        1 => Just(Operation::Reclaim),
    ]
}

struct Run {
    machine: Machine,
    model: Model,
    private: Arc<TestFile>,
    shared: Arc<TestFile>,
}

impl Run {
    fn step(&mut self, operation: &Operation) -> Result<(), TestCaseError> {
        let Self { machine, model, private, shared } = self;
        let at = |page: usize| BASE + page * PAGE;
        let clip = |page: usize, pages: usize| pages.min(PAGES - page.min(PAGES - 1)).max(1);
        match *operation {
            Operation::Map { page, pages, prot, kind, offset } => {
                let (pages, prot, stack) = (clip(page, pages), prot_of(prot), kind == 3);
                let backing = match kind {
                    4 => private.backing(offset * PAGE, false),
                    5 => shared.backing(offset * PAGE, true),
                    _ => MapBacking::Anonymous,
                };
                let flags = if stack { VmaFlags::STACK } else { VmaFlags::empty() };
                let placement = Placement::Fixed(at(page));
                let request =
                    MapRequest { backing, flags, placement, ..MapRequest::anonymous(pages * PAGE, prot) };
                prop_assert_eq!(machine.space.map(request), Ok(at(page)));
                for part in 0..pages {
                    let content = match kind {
                        4 => Content::File(offset + part),
                        5 => Content::Shared(offset + part),
                        _ => Content::Byte(0),
                    };
                    model.pages.insert(page + part, Page { prot, content, origin: content });
                }
            }
            Operation::Unmap { page, pages } => {
                prop_assert_eq!(machine.space.unmap(at(page), pages * PAGE), Ok(()));
                model.pages.retain(|&other, _| other < page || other >= page + pages);
            }
            Operation::Protect { page, pages, prot } => {
                let covered = model.covered(page, pages);
                let expected = if covered == pages { Ok(()) } else { Err(SpaceError::NoMapping) };
                prop_assert_eq!(machine.space.protect(at(page), pages * PAGE, prot_of(prot)), expected);
                for (_, found) in model.pages.range_mut(page..page + covered) {
                    found.prot = prot_of(prot);
                }
            }
            Operation::Discard { page, pages } => {
                let whole = model.covered(page, pages) == pages;
                let expected = if whole { Ok(()) } else { Err(SpaceError::NoMapping) };
                prop_assert_eq!(machine.space.advise(at(page), pages * PAGE, Advice::DontNeed), expected);
                for (_, found) in model.pages.range_mut(page..page + pages) {
                    found.content = found.origin;
                }
            }
            Operation::Remap { page, pages, new_pages, target } => {
                let new_pages = clip(target, new_pages);
                let mode = RemapMode::Fixed(at(target));
                let request = RemapRequest {
                    old: at(page),
                    old_len: pages * PAGE,
                    new_len: new_pages * PAGE,
                    mode,
                    limits: Limits::default(),
                };
                let single = machine.space.find(at(page)).is_some_and(|vma| at(page + pages) <= vma.end);
                let overlap = target < page + pages && page < target + new_pages;
                let result = machine.space.remap(request);
                if overlap || !single {
                    prop_assert!(result.is_err());
                    return Ok(());
                }
                prop_assert_eq!(result, Ok(at(target)));
                let old: Vec<Page> =
                    (page..page + pages).filter_map(|page| model.pages.remove(&page)).collect();
                for part in 0..new_pages {
                    let grown = |content, origin| match content {
                        Content::File(index) => Content::File(index + part),
                        Content::Shared(index) => Content::Shared(index + part),
                        Content::Byte(_) => origin,
                    };
                    let origin = grown(old[0].origin, old[0].origin);
                    let moved = old.get(part).copied().unwrap_or(Page { content: origin, origin, ..old[0] });
                    model.pages.insert(target + part, moved);
                }
            }
            Operation::Write { cpu, page, value } => {
                let expected = model.write(page, value);
                if expected == Err(FaultOutcome::NoMapping) {
                    // Another CPU that has not flushed yet would write to what was there, which may be a shared file.
                    return Ok(());
                }
                prop_assert_eq!(machine.write_on(cpu, at(page), value), expected, "page {}", page);
            }
            Operation::Read { cpu, page, pages } => {
                for page in page..page + pages {
                    let (expected, found) = (model.read(page), machine.read_on(cpu, at(page)));
                    let lagging = expected == Err(FaultOutcome::NoMapping) && found.is_ok();
                    prop_assert!(
                        lagging || found == expected,
                        "page {}: {:?}, not {:?}",
                        page,
                        found,
                        expected
                    );
                }
            }
            Operation::Flush { cpu } => machine.sim.state().flush_cpu(cpu),
            Operation::Reclaim => drop(machine.space.reclaim()),
        }
        Ok(())
    }

    /// Mappings and model agree, and neighbours that are alike are joined.
    fn check(&self) -> Result<(), TestCaseError> {
        let mut mapped = 0;
        for (start, end, prot) in self.machine.ranges() {
            for page in (start - BASE) / PAGE..(end - BASE) / PAGE {
                prop_assert_eq!(self.model.pages.get(&page).map(|page| page.prot), Some(prot));
                mapped += 1;
            }
        }
        prop_assert_eq!(mapped, self.model.pages.len());
        let inner = self.machine.space.inner.read();
        let joined =
            inner.map.iter().zip(inner.map.iter().skip(1)).all(|(vma, next)| !vma.continues_in(next));
        prop_assert!(joined);
        prop_assert_eq!(inner.map.iter().map(Vma::data_bytes).sum::<usize>(), inner.map.data_bytes());
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 3000, ..ProptestConfig::default() })]
    #[test]
    fn the_window_is_what_the_model_says(operations in proptest::collection::vec(operation(), 1..80)) {
        let frames = POOL.lock().expect("pool").pop().unwrap_or_else(|| allocator(&[48]));
        let machine = Machine::on(frames, 3);
        let shared = TestFile::new(2, SHARED_LEN, Some(machine.frames));
        let private = TestFile::new(1, FILE_LEN, None);
        let mut run = Run { machine, model: Model { pages: BTreeMap::new(), shared: BTreeMap::new() }, private, shared };
        for operation in &operations {
            run.step(operation)?;
            run.check()?;
            run.machine.check_tlbs();
        }
        run.machine.space.reclaim();
        for page in 0..PAGES {
            prop_assert_eq!(run.machine.read_on(0, BASE + page * PAGE), run.model.read(page), "page {}", page);
        }
        let Run { machine, shared, .. } = run;
        drop(shared);
        machine.finish();
        POOL.lock().expect("pool").push(frames);
    }
}
