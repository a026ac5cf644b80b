//! What goes into the image: the program, the description of the volume to unlock, and the files
//! for it.

use super::keymap::{Gathered, Keyboard, Original};
use super::machine;
use super::modules::Modules;
use super::options::*;
use crate::args::{Args, Opt, shared};
use crate::output::failure::{Exit, Failure, Result};
use crate::output::size::human;
use crate::unlock::seal_context;
use crate::verb::tools::boot::files::Ingredients;
use keyway::trust;
use keyway_boot::crypttab::{self, Entry, REQUIRE as REQUIRED, SEAL_CONTEXT_FILE};
use keyway_boot::elf::Program;
use keyway_boot::initramfs::layout::{Contents, DEMANDS, HEADERS, KEYS};
use std::path::{Path, PathBuf};

/// What should go into an image.
pub(super) struct Wanted {
    /// If `None`, the small program next to this one, or this one.
    program: Option<PathBuf>,
    volume: Option<Volume>,
    policy: Option<PathBuf>,
    modules: Option<Modules>,
    keyboard: Keyboard,
}

/// The volume that the image unlocks, unless the machine names one.
struct Volume {
    /// The device's name on the machine that boots.
    device: String,
    /// The name of its mapping.
    name: String,
    /// In crypttab's notation.
    options: String,
    header: Option<PathBuf>,
    key_file: Option<PathBuf>,
}

impl Wanted {
    pub(super) fn from_args(args: &Args) -> Result<Self> {
        let path = |option: &Opt| args.path(option).map(Path::to_owned);
        let volume = args.text(&VOLUME).map(|device| Volume {
            device: device.to_owned(),
            name: args.text(&NAME).unwrap_or("root").to_owned(),
            options: args.text(&OPTIONS_OF_VOLUME).unwrap_or_default().to_owned(),
            header: path(&shared::HEADER),
            key_file: path(&EMBED_KEY_FILE),
        });
        if let Some(Volume { name, .. }) = &volume
            && (name.is_empty() || name.contains('/') || name == "." || name == "..")
        {
            let message = format!("--name {name}: a mapping's name is not a path.");
            return Err(Failure::new(Exit::Parameters, message));
        }
        Ok(Self {
            program: path(&PROGRAM).or_else(|| path(&KEYWAY)),
            volume,
            policy: path(&REQUIRE),
            modules: Modules::from_args(args),
            keyboard: Keyboard::from_args(args),
        })
    }

    /// Gathers the content, for an existing image or a new one.
    pub(super) fn gather(&self, from: &mut Ingredients, original: Original<'_>) -> Result<Contents> {
        let program = program(self.program.as_deref(), from)?;
        let mut contents = Contents { program, ..Contents::default() };
        if let Some(volume) = &self.volume {
            let entry = volume.entry(from, &mut contents)?;
            contents.volumes.push(entry);
        }
        contents.policy = self.policy.as_deref().map(|path| policy(path, from)).transpose()?;
        if let Some(Gathered { map, name }) = self.keyboard.gather(from, original)? {
            (contents.keymap, contents.keymap_name) = (Some(map), name);
        }
        if let Some(modules) = &self.modules {
            let gathered = modules.gather(from, original.is_some())?;
            (contents.modules, contents.firmware) = (gathered.modules, gathered.firmware);
        }
        machine::check_modules(&contents)?;
        Ok(contents)
    }
}

impl Volume {
    fn entry(&self, from: &mut Ingredients, contents: &mut Contents) -> Result<Entry> {
        let name = &self.name;
        let mut options = crypttab::options_of(&self.options);
        for option in &mut options {
            self.gather_demand(option, from, contents)?;
        }
        if let Some(path) = &self.header {
            contents.headers.push((name.clone(), from.read(path)?));
            options.push(("header".to_owned(), format!("/{HEADERS}/{name}")));
        }
        let mut key_file = None;
        if let Some(path) = &self.key_file {
            contents.keys.push((name.clone(), from.read(path)?));
            from.hold_a_key();
            key_file = Some(format!("/{KEYS}/{name}").into());
            say!(
                "WARNING: {} goes into the image unencrypted: whoever can read the image can open the volume.",
                path.display()
            );
        }
        Ok(Entry { name: name.into(), device: self.device.clone().into(), key_file, options })
    }

    /// Puts the file that an option demands something by into the image, and names it there: the machine
    /// that boots would refuse the volume without it.
    fn gather_demand(
        &self,
        (option, file): &mut (String, String),
        from: &mut Ingredients,
        contents: &mut Contents,
    ) -> Result<()> {
        let path = Path::new(file);
        let content = match option.as_str() {
            REQUIRED if file != SEALED => policy(path, from)?,
            SEAL_CONTEXT_FILE => {
                let content = from.read(path)?;
                seal_context::of_file(path, content.clone())?;
                content
            }
            _ => return Ok(()),
        };
        let name = format!("{}.{}", self.name, contents.demands.len() + 1);
        *file = format!("/{DEMANDS}/{name}");
        contents.demands.push((name, content));
        Ok(())
    }
}

/// What stands for a policy that demands a seal and nothing else.
const SEALED: &str = "sealed";

/// A policy that would be refused at boot is refused already here.
fn policy(path: &Path, from: &mut Ingredients) -> Result<Vec<u8>> {
    if path == Path::new(SEALED) {
        return Ok(b"sealed = true\n".to_vec());
    }
    let text = from.read(path)?;
    trust::policy(&path.to_string_lossy(), &text).map_err(|e| {
        Failure::new(Exit::Parameters, format!("Policy {}:{e}; no image is made.", path.display()))
    })?;
    Ok(text)
}

/// A program that runs without libraries: the one that is named, else the small one next to this
/// one, else this one.
fn program(named: Option<&Path>, from: &mut Ingredients) -> Result<Vec<u8>> {
    let small = std::env::current_exe().map(|own| own.with_file_name(SMALL_PROGRAM));
    let small = small.ok().filter(|small| small.exists());
    let path = named.or(small.as_deref());
    let is_whole = path.is_none();
    let named = path.map_or_else(|| "This keyway".to_owned(), |path| path.display().to_string());
    let file = from.read(path.unwrap_or(Path::new("/proc/self/exe")))?;
    let program =
        Program::parse(&file).map_err(|why| Failure::new(Exit::Parameters, format!("{named}: {why}.")))?;
    match program.wants_libraries {
        false => {
            if is_whole {
                say!(
                    "{SMALL_PROGRAM}, a third of the size, is not beside this program: the whole program, {}, is \
                     embedded. \"./dev build ramdisk\" makes the small one; --program FILE names one.",
                    human(file.len() as u64)
                );
            }
            Ok(file)
        }
        true => {
            let why = "it is dynamically linked, and an initramfs has no libraries; name a static one with --program FILE";
            Err(Failure::new(Exit::Parameters, format!("{named}: {why}.")))
        }
    }
}

/// The program that `./dev build ramdisk` makes, without the commands that are not needed in an
/// initramfs.
const SMALL_PROGRAM: &str = "keyway-ramdisk";
