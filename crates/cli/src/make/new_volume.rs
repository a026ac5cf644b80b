//! A volume that is made together with its content, in one pass: what it should be, from the
//! command line; its header, planned before and written last; and the content in between.

use crate::device::{self, explain};
use crate::door::{Args, Kind, Opt};
use crate::make::header::HeaderParams;
use crate::make::output_file::{self, Creation};
use crate::make::replacing::Replacing;
use crate::make::seal::NewSeal;
use crate::say::failure::{Exit, Failure, Result};
use crate::say::manner::Manner;
use crate::say::progress::{self, Progress};
use crate::say::question;
use crate::say::transfer::{self, cannot_write};
use keyway_crypto::{Cpu, Secret};
use keyway_volume::create::{Luks1Params, Luks2Params, Plan, plan_luks1, plan_luks2};
use keyway_volume::probe::largest_sector;
use keyway_volume::storage::{Exclusive, Readers};
use keyway_volume::stream::{self, Holes, Moved, Options, Sink, Source};
use keyway_volume::{
    Access, Layout, Luks, Mapping, OsRandom, Random, SeededRandom, Storage, Unneeded, Volume,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the new volume should be. Whatever cannot be is refused when this is
/// made: before anything is asked, read or written.
pub(crate) struct NewVolume {
    params: HeaderParams,
    seed: Option<Secret>,
    seal: NewSeal,
    progress: Progress,
}

impl NewVolume {
    /// From the format options. With a `seed` everything random comes from it.
    pub(crate) fn from_args(args: &Args, version: u8, seed: Option<Secret>, seal: NewSeal) -> Result<Self> {
        let mut params = HeaderParams::from_args(args, version)?;
        if seed.is_some() {
            params.make_reproducible()?;
        }
        Ok(Self { params, seed, seal, progress: args.progress() })
    }

    /// Makes the volume on `destination`, full of `content`.
    pub(crate) fn make(
        &self,
        destination: Destination,
        content: Content<'_>,
        passphrase: &Secret,
    ) -> Result<Moved> {
        let mut rng: Box<dyn Random> = match &self.seed {
            Some(seed) => Box::new(SeededRandom::new(seed)),
            None => Box::new(OsRandom),
        };
        let volume_key = self.params.volume_key(&mut *rng)?;
        let plan = self.plan(&content, &volume_key, passphrase, &mut *rng)?;
        let sector = sector_size(&plan)?;
        let room = content.len.map(|len| len.next_multiple_of(sector));
        destination.prepare(&plan, room)?;
        let layout = destination.layout(&plan, room)?;
        let volume = destination.volume(&layout, &volume_key)?;
        let moved = content.move_into(self.progress, &volume, destination.path())?;
        let path = destination.path().to_owned();
        destination.complete(plan, moved.length.next_multiple_of(sector), &mut *rng)?;
        if self.seal.is_wanted() {
            self.seal(&path, &volume_key, &mut *rng)?;
        }
        Ok(moved)
    }

    /// Seals the volume when it is there, whole: only then is its length known.
    fn seal(&self, path: &Path, volume_key: &Secret, rng: &mut dyn Random) -> Result<()> {
        let storage = device::storage(path, Access::Write)?;
        let data_len = storage.len();
        Luks::open(storage, Access::Write)
            .and_then(|mut luks| self.seal.seal(&mut luks, volume_key, data_len, rng))
            .map_err(|e| explain::on_device(path, &e))
    }

    fn plan(
        &self,
        content: &Content<'_>,
        volume_key: &Secret,
        passphrase: &Secret,
        rng: &mut dyn Random,
    ) -> Result<Plan> {
        if self.params.version() == 1 {
            // --header is the source's: the new volume holds its own.
            let params = Luks1Params { detached: false, ..self.params.luks1() };
            return Ok(plan_luks1(&params, None, volume_key, passphrase, rng)?);
        }
        let mut params = Luks2Params { detached: false, ..self.params.luks2(None) };
        // As cryptsetup chooses: large sectors unless the content does not fill them. But then it
        // could not be mounted if it has smaller blocks.
        let odd = content.len.is_some_and(|len| !len.is_multiple_of(4096)).then_some(512);
        params.sector_size = params.sector_size.or(odd).or_else(|| largest_sector(&content.source));
        Ok(plan_luks2(&params, None, volume_key, passphrase, rng)?)
    }
}

/// What goes into the volume.
pub(crate) struct Content<'a> {
    /// The bytes.
    pub(crate) source: Source<'a>,
    /// Their origin, for messages.
    pub(crate) name: String,
    /// Length of the plaintext, extension included, where it is known.
    pub(crate) len: Option<u64>,
    /// What to do with holes of the source.
    pub(crate) holes: Holes,
    /// The plaintext is this long at least.
    pub(crate) extend_to: u64,
    /// The plaintext goes on so far behind the source's end.
    pub(crate) headroom: u64,
    /// A pipe may bring this much at most.
    pub(crate) limit: Option<u64>,
}

