//! The line after those of an open volume with nothing on it: how it gets a file system.
//!
//! The volume is looked at through its front end, from the process that the user started: whoever decrypts
//! leaves traces of the key in memory, and the session wipes its own when it ends. Nothing of it stays in
//! the page cache, from which it could be read while the volume is suspended.

use crate::device::{self, sessions};
use crate::output::failure::Result;
use crate::output::stdio;
use keyway::{Access, devices};
use std::path::Path;

/// Prints it if nothing known is on the volume that is open under `name`.
pub(super) fn print(name: &str) -> Result<()> {
    let Some(session) = sessions::registry().find(name) else { return Ok(()) };
    let facts = session.facts();
    // A server elsewhere may take its time to answer.
    if facts.read_only || device::is_url(Path::new(&facts.device)) {
        return Ok(());
    }
    match is_blank(&facts.place) {
        true => stdio::print(&line(&facts.backend, &facts.place)),
        false => Ok(()),
    }
}

fn is_blank(place: &str) -> bool {
    let place = Path::new(place);
    let open = if device::is_url(place) { device::storage } else { device::storage_direct };
    let found = open(place, Access::Probe).map(|storage| devices::signatures(&*storage));
    matches!(found, Ok(Ok(found)) if found.is_empty())
}

fn line(front_end: &str, place: &str) -> String {
    let (place, after) = match front_end {
        "nbd" => ("/dev/nbd0", " after nbd-client,"),
        _ => (place, ""),
    };
    format!("  mkfs.ext4 '{place}'    (once,{after} if it is new: nothing known is on it)\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_what_mkfs_can_open() {
        let file = line("fuse", "/run/user/1/home/fuse/home");
        assert!(
            file.starts_with("  mkfs.ext4 '/run/user/1/home/fuse/home'    (once, if it is new:"),
            "{file}"
        );
        let socket = line("nbd", "nbd+unix:///?socket=/run/x");
        assert!(socket.starts_with("  mkfs.ext4 '/dev/nbd0'    (once, after nbd-client, if"), "{socket}");
    }
}
