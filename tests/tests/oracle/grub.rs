//! The real GRUB: `grub-fstest` of this machine and of other Debian releases, and its result for a
//! volume.

use keyway_boot::loader::grub::Version;
use keyway_tests::timeouts;
use keyway_tests::{Outcome, Run, Scratch, skip};
use std::path::{Path, PathBuf};

/// One release's program.
#[derive(Debug, Clone)]
pub(crate) struct Grub {
    pub(crate) version: Version,
    /// The version as it prints it.
    pub(crate) name: String,
    program: PathBuf,
    /// Builds images of the same release, with these modules for PCs with BIOS.
    mkimage: PathBuf,
    modules: PathBuf,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Did {
    /// Opened this keyslot, and read the file right.
    Opened(u64),
    /// Opened a keyslot, and read wrong data.
    Garbage,
    /// Called the passphrase invalid.
    CalledInvalid,
    /// Prompted, and ended with another error.
    Failed,
    /// Did not prompt.
    NotAsked,
}

impl Grub {
    /// All available releases; missing ones are recorded as skipped.
    pub(crate) fn all(test: &str) -> Vec<Self> {
        let mut found = Vec::new();
        if let Some(program) = skip::find("grub-fstest") {
            let mkimage = skip::find("grub-mkimage").unwrap_or_default();
            found.extend(Self::of(program, mkimage, "/usr/lib/grub/i386-pc".into()));
        }
        let directory = std::env::var_os("KEYWAY_GRUB").map(PathBuf::from).unwrap_or_default();
        for release in ["trixie", "forky"] {
            let [program, mkimage, modules] =
                ["grub-fstest", "grub-mkimage", "i386-pc"].map(|name| directory.join(release).join(name));
            found.extend(Self::of(program, mkimage, modules));
        }
        for version in Version::ALL {
            if !found.iter().any(|grub| grub.version == version) {
                skip::record(test, &format!("no grub-fstest {version} is there"));
            }
        }
        found.sort_by_key(|grub| grub.version);
        found.dedup_by_key(|grub| grub.version);
        found
    }

    fn of(program: PathBuf, mkimage: PathBuf, modules: PathBuf) -> Option<Self> {
        program.is_file().then_some(())?;
        let name = Run::new(&program, "--version").ok().stdout;
        let name = String::from_utf8_lossy(&name).trim().rsplit(' ').next()?.to_owned();
        Some(Self { version: Version::parse(&name)?, name, program, mkimage, modules })
    }

    /// Whether images for PCs with BIOS can be built.
    pub(crate) fn has_modules(&self) -> bool {
        self.modules.join("boot.img").exists()
    }

    /// core.img for a PC with BIOS: these modules, and the commands that it runs at start.
    pub(crate) fn image(&self, scratch: &Scratch, modules: &str, lines: &str) -> Vec<u8> {
        let (configuration, image) = (scratch.file("lines", lines), scratch.path("core.img"));
        let run = Run::new(&self.mkimage, "-O i386-pc -p /nowhere -d").arg(&self.modules).arg("-c");
        run.arg(&configuration).arg("-o").arg(&image).args(modules).ok();
        std::fs::read(image).unwrap()
    }

    /// Makes this folder an EFI system partition whose only program is GRUB: these modules, and the commands
    /// that it runs at start. False if this release's modules for EFI are not there.
    pub(crate) fn efi_partition(&self, folder: &Path, modules: &str, lines: &str) -> bool {
        let from = self.modules.with_file_name("x86_64-efi");
        let (programs, configuration) = (folder.join("EFI/BOOT"), folder.join("lines"));
        std::fs::create_dir_all(&programs).and_then(|()| std::fs::write(&configuration, lines)).unwrap();
        if !from.join("crypto.mod").exists() {
            return false;
        }
        let run = Run::new(&self.mkimage, "-O x86_64-efi -p /nowhere -d").arg(&from).arg("-c");
        let run = run.arg(&configuration).arg("-o").arg(programs.join("BOOTX64.EFI")).args(modules);
        run.ok();
        true
    }

    /// The same as a disk: the boot sector loads it from the sectors after it.
    pub(crate) fn disk(&self, scratch: &Scratch, modules: &str, lines: &str) -> PathBuf {
        let mut disk = std::fs::read(self.modules.join("boot.img")).unwrap();
        disk.extend(self.image(scratch, modules, lines));
        disk.resize(disk.len().next_multiple_of(1 << 20), 0);
        scratch.file("grub", disk)
    }

    /// `cp (crypto0)/file copy`, with the passphrase typed.
    pub(crate) fn read(&self, volume: &Path, passphrase: &[u8], copy: &Path) -> Outcome {
        let _ = std::fs::remove_file(copy);
        let typed = [passphrase, b"\n"].concat();
        let run = Run::new(&self.program, "-C").arg(volume).args("cp (crypto0)/file").arg(copy);
        run.stdin(typed).limit(timeouts::LONG_COMMAND).outcome()
    }

    /// The result for the volume, and all output.
    pub(crate) fn tries(&self, volume: &Path, passphrase: &[u8], copy: &Path, file: &[u8]) -> (Did, String) {
        let outcome = self.read(volume, passphrase, copy);
        let said = [&outcome.stdout[..], &outcome.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        let opened = said.split("Slot ").skip(1).find_map(|rest| {
            let (number, rest) = rest.split_once(' ')?;
            rest.starts_with("opened").then(|| number.trim_matches('"').parse().ok())?
        });
        let did = match opened {
            Some(slot) if std::fs::read(copy).is_ok_and(|copied| copied == file) => Did::Opened(slot),
            Some(_) => Did::Garbage,
            None if !said.contains("Enter passphrase") => Did::NotAsked,
            None if said.contains("Invalid passphrase") || said.contains("access denied") => {
                Did::CalledInvalid
            }
            None => Did::Failed,
        };
        (did, said)
    }
}
