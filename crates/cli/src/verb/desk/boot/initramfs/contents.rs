//! What goes into the image: the program, what it shall unlock, and the files for that.

use super::options::*;
use super::{machine, modules};
use crate::door::{Args, shared};
use crate::say::failure::{Exit, Failure, Result};
use crate::verb::desk::boot::files::Ingredients;
use keyway_boot::crypttab::{self, Entry};
use keyway_boot::elf::Program;
use keyway_boot::initramfs::layout::{Contents, HEADERS, KEYS};
use keyway_volume::policy::Policy;
use std::path::Path;

/// From the command line; for an image that is there already, or for one to be made.
pub(super) fn gather(args: &Args, from: &mut Ingredients, has_original: bool) -> Result<Contents> {
    let mut contents = Contents { program: program(args, from)?, ..Contents::default() };
    if let Some(device) = args.text(&VOLUME) {
        let entry = entry(args, device, from, &mut contents)?;
        contents.volumes.push(entry);
    }
    contents.policy = args.path(&REQUIRE).map(|path| policy(path, from)).transpose()?;
    contents.modules = modules::gather(args, from, has_original)?;
    machine::check_modules(&contents)?;
    Ok(contents)
}

fn entry(args: &Args, device: &str, from: &mut Ingredients, contents: &mut Contents) -> Result<Entry> {
    let name = args.text(&NAME).unwrap_or("root").to_owned();
    if name.is_empty() || name.contains('/') || name == "." || name == ".." {
        return Err(Failure::new(Exit::Parameters, format!("--name {name}: a mapping's name is no path.")));
    }
    let mut options = crypttab::options_of(args.text(&OPTIONS_OF_VOLUME).unwrap_or_default());
    if let Some(path) = args.path(&shared::HEADER) {
        contents.headers.push((name.clone(), from.read(path)?));
        options.push(("header".to_owned(), format!("/{HEADERS}/{name}")));
    }
    let mut key_file = None;
    if let Some(path) = args.path(&EMBED_KEY_FILE) {
        contents.keys.push((name.clone(), from.read(path)?));
        from.hold_a_key();
        key_file = Some(format!("/{KEYS}/{name}").into());
        say!(
            "WARNING: {} goes into the image in plain: whoever reads the image opens the volume.",
            path.display()
        );
    }
    Ok(Entry { name: name.into(), device: device.into(), key_file, options })
}

/// A policy that would be refused at boot is refused here.
fn policy(path: &Path, from: &mut Ingredients) -> Result<Vec<u8>> {
    if path == Path::new("sealed") {
        return Ok(b"sealed = true\n".to_vec());
    }
    let text = from.read(path)?;
    Policy::parse(&text).map_err(|e| {
        Failure::new(Exit::Parameters, format!("Policy {}:{e}; no image is made.", path.display()))
    })?;
    Ok(text)
}

/// A program that runs where there are no libraries: the one that is named,
/// else the small one beside this one, else this one.
fn program(args: &Args, from: &mut Ingredients) -> Result<Vec<u8>> {
    let small = std::env::current_exe().map(|own| own.with_file_name(SMALL_PROGRAM));
    let small = small.ok().filter(|small| small.exists());
    let path = args.path(&PROGRAM).or(args.path(&KEYWAY)).or(small.as_deref());
    let named = path.map_or_else(|| "This keyway".to_owned(), |path| path.display().to_string());
    let file = from.read(path.unwrap_or(Path::new("/proc/self/exe")))?;
    let program =
        Program::parse(&file).map_err(|why| Failure::new(Exit::Device, format!("{named}: {why}.")))?;
    match program.wants_libraries {
        false => Ok(file),
        true => {
            let why = "it is linked with libraries, which an initramfs does not have; --program FILE names a static one";
            Err(Failure::new(Exit::Device, format!("{named}: {why}.")))
        }
    }
}

/// What `./dev build ramdisk` makes: without the commands that nobody needs in an initramfs.
const SMALL_PROGRAM: &str = "keyway-ramdisk";
