//! Creates new volumes together with their content, in one pass.

use super::content::{Bytes, Content};
use super::{Building, Create, Found};
use crate::error::At;
use crate::{Device, Error, ErrorKind, Key, Location, Result, Version};
use keyway_volume::Storage;
use keyway_volume::change::create::check_place;
use keyway_volume::data::build::{self, Build, NoLength, Params, Target, plaintext_len};
use keyway_volume::device::in_use;
use keyway_volume::device::storage::{NewFile, Readers, Topology};
use keyway_volume::device::stream::{Holes, Source};
use std::path::Path;

impl Create {
    /// Creates the volume together with its content, in one pass, and opens it for writing. The
    /// plaintext is as long as its content, or as [`Create::size`] says, in whole sectors. A new
    /// file appears only when it is complete, and only its owner may read it; with
    /// [`Create::overwrite`] it replaces an existing file. On a device the header is written last,
    /// and areas that the content does not reach keep their previous bytes.
    ///
    /// ```
    /// # use keyway::*;
    /// # let directory = std::env::temp_dir().join(format!("keyway-built-{}", std::process::id()));
    /// # std::fs::create_dir_all(&directory)?;
    /// # let [image, built, copied] = ["rootfs", "rootfs.luks", "copy.luks"].map(|name| directory.join(name));
    /// # std::fs::write(&image, [7; 8192])?;
    /// let (key, progress) = (Key::passphrase("correct horse"), Progress::new());
    /// let create = Create::luks2().kdf(NewKdf::pbkdf2(1000)).limits(Limits::new().progress(&progress));
    ///
    /// // An image becomes a volume, with room to grow.
    /// let content = Content::image(&Device::open(&image)?).headroom(4096);
    /// let volume = create.build(&built, &key, content)?.unlock(&key)?;
    /// assert_eq!((volume.len(), progress.total()), (12_288, Some(12_288)));
    ///
    /// // A volume is copied under another key and cipher, no hole shows.
    /// let other = create.clone().cipher("serpent-xts-plain64", 512);
    /// let copy = other.build(&copied, &Key::passphrase("battery staple"), Content::volume(&volume).fill_holes())?;
    ///
    /// // A stream, in the place of that.
    /// let mut stream = &b"from a pipe"[..];
    /// # drop(copy);
    /// let third = create.overwrite().build(&copied, &key, Content::reader(&mut stream).keep_holes())?;
    /// assert_eq!(third.unlock(&key)?.len(), 4096);
    /// # std::fs::remove_dir_all(&directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Create::create`]; [`ErrorKind::TooShort`] where the content does not fit the
    /// device; [`ErrorKind::Cancelled`]; the content is empty, or a reader or device fails. No file
    /// is left behind then, and no volume on a device.
    pub fn build(&self, location: impl Into<Location>, key: &Key, content: Content<'_>) -> Result<Device> {
        let location = location.into();
        if let Some(header) = &self.header {
            let why = "a volume created with its content cannot have a detached header";
            return Err(Error::refused(why).at(header));
        }
        match self.find(&location)? {
            Found::Nothing(path) => self.build_file(path, false, key, content),
            Found::Something => match location.path().filter(|path| path.is_file()) {
                Some(path) => self.build_file(path, true, key, content),
                None => self.build_over(&location, key, content),
            },
        }
        .at(&location)?;
        Device::open_rw(location)
    }

    fn build_file(&self, path: &Path, replace: bool, key: &Key, content: Content<'_>) -> Result<()> {
        let new = NewFile::create(path, replace)?;
        let _claim = in_use::claim_replaced(&new)?;
        self.fill(Target::New(&new), key, content)?;
        Ok(new.complete(Readers::Owner)?)
    }

    fn build_over(&self, location: &Location, key: &Key, content: Content<'_>) -> Result<()> {
        let storage = super::claim(location)?;
        content.check_apart(&**storage)?;
        self.fill(Target::Existing(&storage), key, content)
    }

    fn fill(&self, target: Target<'_>, key: &Key, content: Content<'_>) -> Result<()> {
        let (holes, headroom) = (content.holes, content.headroom);
        match content.bytes {
            Bytes::Reader(reader) => self.fill_from(target, key, Source::Pipe(reader), Holes::Fill, headroom),
            Bytes::Volume(volume) => {
                self.fill_from(target, key, whole(&*volume), holes.in_transfer(), headroom)
            }
            Bytes::Image(image) => {
                let view = holes.view(&*image)?;
                let image: &dyn Storage = view.as_ref().map_or(&*image, |view| view);
                self.fill_from(target, key, whole(image), holes.in_transfer(), headroom)
            }
        }
    }

    fn fill_from(
        &self,
        target: Target<'_>,
        key: &Key,
        source: Source<'_>,
        holes: Holes,
        headroom: u64,
    ) -> Result<()> {
        let content = self.content(source, holes, headroom)?;
        if self.limits.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled));
        }
        let building = self.building(target, key, &content)?;
        let meter = self.limits.begin(content.len);
        building.complete(content, self.limits.transfer(), &meter)?;
        Ok(())
    }

    /// Plans the volume, and makes room for its content. From now on a device holds no volume.
    pub(crate) fn building<'a>(
        &self,
        target: Target<'a>,
        key: &Key,
        content: &build::Content<'_>,
    ) -> Result<Building<'a>> {
        self.check()?;
        let topology = match target {
            Target::New(_) => Topology::default(),
            Target::Existing(storage) => {
                check_place(&***storage)?;
                Topology::of(&***storage)
            }
        };
        let (passphrase, mut random) = (key.read_new_passphrase(self.empty_passphrase)?, self.random());
        let volume_key = self.new_volume_key(&mut *random)?;
        let params = match self.version {
            Version::Luks1 => Params::Luks1(self.luks1_params(false, topology)),
            Version::Luks2 => Params::Luks2(self.luks2_params(false, None, topology)),
        };
        let plan = build::plan(params, content, &volume_key, &passphrase, &mut *random)?;
        let build = Build::start(plan, target, content.len, &volume_key)?;
        let additions = self.additions.clone();
        Ok(Building { build, target, volume_key, random, additions })
    }

    fn content<'a>(&self, source: Source<'a>, holes: Holes, headroom: u64) -> Result<build::Content<'a>> {
        let headroom = Some(headroom).filter(|headroom| *headroom > 0);
        if self.size.is_some() && headroom.is_some() {
            return Err(Error::refused("give a size or headroom, not both"));
        }
        let len = match &source {
            Source::Storage(_, range) => Some(range.end),
            Source::Pipe(_) => None,
        };
        let len = plaintext_len(len, self.size, headroom).map_err(|why| match why {
            NoLength::DoesNotFit { len, size } => {
                Error::refused(format!("{len} bytes of content do not fit into {size}"))
            }
            NoLength::Empty => empty(),
        })?;
        let (extend_to, headroom) = (self.size.unwrap_or(0), headroom.unwrap_or(0));
        Ok(build::Content { source, len, holes, extend_to, headroom, limit: self.size })
    }
}

pub(super) fn whole(storage: &dyn Storage) -> Source<'_> {
    Source::Storage(storage, 0..storage.len())
}

fn empty() -> Error {
    Error::new(ErrorKind::NoContent)
}
