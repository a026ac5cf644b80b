//! A volume that is made together with its content, in one pass: its properties and its
//! destination, from the command line. [`keyway::Create::begin`] makes it.

use crate::args::{Args, Kind, Opt};
use crate::device::{self, explain};
use crate::make::first_boot::FirstBoot;
use crate::make::header::HeaderParams;
use crate::make::output_file::{self, Creation};
use crate::make::replacing::Replacing;
use crate::make::seal::NewSeal;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::manner::Manner;
use crate::output::progress::{self, Progress};
use crate::output::transfer::{self, cannot_write};
use keyway::parts::{Content, CopyOptions as Options, Target};
use keyway::storage::{Exclusive, Readers, Storage};
use keyway::stream::{ImageHoles, Unneeded};
use keyway::{Built, ErrorKind, Key, NotBuilt, Version, devices};
use keyway_crypto::Secret;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The properties of the new volume. Invalid combinations are refused when this is created, before
/// anything is asked, read or written.
pub(crate) struct NewVolume {
    params: HeaderParams,
    seal: NewSeal,
    first_boot: Option<FirstBoot>,
    progress: Progress,
}

impl NewVolume {
    /// From the format options. If a `seed` is given, all random values are derived from it.
    pub(crate) fn from_args(
        args: &Args,
        version: Version,
        seed: Option<Secret>,
        seal: NewSeal,
    ) -> Result<Self> {
        let params = HeaderParams::from_args(args, version)?;
        let params = match seed {
            Some(seed) => params.reproducible(seed)?,
            None => params,
        };
        Ok(Self { params, seal, first_boot: None, progress: args.progress() })
    }

    /// The same volume, marked if that is requested.
    pub(crate) fn marked(self, first_boot: FirstBoot) -> Self {
        Self { first_boot: Some(first_boot), ..self }
    }

    /// Asks whether a key derivation of more than a minute is wanted.
    pub(crate) fn agree(&self) -> Result<()> {
        self.params.agree()
    }

    /// Refuses sectors that are larger than the blocks of what is in an image.
    pub(crate) fn check_content(&self, image: &dyn Storage, name: &str) -> Result<()> {
        let Some(sector) = self.params.sector_size() else { return Ok(()) };
        let Some((found, block)) = devices::smaller_blocks(image, sector) else { return Ok(()) };
        let message = format!(
            "{name} holds {found} with blocks of {block} bytes, which cannot be mounted from sectors of {sector}: use \
             --sector-size {block}, or omit it."
        );
        Err(Failure::new(Exit::Parameters, message))
    }

    /// Makes the volume on `destination`, full of `content` from what messages call `name`; gives
    /// what went into it.
    pub(crate) fn make(
        &self,
        destination: Destination,
        content: Content<'_>,
        name: &str,
        passphrase: Secret,
    ) -> Result<Built> {
        let create = self.seal.of(self.params.create()?);
        let create = match self.first_boot {
            Some(first_boot) => first_boot.of(create),
            None => create,
        };
        let (path, total) = (destination.path().to_owned(), content.len);
        let building = create.begin(destination.target(), &Key::Passphrase(passphrase), &content);
        let building = building.map_err(|e| destination.refused(e))?;
        let built = progress::watch(self.progress, &path, total, |meter| {
            building.complete(content, Options::default(), meter)
        })
        .map_err(|why| not_built(why, name, &path))?;
        destination.complete()?;
        Ok(built)
    }
}

/// The line for content, called `name`, of which no volume on `path` could be made.
pub(crate) fn not_built(why: NotBuilt, name: &str, path: &Path) -> Failure {
    let error = match why {
        NotBuilt::Moving(failure) => return transfer::failed(failure, &name, &path.display()),
        other => keyway::Error::from(other),
    };
    match error.kind() {
        ErrorKind::NoContent => {
            let message = format!("{name} is empty; there is nothing to encrypt.");
            Failure::new(Exit::Parameters, message)
        }
        _ => explain::placed(error.into(), Some(path)),
    }
}

