//! Drivers that are the kernel's own library (lib/crypto): code that the kernel chooses by the CPU
//! when it starts, without a module to load.
//!
//! AES came into it with Linux 7.0, a block at a time and with the CPU's instructions ("aes-lib"),
//! and whole modes with 7.3 ("xts-aes-lib"): at priority 110 as long as the architecture's code for
//! them is still a driver of its own, above those drivers once it has moved (crypto/aes.c).

use super::{CpuFacts, Lines, faster_module};
use crate::pick::Choice;
use crate::xray::Xray;
use crate::{Code, System};

/// How it is called.
pub(super) const LIBRARY: &str = ", the kernel's library";

pub(super) fn is_library(driver: &str) -> bool {
    Code::of(driver) == Code::Library
}

impl Lines {
    /// What the library does on this CPU, where it is what dm-crypt gets.
    pub(super) fn library(&mut self, xray: &Xray, system: &System, cpu: CpuFacts<'_>) {
        let Ok(Choice { driver, priority, .. }) = &xray.dm_crypt else { return };
        if !is_library(driver) || !driver.contains("aes-lib") {
            return;
        }
        if cpu.has_aes() == Some(false) {
            return self
                .note(format!("{driver}{LIBRARY}, is portable code here: this CPU has no AES instructions"));
        }
        let instructions = match cpu.has_aes() {
            Some(_) => "this CPU's AES instructions",
            None => "the CPU's AES instructions, if it has some",
        };
        if !driver.contains('(') && *priority > BEFORE_THE_MOVE {
            return self.note(format!(
                "{driver}{LIBRARY}, is what this architecture's kernels run from 7.3 on: whole requests, by {instructions}"
            ));
        }
        let module = match faster_module(xray, driver, system, cpu) {
            Some(module) => format!(": {module} takes several at once, modprobe it if the kernel has it"),
            None => String::new(),
        };
        self.note(format!("{driver}{LIBRARY}, takes {instructions} for one block after another{module}"));
    }
}

/// The priority of whole modes whose fast code is still a driver.
const BEFORE_THE_MOVE: i64 = 110;
