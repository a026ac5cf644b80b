//! The kernel's door: a dm-crypt mapping, byte for byte as cryptsetup makes it.

use super::backend::Backend;
use super::flags::PersistentFlags;
use crate::device::{self, explain};
use crate::mapping::{self, KeyLink};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::{sentence, stdio};
use crate::process::interrupt;
use crate::volume::{Data, Format, Opening, Unlocked};

use keyway_attach::dm::crypt::Features;
use keyway_attach::dm::volume::{self, Below, KeyPlace, Places};
use keyway_attach::dm::{self, Backing, Mapper};
use keyway_crypto::CipherSpec;
use keyway_volume::InUse;
use keyway_volume::device::in_use;
use keyway_volume::reencrypt::UnderWay;

/// A volume to be mapped.
pub(super) struct KernelDoor {
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

impl KernelDoor {
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
        let mapper = mapper(&self.name, self.expects_mapping)?;
        super::refuse_taken(&self.name)?;
        if !self.opening.sharing.allowed {
            device::refuse_if_mapped(device)?;
        }
        let read_only = self.read_only || mapping::is_read_only(device);
        let unlocked =
            self.opening.unlock_for_the_kernel(if read_only { Data::Read } else { Data::Write })?;
        self.check_cipher(&unlocked)?;
        if let Format::Luks { luks, .. } = &unlocked.format
            && let Some(under_way) = UnderWay::of(luks.header())?
        {
            under_way.check_complete().map_err(|e| explain::on_device(device, &e))?;
        }
        self.map(&mapper, &unlocked, read_only)?;
        self.debug(&format!("{} is mapped by the kernel.", mapping::place(&self.name).display()))?;
        self.flags.keep(&self.opening.target, &unlocked);
        Ok(())
    }

    /// cryptsetup maps no cipher that names one of the kernel's drivers
    /// (`capi:xts(ecb(aes-generic))-plain64`): with other drivers, on another machine, nothing could
    /// open the volume.
    fn check_cipher(&self, unlocked: &Unlocked) -> Result<()> {
        let names_driver = unlocked
            .layout
            .segments
            .iter()
            .any(|segment| segment.mapping.spec().is_some_and(CipherSpec::names_driver));
        match self.expects_mapping && names_driver {
            true => {
                let place = if luks2(&unlocked.format).is_some() { " in LUKS2 header" } else { "" };
                let message = format!("No known cipher specification pattern detected{place}.");
                Err(Failure::new(Exit::Parameters, message))
            }
            false => Ok(()),
        }
    }

    fn map(&self, mapper: &Mapper, unlocked: &Unlocked, read_only: bool) -> Result<()> {
        let features = mapping::features(mapper)?;
        // Held until the kernel has claimed what it maps: if two processes open the volume at once,
        // one is refused.
        let _mark = self.leave_to_the_kernel(unlocked)?;
        let segments = &unlocked.layout.segments;
        let sector_size = volume::sector_size(segments);
        let attached = Backing::attach(&*unlocked.storage, &unlocked.device, read_only, sector_size)
            .map_err(|e| sentence::door(&e))?;
        let place = self.place_key(unlocked, &features)?;
        let mut options = self.flags.of(&unlocked.format);
        for flag in mapping::drop_unknown(&mut options, &features) {
            self.debug(&format!("This kernel's dm-crypt has no --{flag}: ignored."))?;
        }
        let below = Below { device: attached.number, len: unlocked.storage.len(), options };
        let second = unlocked.second_key.as_ref();
        let second_key = second.map(|second| &second.key);
        let second = second.map(|second| {
            let luks2 = luks2(&unlocked.format).map(|(uuid, _)| (uuid, second.digest));
            mapping::place_key(self.keyring, &second.key, luks2, &features)
        });
        let second = second.transpose()?;
        let places = Places { first: &place, second: second.as_ref() };
        let is_luks2 = luks2(&unlocked.format).is_some();
        let add = |link| mapping::LinkedKey::add(link, is_luks2, &unlocked.volume_key, second_key);
        let link = self.link.as_ref().map(add).transpose()?;
        let uuid = dm::uuid::of_mapping(unlocked.format.name(), unlocked.format.uuid(), &self.name);
        let plan = dm::chain::Plan {
            layout: &unlocked.layout,
            places,
            below: &below,
            read_only: attached.read_only,
        };
        // A signal finds all of it mapped, or nothing.
        let _held = interrupt::hold();
        let created = mapper.map(&self.name, &uuid, plan);
        if let (Err(_), Some(link)) = (&created, link) {
            link.remove();
        }
        created.map_err(|e| sentence::door(&e))
    }

    /// Marks the volume as in use, except for the claim that dm-crypt makes itself.
    fn leave_to_the_kernel(&self, unlocked: &Unlocked) -> Result<Option<InUse>> {
        if self.opening.sharing.allowed {
            return Ok(None);
        }
        let mark = InUse::acquire(&*unlocked.storage, in_use::Access::Write, false);
        let mut mark = mark.map_err(|e| explain::on_device(&unlocked.device, &e))?;
        device::refuse_if_attached(&unlocked.device)?;
        mark.leave_to_the_kernel();
        Ok(Some(mark))
    }

    /// Where cryptsetup would put the key.
    fn place_key<'a>(&self, unlocked: &'a Unlocked, features: &Features) -> Result<KeyPlace<'a>> {
        if volume::encrypts_nothing(&unlocked.layout.segments) {
            return Ok(KeyPlace::Absent);
        }
        mapping::place_key(self.keyring, &unlocked.volume_key, luks2(&unlocked.format), features)
    }

    fn debug(&self, line: &str) -> Result<()> {
        stdio::debug(self.opening.target.manner, line)
    }
}

/// The kernel's device-mapper; where a mapping is expected and cannot be, with what works without.
pub(super) fn mapper(name: &str, expects_mapping: bool) -> Result<Mapper> {
    let mapper = match mapping::mapper() {
        Ok(mapper) if expects_mapping && !mapper.has_target("crypt") => {
            Err(Failure::new(Exit::Parameters, "This kernel has no dm-crypt. Is its module installed?"))
        }
        other => other,
    };
    if !expects_mapping {
        return mapper;
    }
    let backend = Backend::without_the_kernel();
    mapper.map_err(|failure| {
        failure.hinting(format!(
            "Nothing was opened. With --backend {backend} or KEYWAY_BACKEND={backend} it opens without dm-crypt, and \
             without /dev/mapper/{name}."
        ))
    })
}

/// The UUID and digest that identify a LUKS2 volume's key.
fn luks2(format: &Format) -> Option<(&str, u32)> {
    match format {
        Format::Luks { luks, digest, .. } if luks.version() == 2 => Some((luks.uuid(), *digest)),
        _ => None,
    }
}
