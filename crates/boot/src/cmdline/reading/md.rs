//! dracut's words for md RAID.

use super::{Reading, is_yes};
use crate::md::Uuid;

impl Reading {
    pub(in crate::cmdline) fn md(&mut self, value: &str) {
        self.line.md.off = !is_yes(value);
    }

    pub(in crate::cmdline) fn md_uuid(&mut self, value: &str) {
        match Uuid::parse(value) {
            Some(uuid) => self.line.md.arrays.push(uuid),
            None => self.undone(
                &format!("rd.md.uuid={value}"),
                "that is no UUID of an array, as mdadm --detail prints it",
            ),
        }
    }
}
