//! dracut's words for md RAID.

use super::{Reading, is_yes};
use crate::md::Uuid;

impl Reading {
    pub(in crate::cmdline) fn md(&mut self, value: &str) {
        self.line.md.off = !is_yes(value);
    }

    pub(in crate::cmdline) fn md_uuid(&mut self, value: &str) {
        // Mistyped, it is a limit all the same.
        let arrays = self.line.md.arrays.get_or_insert_default();
        match Uuid::parse(value) {
            Some(uuid) => arrays.push(uuid),
            None => self.undone(
                &format!("rd.md.uuid={value}"),
                "not an array's UUID as mdadm --detail prints it: it selects no array, and arrays without \
                 rd.md.uuid= are not assembled either",
            ),
        }
    }
}
