//! dracut's words for logical volumes.

use super::{Reading, is_yes};
use crate::lvm::Named;
use crate::lvm::name::is_name;

impl Reading {
    pub(in crate::cmdline) fn lvm(&mut self, value: &str) {
        self.line.lvm.off = !is_yes(value);
    }

    pub(in crate::cmdline) fn lvm_group(&mut self, value: &str) {
        match is_name(value) {
            true => self.line.lvm.groups.push(value.to_owned()),
            false => self.undone(&format!("rd.lvm.vg={value}"), "not a valid name for a volume group"),
        }
    }

    pub(in crate::cmdline) fn lvm_volume(&mut self, value: &str) {
        match Named::parse(value) {
            Some(named) => self.line.lvm.volumes.push(named),
            None => self.undone(&format!("rd.lvm.lv={value}"), "GROUP/VOLUME is needed"),
        }
    }
}
