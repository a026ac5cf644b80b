//! The keyboard at which the passphrase is typed: its map, which the kernel's command line names, or the image's maker put into
//! `/keyway/keymap`.

use crate::output::paint::printable;
use keyway_attach::initramfs::{Initramfs, Keyboard};
use keyway_boot::initramfs::layout;
use keyway_boot::keymap::{Keymap, is_the_kernels};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where a map comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Map {
    /// A US keyboard's, which the kernel has.
    Kernels,
    /// A binary one.
    File(PathBuf),
    /// A name that this loadkeys of the image's knows, perhaps.
    Loadkeys(PathBuf, String),
    /// The image has none of this name; it may have its maker's.
    Missing(String),
}

impl Map {
    /// The one that the command line names, else the image's own.
    pub(super) fn wanted(name: Option<&str>) -> Self {
        Self::wanted_in(Path::new("/"), name)
    }

    fn wanted_in(image: &Path, name: Option<&str>) -> Self {
        let (own, called) = (image.join(layout::KEYMAP), image.join(layout::KEYMAP_NAME));
        let Some(name) = name else {
            return if is_there(&own) { Self::File(own) } else { Self::Kernels };
        };
        if is_the_kernels(name) {
            return Self::Kernels;
        }
        if fs::read_to_string(called).is_ok_and(|called| called == name) && is_there(&own) {
            return Self::File(own);
        }
        let of_genkernel = image.join(GENKERNELS).join(format!("{name}.map"));
        if !name.contains('/') && is_there(&of_genkernel) {
            return Self::File(of_genkernel);
        }
        match LOADKEYS.iter().map(|program| image.join(program)).find(|program| is_there(program)) {
            Some(program) => Self::Loadkeys(program, name.to_owned()),
            None => Self::Missing(name.to_owned()),
        }
    }

    /// What is done with it: a line of a dry run, if anything is.
    pub(super) fn in_words(&self) -> Option<String> {
        match self {
            Self::Kernels => None,
            Self::File(path) => Some(format!("# loads {}", path.display())),
            Self::Loadkeys(program, name) => {
                Some(format!("# runs {} for the keymap {}", program.display(), printable(name)))
            }
            Self::Missing(name) => Some(format!("# {}", missing(name))),
        }
    }

    fn load(&self, keyboard: &Keyboard) -> Result<(), String> {
        match self {
            Self::Kernels => Ok(()),
            Self::File(path) => of_file(keyboard, path).map_err(|why| format!("{}: {why}", path.display())),
            Self::Loadkeys(program, name) => of_loadkeys(keyboard, program, name),
            Self::Missing(name) => Err(missing(name)),
        }
    }
}

/// Loads the map. An error is printed but not fatal: the passphrase may come from elsewhere. Another map than the one that was
/// asked for is better than none.
pub(super) fn prepare(image: &Initramfs, name: Option<&str>) -> Option<Keyboard> {
    let keyboard = Keyboard::of_console(image)?;
    let Err(why) = Map::wanted(name).load(&keyboard) else { return Some(keyboard) };
    let own = Path::new("/").join(layout::KEYMAP);
    match name.is_some() && of_file(&keyboard, &own).is_ok() {
        true => say!("WARNING: {why}; using {} instead.", own.display()),
        false => say!("WARNING: {why}; the keyboard has the US layout."),
    }
    Some(keyboard)
}

fn of_file(keyboard: &Keyboard, path: &Path) -> Result<(), String> {
    let bytes = fs::read(path).map_err(|why| why.to_string())?;
    let map = Keymap::parse(&bytes).map_err(|why| why.to_string())?;
    keyboard.load(map.values()).map_err(|why| why.to_string())
}

/// Its name may be that of an option.
fn of_loadkeys(keyboard: &Keyboard, program: &Path, name: &str) -> Result<(), String> {
    // It asks the console whether keys type UTF-8.
    keyboard.load(std::iter::empty()).map_err(|why| why.to_string())?;
    let mut loadkeys = Command::new(program);
    // Its name for standard input is a name here.
    loadkeys.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let ended = loadkeys.args(["-q", "-u", "--", name]).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(missing(name)),
        Err(why) => Err(format!("{}: {why}", program.display())),
    }
}

fn missing(name: &str) -> String {
    format!(
        "the kernel's command line names the keymap {}, which is not in the image (boot initramfs --keymap \
         puts it there)",
        printable(name)
    )
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Binary maps, which genkernel loads with busybox.
const GENKERNELS: &str = "lib/keymaps";
/// dracut's images have it, and mkinitcpio's with sd-vconsole, beside the texts of its maps.
const LOADKEYS: &[&str] = &["usr/bin/loadkeys", "bin/loadkeys"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_map_is_the_one_that_the_line_names() {
        let image = std::env::temp_dir().join(format!("keyway-keymaps-{}", std::process::id()));
        let wanted = |name| Map::wanted_in(&image, name);
        assert_eq!((wanted(None), wanted(Some("us"))), (Map::Kernels, Map::Kernels));
        assert_eq!(wanted(Some("de")), Map::Missing("de".to_owned()));
        let file = |path: &str| {
            let path = image.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "de").unwrap();
            path
        };
        let own = file(layout::KEYMAP);
        assert_eq!((wanted(None), wanted(Some("@kernel"))), (Map::File(own.clone()), Map::Kernels));
        assert_eq!(wanted(Some("de")), Map::Missing("de".to_owned()), "whose it is nobody knows");
        file(layout::KEYMAP_NAME);
        assert_eq!((wanted(Some("de")), wanted(Some("fr"))), (Map::File(own), Map::Missing("fr".to_owned())));
        let of_genkernel = file("lib/keymaps/fr.map");
        assert_eq!(wanted(Some("fr")), Map::File(of_genkernel));
        assert_eq!(wanted(Some("../keymaps/fr")), Map::Missing("../keymaps/fr".to_owned()));
        let program = file("usr/bin/loadkeys");
        assert_eq!(wanted(Some("it")), Map::Loadkeys(program, "it".to_owned()));
        fs::remove_dir_all(image).unwrap();
    }
}