impl Content<'_> {
    fn move_into(self, progress: Progress, volume: &Volume, path: &Path) -> Result<Moved> {
        let room = volume.len();
        let options = Options {
            holes: self.holes,
            limit: Some(self.limit.unwrap_or(room).min(room)),
            extend_to: self.extend_to,
            headroom: self.headroom,
            pad: true,
            ..Options::default()
        };
        let (source, sink) = (self.source, Sink::Storage(volume, 0));
        let moved = progress::watch(progress, path, self.len, |meter| {
            stream::transfer(source, sink, &options, meter)
        })
        .map_err(|e| transfer::failed(e, &self.name, &path.display()))?;
        if moved.length == 0 {
            let message = format!("{} is empty; a volume needs something to hold.", self.name);
            return Err(Failure::new(Exit::Parameters, message));
        }
        Ok(moved)
    }
}

/// What becomes of an image's holes: `--fill` and `--keep-holes`, or
/// what is right for the file system in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageHoles {
    /// Those stay that the image's own file system calls free; the others are zeros in use.
    Unneeded,
    /// All of them stay.
    All,
    /// All of them are encrypted as zeros.
    None,
}

impl ImageHoles {
    pub(crate) fn from_args(args: &Args) -> Result<Self> {
        match (args.given(&FILL), args.given(&KEEP_HOLES)) {
            (true, true) => {
                let message = "Options --fill and --keep-holes cannot be combined.";
                Err(Failure::new(Exit::Parameters, message))
            }
            (true, false) => Ok(Self::None),
            (false, true) => Ok(Self::All),
            (false, false) => Ok(Self::Unneeded),
        }
    }

    /// What the pipeline does with the holes of the view.
    pub(crate) fn in_transfer(self) -> Holes {
        if self == Self::None { Holes::Fill } else { Holes::Keep }
    }

    /// The image's free space, where that matters.
    pub(crate) fn view<'a>(self, image: &'a dyn Storage, name: &str) -> Result<Option<Unneeded<'a>>> {
        if self != Self::Unneeded {
            return Ok(None);
        }
        Unneeded::of(image)
            .map(Some)
            .map_err(|e| Failure::new(Exit::Device, format!("Cannot read {name}: {e}.")))
    }
}

/// `--fill`.
pub(crate) static FILL: Opt = Opt {
    long: "fill",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Encrypt all holes as zeros.",
    man: "Every sector is then written, and nothing shows which ones are in use.",
};

/// `--keep-holes`.
pub(crate) static KEEP_HOLES: Opt = Opt {
    long: "keep-holes",
    short: None,
    value: "",
    kind: Kind::Flag,
    help: "Leave all holes unwritten.",
    man: "They read as noise then, so this is for images whose holes nobody reads.",
};

