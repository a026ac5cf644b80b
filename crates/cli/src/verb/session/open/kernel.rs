//! The kernel's front end: a dm-crypt mapping, byte for byte as cryptsetup makes it.

use super::backend::Backend;
use super::flags::PersistentFlags;
use crate::device;
use crate::mapping::{self, KeyLink};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::stdio;
use crate::process::interrupt::{self, Held};
use crate::volume::{Data, Opening, Unlocked};
use keyway::{MapOptions, Mapping, MappingFlag, WatchMapping, devices};
use keyway_crypto::CipherSpec;
use std::io;

/// A volume to be mapped.
pub(super) struct KernelMapping {
    pub(super) name: String,
    pub(super) opening: Opening,
    pub(super) flags: PersistentFlags,
    pub(super) read_only: bool,
    /// The key may be passed through the kernel's keyring.
    pub(super) keyring: bool,
    /// `--link-vk-to-keyring`.
    pub(super) link: Option<KeyLink>,
    /// The program was called as cryptsetup.
    pub(super) expects_mapping: bool,
}

impl KernelMapping {
    /// Maps the volume.
    pub(super) fn open(&self) -> Result<()> {
        if self.opening.direct {
            let message =
                "--direct-io is for --backend nbd, fuse or ublk: dm-crypt has no page cache below it.";
            return Err(Failure::new(Exit::Parameters, message));
        }
        let device = &self.opening.target.device;
        if device::is_url(device) {
            let message = format!(
                "The kernel maps block devices and files, not {}: use --backend nbd, fuse or ublk.",
                device.display()
            );
            return Err(Failure::new(Exit::Parameters, message));
        }
        check(&self.name, self.expects_mapping)?;
        super::refuse_taken(&self.name)?;
        if !self.opening.sharing.allowed {
            device::refuse_if_mapped(device)?;
        }
        let read_only = self.read_only || devices::is_read_only(device);
        let unlocked =
            self.opening.unlock_for_the_kernel(if read_only { Data::Read } else { Data::Write })?;
        self.check_cipher(&unlocked)?;
        self.map(&unlocked, read_only)?;
        self.debug(&format!("{} is mapped by the kernel.", Mapping::path_of(&self.name).display()))?;
        self.flags.keep(&self.opening.target, &unlocked);
        Ok(())
    }

    /// cryptsetup maps no cipher that names one of the kernel's drivers
    /// (`capi:xts(ecb(aes-generic))-plain64`): with other drivers, on another machine, nothing could
    /// open the volume.
    fn check_cipher(&self, unlocked: &Unlocked) -> Result<()> {
        let parts = &unlocked.parts;
        let mut mappings = parts.layout.segments.iter().map(|segment| &segment.mapping);
        let names_driver = mappings.any(|mapping| mapping.spec().is_some_and(CipherSpec::names_driver));
        match self.expects_mapping && names_driver {
            true => {
                let is_luks2 = parts.header.as_ref().is_some_and(|luks| luks.version() == 2);
                let place = if is_luks2 { " in LUKS2 header" } else { "" };
                let message = format!("No known cipher specification pattern detected{place}.");
                Err(Failure::new(Exit::Parameters, message))
            }
            false => Ok(()),
        }
    }

    fn map(&self, unlocked: &Unlocked, read_only: bool) -> Result<()> {
        let Unlocked { device, parts, .. } = unlocked;
        let mut said = Said { manner: self.opening.target.manner, failure: None, held: None };
        let made = parts.map(device, &self.name, &self.how(read_only), &mut said);
        match said.failure.take() {
            Some(failure) => Err(failure),
            None => made.map(drop).map_err(|error| mapping::not_mapped(device, error)),
        }
    }

    fn how(&self, read_only: bool) -> MapOptions {
        let mut how = self.flags.onto(MapOptions::new());
        if read_only {
            how = how.read_only();
        }
        if self.opening.sharing.allowed {
            how = how.shared();
        }
        if !self.keyring {
            how = how.without_keyring();
        }
        match &self.link {
            Some(link) => link.onto(how),
            None => how,
        }
    }

    fn debug(&self, line: &str) -> Result<()> {
        stdio::debug(self.opening.target.manner, line)
    }
}

/// What is said while the kernel maps a volume.
struct Said {
    manner: Manner,
    /// Why it could not be said.
    failure: Option<Failure>,
    /// A signal finds all of it mapped, or nothing.
    held: Option<Held>,
}

impl WatchMapping for Said {
    fn unknown_flag(&mut self, flag: MappingFlag) -> keyway::Result<()> {
        let line = format!("This kernel's dm-crypt has no --{}: ignored.", mapping::option_of(flag));
        stdio::debug(self.manner, &line).map_err(|failure| {
            self.failure = Some(failure);
            io::Error::from(io::ErrorKind::BrokenPipe).into()
        })
    }

    fn ready(&mut self) -> keyway::Result<()> {
        self.held = Some(interrupt::hold());
        Ok(())
    }
}

/// Fails where there is no device-mapper; where a mapping is expected and cannot be, with what works without.
pub(super) fn check(name: &str, expects_mapping: bool) -> Result<()> {
    let checked = match mapping::check_mapper() {
        Ok(()) if expects_mapping && !Mapping::has_dm_crypt() => {
            Err(Failure::new(Exit::Parameters, "This kernel has no dm-crypt. Is its module installed?"))
        }
        other => other,
    };
    if !expects_mapping {
        return checked;
    }
    let backend = Backend::without_the_kernel();
    checked.map_err(|failure| {
        failure.hinting(format!(
            "Nothing was opened. With --backend {backend} or KEYWAY_BACKEND={backend} it opens without dm-crypt, and \
             without /dev/mapper/{name}."
        ))
    })
}
