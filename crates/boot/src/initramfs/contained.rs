//! The architecture that an image is for, according to the programs and kernel modules in it.
//!
//! Firmware is ignored because it is for processors other than the one that boots, and the program
//! added by Keyway, unless it is alone, because it may be the wrong one. The majority of the programs decides, so a
//! stray one has no effect; all modules belong to one kernel.

use super::cpio::Entry;
use super::{Error, Wanted, layout, walk_parts};
use crate::architecture::{Architecture, HEAD, Object};
use std::collections::BTreeMap;
use std::io::{self, Read};

/// The number of programs and modules for each architecture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contained {
    programs: BTreeMap<Architecture, usize>,
    modules: BTreeMap<Architecture, usize>,
    /// The one of the program that Keyway has added, which counts only where there is nothing else.
    own: Option<Architecture>,
}

impl Contained {
    /// Counts everything in an image.
    pub fn of(image: &[u8]) -> Result<Self, Error> {
        let mut found = Self::default();
        walk_parts(image, &mut |_, entry, content| {
            found.look(entry, content)?;
            Ok(Wanted::More)
        })?;
        Ok(found)
    }

    /// Counts an entry, and returns the beginning of its content, which has been consumed by then.
    pub(super) fn look(&mut self, entry: &Entry, content: &mut dyn Read) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        if entry.is_file() {
            content.take(HEAD as u64).read_to_end(&mut head)?;
            self.count(&entry.name, &head);
        }
        Ok(head)
    }

    /// Counts a file by its name and its beginning.
    pub fn count(&mut self, name: &str, head: &[u8]) {
        let is_firmware = FIRMWARE.iter().any(|folder| name.starts_with(folder));
        let Some(object) = Object::parse(head).filter(|_| !is_firmware) else { return };
        if name == layout::PROGRAM {
            self.own = Some(object.architecture);
            return;
        }
        let kind = if object.is_relocatable { &mut self.modules } else { &mut self.programs };
        *kind.entry(object.architecture).or_default() += 1;
    }

    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.programs.is_empty() && self.modules.is_empty()
    }

    /// Whether `program` runs on the image's machine: if there are modules, whether their kernel
    /// runs it, otherwise whether most programs are of the same architecture. If nothing is known,
    /// `true`.
    pub fn takes(&self, program: Architecture) -> bool {
        match (most(&self.modules), most(&self.programs)) {
            (Some(kernel), _) => kernel.runs(program),
            (None, programs) => programs.is_none_or(|it| it == program),
        }
    }

    /// Whether this image runs on a kernel of this architecture.
    pub fn runs_on(&self, kernel: Architecture) -> bool {
        match most(&self.modules) {
            Some(modules) => modules == kernel,
            None => most(&self.programs).or(self.own).is_none_or(|programs| kernel.runs(programs)),
        }
    }

    /// The image's architecture, if it is known.
    pub fn architecture(&self) -> Option<Architecture> {
        most(&self.modules).or(most(&self.programs)).or(self.own)
    }
}

fn most(counted: &BTreeMap<Architecture, usize>) -> Option<Architecture> {
    counted.iter().max_by_key(|(_, count)| **count).map(|(architecture, _)| *architecture)
}

const FIRMWARE: [&str; 2] = ["lib/firmware/", "usr/lib/firmware/"];

#[cfg(test)]
mod tests {
    use super::super::tests::{archive, gzip};
    use super::*;
    use crate::architecture::tests::elf;

    fn of(name: &str) -> Architecture {
        Architecture::named(name).unwrap()
    }

    fn contained(files: &[(&str, &[u8])]) -> Contained {
        let plain = Contained::of(&archive(files)).unwrap();
        assert_eq!(Contained::of(&gzip(&archive(files))).unwrap(), plain);
        plain
    }

    #[test]
    fn programs_and_modules_tell() {
        let (arm64, pc) = (elf("aarch64", false), elf("x86_64", false));
        let (arm64_module, pc_module, arm) = (elf("aarch64", true), elf("x86_64", true), elf("arm", false));
        let nothing = contained(&[("init", b"#!/bin/sh\n"), ("short", b"\x7fELF")]);
        assert!(nothing.is_empty() && nothing.takes(of("x86_64")) && nothing.runs_on(of("arm")));
        assert_eq!(nothing.architecture(), None);
        // Programs only: exactly their architecture. A stray one changes nothing.
        let programs = contained(&[("bin/a", &arm64), ("bin/b", &arm64), ("opt/c", &pc)]);
        assert!(programs.takes(of("aarch64")) && !programs.takes(of("x86_64")) && !programs.takes(of("arm")));
        assert!(programs.runs_on(of("aarch64")) && !programs.runs_on(of("x86_64")) && !programs.is_empty());
        assert_eq!(programs.architecture(), Some(of("aarch64")));
        let others = contained(&[("bin/a", &pc), ("bin/b", &pc), ("opt/c", &arm64)]);
        assert_eq!(others.architecture(), Some(of("x86_64")));
        // Modules: what their kernel runs, whatever the programs are.
        let modules = contained(&[("lib/modules/6/m.ko", &arm64_module), ("bin/a", &arm), ("bin/b", &arm)]);
        assert!(modules.takes(of("aarch64")) && modules.takes(of("arm")) && !modules.takes(of("x86_64")));
        assert!(modules.runs_on(of("aarch64")) && !modules.runs_on(of("arm")) && !modules.is_empty());
        assert_eq!(modules.architecture(), Some(of("aarch64")));
        // 32-bit programs run on the 64-bit kernel.
        assert!(contained(&[("bin/a", &arm)]).runs_on(of("aarch64")));
        // Neither firmware nor files added by Keyway count.
        let others = contained(&[
            ("lib/firmware/dsp.elf", &arm),
            ("usr/lib/firmware/dsp.elf", &arm),
            ("keyway/keyway", &pc),
            ("usr/lib/firmware.ko", &pc_module),
        ]);
        assert!(others.takes(of("x86_64")) && !others.takes(of("aarch64")));
        assert_eq!(others.architecture(), Some(of("x86_64")));
        // In an image of nothing else Keyway's own program is what the kernel has to run; another may take its place.
        let alone = contained(&[("keyway/keyway", &pc), ("lib/firmware/x", &arm64)]);
        assert!(alone.is_empty() && alone.takes(of("aarch64")) && alone.architecture() == Some(of("x86_64")));
        assert!(alone.runs_on(of("x86_64")) && !alone.runs_on(of("aarch64")));
    }
}