/// Where the new volume goes.
pub(crate) enum Destination {
    /// A file that appears when it is complete, and whom the content allows to read it.
    New(Creation, Readers),
    /// A block device or an export: its old header is wiped first, the new one written last.
    Device {
        /// Its bytes, claimed until they are all written.
        storage: Exclusive,
        /// Its name.
        path: PathBuf,
    },
}

impl Destination {
    /// Opens `path`: a new file (or with `--force` one that is replaced), or a block device or
    /// export, after a question. `source` is what will be read meanwhile.
    pub(crate) fn open(manner: Manner, replacing: &Replacing, path: &Path, source: &Path) -> Result<Self> {
        let path = device::resolve(path);
        if !device::is_given(&path) {
            return Ok(Self::New(Creation::start(replacing, &path)?, device::readers(source)));
        }
        let storage = output_file::overwrite(replacing, &path)?;
        refuse_itself(source, &path)?;
        let warning = format!("This will overwrite data on {} irrevocably.", path.display());
        question::confirm(manner, &warning, "Operation aborted.", Exit::Parameters)?;
        Ok(Self::Device { storage, path })
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::New(creation, _) => creation.path(),
            Self::Device { path, .. } => path,
        }
    }

    fn volume(&self, layout: &Layout, volume_key: &Secret) -> Result<Volume> {
        Ok(match self {
            Self::New(creation, _) => {
                Volume::in_the_making(creation.new_file(), layout, volume_key, Cpu::detect())?
            }
            Self::Device { storage, .. } => {
                Volume::new(Arc::clone(storage), layout, volume_key, Cpu::detect())?
            }
        })
    }

    /// Refuses a device without the room; otherwise nothing on it is a volume from now on.
    fn prepare(&self, plan: &Plan, room: Option<u64>) -> Result<()> {
        let Self::Device { storage, path } = self else { return Ok(()) };
        let (needs, has) = (plan.data_offset.saturating_add(room.unwrap_or(1)), storage.len());
        if needs > has {
            let message = format!("{} has {has} bytes, {needs} are needed.", path.display());
            return Err(Failure::new(Exit::Parameters, message));
        }
        Ok(plan.wipe(storage)?)
    }

    /// The plan's layout with the length that the content needs;
    /// without bounds while that is unknown.
    fn layout(&self, plan: &Plan, room: Option<u64>) -> Result<Layout> {
        let mut layout = plan.layout()?;
        if let (Self::New(..), Some(segment)) = (self, layout.segments.last_mut()) {
            segment.length = Some(room.unwrap_or(i64::MAX as u64 - plan.data_offset));
        }
        Ok(layout)
    }

    /// Writes the header, and gives a new file its exact length and its name.
    fn complete(self, plan: Plan, data_len: u64, rng: &mut dyn Random) -> Result<()> {
        let path: PathBuf = self.path().to_owned();
        let failed = |e| cannot_write(&path.display(), None, &e);
        match self {
            Self::New(creation, readers) => {
                creation.file().set_len(plan.data_offset + data_len).map_err(failed)?;
                plan.write_to_new(&**creation.file())?;
                creation.complete(readers)
            }
            Self::Device { storage, .. } => {
                storage.flush().map_err(failed)?;
                plan.write(Arc::clone(&storage), false, keyway_volume::Locking::default(), rng)?;
                Ok(())
            }
        }
    }
}

/// Refuses a block device that is read while it is overwritten. (A
/// file is replaced when the new one is complete.)
pub(crate) fn refuse_itself(source: &Path, target: &Path) -> Result<()> {
    if device::is_same(source, target) {
        let message =
            format!("{} would be overwritten while it is read; name another device.", target.display());
        return Err(Failure::new(Exit::Parameters, message));
    }
    Ok(())
}

/// Bytes that the content is rounded up to.
fn sector_size(plan: &Plan) -> Result<u64> {
    let layout = plan.layout()?;
    Ok(match layout.segments.last().map(|s| &s.mapping) {
        Some(Mapping::Crypt { sector_size, .. }) => sector_size.bytes() as u64,
        _ => 512,
    })
}