/// `--fill` or `--keep-holes`, or the default for the file system in the image.
pub(crate) fn holes_from_args(args: &Args) -> ImageHoles {
    match (args.given(&FILL), args.given(&KEEP_HOLES)) {
        (true, _) => ImageHoles::None,
        (_, true) => ImageHoles::All,
        (false, false) => ImageHoles::Unneeded,
    }
}

/// The image's free space, if it matters.
pub(crate) fn view<'a>(
    holes: ImageHoles,
    image: &'a dyn Storage,
    name: &str,
) -> Result<Option<Unneeded<'a>>> {
    holes.view(image).map_err(|e| Failure::new(Exit::Device, format!("Cannot read {name}: {e}.")))
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
    man: "They then read as noise: only for images whose holes are never read.",
};

/// Where the new volume goes.
pub(crate) enum Destination {
    /// A file that appears when it is complete, and the users who may read it because they may read
    /// the content.
    New(Creation, Readers),
    /// A block device or an export: its old header is wiped first, the new one written last.
    Device {
        /// The storage, claimed until everything is written.
        storage: Exclusive,
        /// Its name.
        path: PathBuf,
    },
}

impl Destination {
    /// Opens `path`: a new file (with `--force` it may replace one), or a block device or export,
    /// after asking. `source` is what will be read at the same time.
    pub(crate) fn open(manner: Manner, replacing: &Replacing, path: &Path, source: &Path) -> Result<Self> {
        let path = device::resolve(path);
        if !device::is_given(&path) {
            return Ok(Self::New(Creation::start(replacing, &path)?, device::readers(source)));
        }
        let storage = output_file::overwrite(replacing, &path)?;
        refuse_itself(source, &path)?;
        output_file::confirm(manner, replacing, &storage, &path, "")?;
        Ok(Self::Device { storage, path })
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::New(creation, _) => creation.path(),
            Self::Device { path, .. } => path,
        }
    }

    fn target(&self) -> Target<'_> {
        match self {
            Self::New(creation, _) => Target::New(creation.new_file()),
            Self::Device { storage, .. } => Target::Existing(storage),
        }
    }

    /// The storage; a new file gets this length.
    pub(crate) fn sized(&self, len: u64) -> Result<Arc<dyn Storage>> {
        match self {
            Self::Device { storage, .. } => Ok(Arc::clone(storage)),
            Self::New(creation, _) => {
                let file = Arc::clone(creation.file());
                file.set_len(len).map_err(|error| cannot_write(&self.path().display(), None, &error))?;
                Ok(file)
            }
        }
    }

    /// The line for a volume that cannot be made there.
    pub(crate) fn refused(&self, error: keyway::Error) -> Failure {
        match error.kind() {
            ErrorKind::TooShort { needs, has } => too_short(self.path(), *has, *needs),
            _ => error.into(),
        }
    }

    /// Gives a new file its name.
    pub(crate) fn complete(self) -> Result<()> {
        match self {
            Self::New(creation, readers) => creation.complete(readers),
            Self::Device { .. } => Ok(()),
        }
    }
}

/// Refuses a block device that would be read while it is overwritten. (A file is replaced only when
/// the new one is complete.)
pub(crate) fn refuse_itself(source: &Path, target: &Path) -> Result<()> {
    if device::is_same(source, target) {
        let message =
            format!("{} would be overwritten while it is read; name another device.", target.display());
        return Err(Failure::new(Exit::Parameters, message));
    }
    Ok(())
}

/// The failure for a device that the content does not fit on.
pub(crate) fn too_short(device: &Path, has: u64, needs: u64) -> Failure {
    let message = format!("{} has {has} bytes, {needs} are needed.", device.display());
    Failure::new(Exit::Parameters, message)
}
