//! The map of the keyboard that goes into an image: named, or found by the machine's own configuration, else in the
//! image that Keyway is added to.

use super::options::{KEYMAP, MODULES};
use crate::args::Args;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::paint::printable;
use crate::verb::tools::boot::files::{Ingredients, unusable};
use crate::verb::tools::boot::keymap::{Source, Translated, checked, of_map};
use keyway_boot::keymap::{self, is_the_kernels};
use std::fs;
use std::path::{Path, PathBuf};

/// Which map goes into an image.
pub(super) enum Keyboard {
    None,
    /// A name that loadkeys or ckbcomp knows, or a file.
    Named(String),
    /// That of the machine whose root file system this is.
    OfMachine(PathBuf),
}

/// A map in its binary form.
pub(super) struct Gathered {
    pub(super) map: Vec<u8>,
    /// What kbd, or X, calls it.
    pub(super) name: Option<String>,
}

impl Keyboard {
    pub(super) fn from_args(args: &Args) -> Self {
        match args.text(&KEYMAP) {
            Some(name) if name == "none" || is_the_kernels(name) => Self::None,
            Some(name) => Self::Named(name.to_owned()),
            None => {
                let root = args.path(&MODULES).filter(|root| *root != Path::new("none"));
                Self::OfMachine(root.unwrap_or(Path::new("/")).to_owned())
            }
        }
    }

    /// The map in its binary form. `None` for a US keyboard, which every kernel has. A map that was found and
    /// cannot be translated is a warning, one that was named an error.
    pub(super) fn gather(&self, from: &mut Ingredients, original: Original<'_>) -> Result<Option<Gathered>> {
        match self {
            Self::None => Ok(None),
            Self::Named(name) => {
                let translated = match is_file(name) {
                    true => of_file(name, from.read(Path::new(name))?),
                    false => of_name(name),
                };
                let why = |why| {
                    Failure::new(Exit::Parameters, format!("--keymap {name}: {why}; no image is made."))
                };
                let own = Some(name.clone()).filter(|name| !is_file(name));
                translated.map(|map| Some(Gathered { map, name: own })).map_err(why)
            }
            Self::OfMachine(root) => found(root, original),
        }
    }
}

/// The image that Keyway is added to.
pub(super) type Original<'a> = Option<(&'a Path, &'a [u8])>;

/// The first map that can be used, of the machine's and the image's; if none can, a warning about the first.
fn found(root: &Path, original: Original<'_>) -> Result<Option<Gathered>> {
    let of_machine = match configured(root) {
        Some((None, _)) => return Ok(None),
        Some((Some((source, name)), file)) => match source.translated() {
            Ok(map) => {
                say!("The image gets the keymap that {} names.", file.display());
                return Ok(Some(Gathered { map, name }));
            }
            Err(why) => Some((why, file.display().to_string())),
        },
        None => None,
    };
    let of_image = match original.map(|(path, image)| in_image(path, image)).transpose()?.flatten() {
        Some((Ok(map), name, file)) => {
            say!("The image gets the keymap of its own prompt: {file}.");
            return Ok(Some(Gathered { map, name }));
        }
        Some((Err(why), _, file)) => Some((why, file)),
        None => None,
    };
    if let Some((why, file)) = of_machine.or(of_image) {
        say!(
            "WARNING: the image gets no keymap, though {file} names one: {why}. The keyboard will have the US \
             layout. --keymap FILE names a keymap, --keymap none omits it."
        );
    }
    Ok(None)
}

/// The map that the image has for its own prompt, its name, and where.
fn in_image(path: &Path, image: &[u8]) -> Result<Option<(Translated, Option<String>, String)>> {
    let found = keymap::of_image(image).map_err(|why| unusable(path, &why))?;
    Ok(found.map(|found| {
        let map = found.map.map_err(|why| why.to_string()).and_then(of_map);
        (map, found.name, format!("{} in {}", printable(&found.file), path.display()))
    }))
}

fn is_file(name: &str) -> bool {
    name.contains('/') || Path::new(name).is_file()
}

fn of_file(name: &str, bytes: Vec<u8>) -> Translated {
    match bytes.starts_with(b"bkeymap") {
        true => checked(bytes),
        false => Source::Console(name.to_owned()).translated(),
    }
}

/// By a name that loadkeys knows, else ckbcomp.
fn of_name(name: &str) -> Translated {
    Source::Console(name.to_owned()).translated().or_else(|why| {
        let layout = Source::Layout(vec!["-layout".to_owned(), name.to_owned()]);
        layout.translated().map_err(|other| format!("{why}; {other}"))
    })
}

/// A map to be translated, and its name.
type Configured = (Source, Option<String>);

/// What the machine's configuration says, without a source for a US keyboard, and the file that says it; `None` if it says nothing.
fn configured(root: &Path) -> Option<(Option<Configured>, PathBuf)> {
    let (console, layout) = (root.join("etc/vconsole.conf"), root.join("etc/default/keyboard"));
    if let Some(name) = variable(&console, "KEYMAP") {
        let source =
            (!is_the_kernels(&name)).then(|| (Source::Console(in_root(root, name.clone())), Some(name)));
        return Some((source, console));
    }
    let arguments: Vec<(&str, String)> = [
        ("-model", "XKBMODEL"),
        ("-layout", "XKBLAYOUT"),
        ("-variant", "XKBVARIANT"),
        ("-option", "XKBOPTIONS"),
    ]
    .into_iter()
    .filter_map(|(option, name)| Some((option, variable(&layout, name)?)))
    .collect();
    let of =
        |option: &str| arguments.iter().find(|(name, _)| *name == option).map(|(_, value)| value.as_str());
    match (of("-layout"), of("-variant")) {
        (None, None) => return None,
        (Some("us"), None) => return Some((None, layout)),
        _ => {}
    }
    let name = of("-layout").filter(|_| of("-variant").is_none()).map(str::to_owned);
    let arguments = arguments.into_iter().flat_map(|(option, value)| [option.to_owned(), value]);
    Some((Some((Source::Layout(arguments.collect()), name)), layout))
}

/// A variable of a file that shells can read, if it is set to anything.
fn variable(file: &Path, name: &str) -> Option<String> {
    keymap::variable(&fs::read_to_string(file).ok()?, name)
}

/// The file with a map in another machine's root file system; in this one's, the name, which loadkeys finds.
fn in_root(root: &Path, name: String) -> String {
    let mut folders: Vec<PathBuf> = match root == Path::new("/") {
        true => Vec::new(),
        false => MAPS.iter().map(|folder| root.join(folder)).collect(),
    };
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, file) = (entry.path(), entry.file_name());
            let file = file.to_string_lossy();
            match file.strip_prefix(name.as_str()) {
                Some(".map" | ".map.gz" | ".kmap" | ".kmap.gz") => {
                    return path.to_string_lossy().into_owned();
                }
                _ if entry.file_type().is_ok_and(|kind| kind.is_dir()) => folders.push(path),
                _ => {}
            }
        }
    }
    name
}

/// Where distributions have the maps that loadkeys reads.
const MAPS: &[&str] = &["usr/share/keymaps", "usr/share/kbd/keymaps", "usr/lib/kbd/keymaps"];
