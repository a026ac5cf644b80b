//! Serves one queue of a device: a thread takes requests and answers them with one [`Storage`] call
//! each.

use super::protocol::{Operation, Request};
use super::sys::{self, Queue};
use crate::Export;
use keyway_volume::Storage;
use std::io::{self, ErrorKind};
use std::sync::mpsc::Sender;

/// Serves `queue` until its device is stopped. `ready` receives a message when requests can arrive,
/// or why they cannot.
pub(super) fn serve(mut queue: Queue, export: &Export, ready: &Sender<io::Result<()>>) -> io::Result<()> {
    sys::serve_block_device();
    let fetched = queue.fetch_all();
    let accepted = fetched.is_ok();
    // Nobody is waiting any more if another queue has failed.
    let _ = ready.send(fetched);
    while accepted && queue.is_open() {
        queue.wait()?;
        while let Some(tag) = queue.next()? {
            let request = queue.request(tag);
            let done = perform(&request, &mut queue, tag, export);
            queue.answer(tag, done.unwrap_or_else(|why| -error_number(&why)))?;
        }
    }
    Ok(())
}

/// Executes a request, and returns the number of bytes transferred.
fn perform(request: &Request, queue: &mut Queue, tag: u16, export: &Export) -> io::Result<i32> {
    let storage = &*export.storage;
    let range = request.offset..request.offset.saturating_add(request.len);
    if export.rights.read_only && !matches!(request.operation, Operation::Read | Operation::Flush) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    match request.operation {
        Operation::Read => {
            storage.read_at(queue.buffer(tag, request.len as usize), request.offset)?;
            return Ok(request.len as i32);
        }
        Operation::Write => {
            storage.write_from(queue.buffer(tag, request.len as usize), request.offset)?;
            flush_if(request.fua, storage)?;
            return Ok(request.len as i32);
        }
        Operation::Flush => storage.flush()?,
        Operation::Discard if export.rights.discards => storage.discard(range)?,
        Operation::WriteZeroes => {
            storage.write_zeroes(range, export.rights.discards && !request.keep_allocated)?;
            flush_if(request.fua, storage)?;
        }
        Operation::Discard | Operation::Other => return Err(ErrorKind::Unsupported.into()),
    }
    Ok(0)
}

fn flush_if(fua: bool, storage: &dyn Storage) -> io::Result<()> {
    if fua { storage.flush() } else { Ok(()) }
}

/// The error number that the kernel maps to its own error (block/blk-core.c, `blk_errors`).
fn error_number(why: &io::Error) -> i32 {
    why.raw_os_error().filter(|number| *number > 0).unwrap_or_else(|| match why.kind() {
        ErrorKind::StorageFull => libc::ENOSPC,
        ErrorKind::Unsupported => libc::EOPNOTSUPP,
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        _ => libc::EIO,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_numbers() {
        assert_eq!(error_number(&io::Error::from_raw_os_error(libc::ENOSPC)), libc::ENOSPC);
        assert_eq!(error_number(&ErrorKind::StorageFull.into()), libc::ENOSPC);
        assert_eq!(error_number(&io::Error::other("the cable")), libc::EIO);
    }
}
