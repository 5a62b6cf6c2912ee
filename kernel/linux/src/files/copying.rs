// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Copying between two open files, for `sendfile` and `copy_file_range`.

use hadal_vfs::{OpenFile, SeekFrom};

use super::transfer::{self, CHUNK, MAX_TRANSFER};
use crate::buffers::Buffer;
use crate::{Result, memory};

/// Where one side of a copy is: at an offset in program memory, or at the shared offset of its file.
pub(crate) struct Place {
    /// Address of the offset, or 0.
    address: usize,
    /// The present position.
    pub(crate) at: u64,
}

impl Place {
    /// Reads the offset at an address, or takes the file's own when that is null.
    pub(crate) fn new(file: &OpenFile, address: usize) -> Result<Self> {
        let at = match address {
            0 => file.seek(SeekFrom::Current(0))?,
            _ => transfer::position(memory::read(address)?)?,
        };
        Ok(Self { address, at })
    }

    /// Stores the position where it came from.
    pub(crate) fn store(&self, file: &OpenFile) -> Result<()> {
        match self.address {
            0 => file.seek(SeekFrom::Start(self.at as i64)).map(drop),
            address => memory::write(address, &self.at),
        }
    }
}

/// Copies up to `len` bytes from `from` at a position, which moves; `write` gets what was read and returns how much of it
/// it took.
pub(crate) fn copy(
    from: &OpenFile,
    source: &mut Place,
    len: usize,
    mut write: impl FnMut(&[u8]) -> Result<usize>,
) -> Result<usize> {
    let len = len.min(MAX_TRANSFER);
    let mut buffer = Buffer::up_to(len.min(CHUNK))?;
    let mut done = 0;
    while done < len {
        let wanted = (len - done).min(buffer.len());
        let step = from.read_at(source.at, &mut buffer[..wanted]).and_then(|count| {
            if count == 0 { Ok((0, 0)) } else { write(&buffer[..count]).map(|taken| (count, taken)) }
        });
        match step {
            Ok((count, taken)) => {
                done += taken;
                source.at += taken as u64;
                if count < wanted || taken < count {
                    break;
                }
            }
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}
