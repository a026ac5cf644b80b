//! The map of the keyboard that an initramfs of a distribution loads for its own prompt.
//!
//! ```text
//! keyway/keymap                        Keyway's own: binary
//! keymap.bin                           mkinitcpio's hook keymap: binary
//! console/keymap                       booster: binary
//! etc/boottime.kmap  .gz               initramfs-tools before Debian 8: loadkeys' text
//! bin/setupcon: loadkeys 'FILE'         initramfs-tools, made by setupcon --setup-dir: loadkeys' text, in etc/console-setup
//! etc/keymap/*.bmap  .gz               Alpine's mkinitfs: binary
//! etc/vconsole.conf: KEYMAP=NAME       dracut, mkinitcpio's sd-vconsole: loadkeys' text …/keymaps/…/NAME.map, which includes
//!                                      others that are there
//! ```

use super::{Error, Keymap, include, is_the_kernels, variable};
use crate::initramfs::cpio::Entry;
use crate::initramfs::{self, Compression, layout, walk};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

/// What an image says of its keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The file in the image that is the map, or names it.
    pub file: String,
    /// Its name, if a configuration names it.
    pub name: Option<String>,
    /// The map, or why it cannot be used.
    pub map: Result<Map, Lacking>,
}

/// A map in one of the forms that images have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Map {
    /// As [`Keymap::parse`] reads it, which it does.
    Binary(Vec<u8>),
    /// A text for loadkeys, which includes no other.
    Text(String),
}

/// Why the map of an image cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lacking {
    /// The image has no map of this name.
    Named(String),
    /// The image has no text of this name, which the map includes.
    Included(String),
    /// The texts include each other without end.
    End,
    /// A file cannot be unpacked.
    Unpacked(String),
    /// It is neither text nor a binary map.
    Form(Error),
}

/// The map that an image has; `None` if its keys are those of a US keyboard.
///
/// # Errors
/// It is no image.
pub fn of_image(image: &[u8]) -> Result<Option<Found>, initramfs::Error> {
    let mut files = Files::default();
    walk(image, &mut |entry, content| files.look(entry, content))?;
    Ok(files.found())
}

/// The files that matter, by name; the last one of a name is the one that the kernel leaves.
#[derive(Default)]
struct Files {
    by_name: BTreeMap<String, Vec<u8>>,
    bytes: usize,
}

impl Files {
    fn look(&mut self, entry: &Entry, content: &mut dyn Read) -> io::Result<()> {
        let name = &entry.name;
        if !entry.is_file() || entry.size > LARGEST || !is_wanted(name) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        self.bytes += name.len() + bytes.len();
        if self.bytes <= MOST {
            self.by_name.insert(name.clone(), bytes);
        }
        Ok(())
    }

    fn found(&self) -> Option<Found> {
        let exact = WHOLE.iter().copied().find(|name| self.by_name.contains_key(*name));
        let alpines = || self.by_name.keys().map(String::as_str).find(|name| is_alpines(name));
        match exact.or_else(alpines) {
            Some(file) => Some(Found { file: file.to_owned(), name: None, map: self.map(file) }),
            None => self.set_up().or_else(|| self.configured()),
        }
    }

    /// What Debian's script for it loads.
    fn set_up(&self) -> Option<Found> {
        let (script, text) = SETUPCON.iter().find_map(|name| Some((name, self.by_name.get(*name)?)))?;
        let text = String::from_utf8_lossy(text);
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix("loadkeys "))?;
        let file = line.split('\'').nth(1)?.trim_start_matches('/');
        let map = match self.by_name.contains_key(file) {
            true => self.map(file),
            false => Err(Lacking::Named(file.to_owned())),
        };
        Some(Found { file: (*script).to_owned(), name: None, map })
    }

    /// What etc/vconsole.conf names.
    fn configured(&self) -> Option<Found> {
        let text = String::from_utf8_lossy(self.by_name.get(VCONSOLE)?);
        let name = variable(&text, "KEYMAP").filter(|name| !is_the_kernels(name))?;
        let map = self.named(&name, &["map", "kmap"]).ok_or_else(|| Lacking::Named(name.clone()));
        let map = map.and_then(|file| self.map(file));
        Some(Found { file: VCONSOLE.to_owned(), name: Some(name), map })
    }

    fn map(&self, file: &str) -> Result<Map, Lacking> {
        let bytes = self.unpacked(file)?;
        match Keymap::parse(&bytes) {
            Ok(_) => return Ok(Map::Binary(bytes)),
            Err(Error::Magic) if !file.ends_with(".bin") && !bytes.contains(&0) => {}
            Err(why) => return Err(Lacking::Form(why)),
        }
        let find = |name: &str| {
            let file = self.named(name, &["", "inc", "map", "kmap"]);
            let bytes = self.unpacked(file.ok_or_else(|| Lacking::Included(name.to_owned()))?)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        include::whole(&String::from_utf8_lossy(&bytes), &find).map(Map::Text)
    }

    /// The text of this name: of PCs, where there are others.
    fn named(&self, name: &str, endings: &[&str]) -> Option<&str> {
        let name = name.rsplit('/').next().unwrap_or(name);
        let is_it = |path: &&str| {
            let file = path.rsplit('/').next().unwrap_or(path);
            let rest = file.strip_suffix(".gz").unwrap_or(file).strip_prefix(name);
            rest.is_some_and(|rest| endings.contains(&rest.strip_prefix('.').unwrap_or(rest)))
        };
        let order = |path: &&str| OF_PCS.iter().position(|part| path.contains(part)).unwrap_or(OF_PCS.len());
        let all = self.by_name.keys().map(String::as_str).filter(|path| is_text(path));
        all.filter(is_it).min_by_key(order)
    }

    fn unpacked(&self, file: &str) -> Result<Vec<u8>, Lacking> {
        let bytes = self.by_name.get(file).map(Vec::as_slice).unwrap_or_default();
        match Compression::of(bytes) {
            None => Ok(bytes.to_vec()),
            Some(packed) => packed
                .unpack_all(bytes, LARGEST)
                .map_err(|why| Lacking::Unpacked(format!("{file} cannot be unpacked: {why}"))),
        }
    }
}

fn is_wanted(name: &str) -> bool {
    let exact = name == VCONSOLE || WHOLE.contains(&name) || SETUPCON.contains(&name);
    exact || name.starts_with(CONSOLE_SETUP) || is_alpines(name) || is_text(name)
}

fn is_alpines(name: &str) -> bool {
    let file = name.strip_prefix("etc/keymap/").filter(|file| !file.contains('/'));
    file.is_some_and(|file| file.ends_with(".bmap") || file.ends_with(".bmap.gz"))
}

/// Whether it is a text that etc/vconsole.conf may name, or one that such a text includes.
fn is_text(name: &str) -> bool {
    let bare = name.strip_suffix(".gz").unwrap_or(name);
    let folder = name.contains("/keymaps/") || name.starts_with("keymaps/");
    folder && [".map", ".kmap", ".inc"].iter().any(|ending| bare.ends_with(ending))
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "the image has no map {name}"),
            Self::Included(name) => write!(f, "the map includes {name}, which is not in the image"),
            Self::End => f.write_str("its texts include each other in a circle"),
            Self::Unpacked(why) => f.write_str(why),
            Self::Form(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for Lacking {}

/// Files that are a map, in the order in which one counts.
const WHOLE: &[&str] =
    &[layout::KEYMAP, "keymap.bin", "console/keymap", "etc/boottime.kmap.gz", "etc/boottime.kmap"];
/// A script that setupcon wrote.
const SETUPCON: &[&str] = &["bin/setupcon", "usr/bin/setupcon"];
/// What it loads.
const CONSOLE_SETUP: &str = "etc/console-setup/";
const VCONSOLE: &str = "etc/vconsole.conf";
/// Folders of maps for the keyboards of PCs, the first one first: others have maps of the same names for theirs.
const OF_PCS: &[&str] = &["/xkb/", "/i386/", "/include/"];
/// A map of 256 tables has 0.1 MiB, and the longest text not more.
const LARGEST: u64 = 1 << 20;
/// All of kbd's maps together have 5 MiB.
const MOST: usize = 32 << 20;

#[cfg(test)]
mod tests {
    use super::super::tests::german;
    use super::*;
    use crate::initramfs::tests::{archive, gzip};

    fn found(files: &[(&str, &[u8])]) -> Option<(String, Result<Map, Lacking>)> {
        let found = of_image(&archive(files)).unwrap();
        assert_eq!(of_image(&gzip(&archive(files))).unwrap(), found);
        found.map(|found| (found.file, found.map))
    }

    const TEXT: &[u8] = b"keymaps 0-1\nkeycode 21 = z\n";

    #[test]
    fn each_distributions_map_is_found() {
        let (map, text) = (german(), String::from_utf8(TEXT.to_vec()).unwrap());
        for (file, binary) in [
            ("keyway/keymap", true),
            ("keymap.bin", true),
            ("console/keymap", true),
            ("etc/boottime.kmap", false),
            ("etc/boottime.kmap.gz", false),
            ("etc/keymap/de.bmap.gz", true),
        ] {
            let content = if binary { &map[..] } else { TEXT };
            let content = if file.ends_with(".gz") { gzip(content) } else { content.to_vec() };
            let expected = if binary { Map::Binary(map.clone()) } else { Map::Text(text.clone()) };
            let others: [(&str, &[u8]); 3] =
                [("init", b"#!/bin/sh"), (file, &content), ("usr/share/keymaps/fr.map", b"x")];
            assert_eq!(found(&others), Some((file.to_owned(), Ok(expected))), "{file}");
        }
        // Keyway's goes before, the last of a name is the one that counts, and these are no maps.
        let both: [(&str, &[u8]); 3] =
            [("keymap.bin", b"x"), ("keyway/keymap", b"y"), ("keyway/keymap", &map)];
        assert_eq!(found(&both), Some(("keyway/keymap".to_owned(), Ok(Map::Binary(map.clone())))));
        for file in ["etc/console-setup/x.kmap", "etc/keymap/de.map", "etc/keymap/a/b.bmap", "x/keymap.bin"] {
            assert_eq!(found(&[(file, &map)]), None, "{file}");
        }
    }

    /// As mkinitramfs 0.142 has them, with console-setup 1.221.
    #[test]
    fn debians_script_tells_which_file_is_the_map() {
        let script = b"#!/bin/sh\nkbd_mode '-a' \nloadkeys '/etc/console-setup/tmpkbd.UR5wf0' > '/dev/null' \nexit 0\n";
        let map = ("etc/console-setup/tmpkbd.UR5wf0", TEXT);
        let text = Map::Text(String::from_utf8(TEXT.to_vec()).unwrap());
        for place in ["bin/setupcon", "usr/bin/setupcon"] {
            assert_eq!(found(&[(place, script), map]), Some((place.to_owned(), Ok(text.clone()))));
        }
        let gone = Lacking::Named("etc/console-setup/tmpkbd.UR5wf0".to_owned());
        assert_eq!(found(&[("bin/setupcon", script)]), Some(("bin/setupcon".to_owned(), Err(gone))));
        for script in
            ["", "loadkeys", "loadkeys -u", "kbd_mode '-u'", "#loadkeys '/etc/console-setup/tmpkbd.UR5wf0'"]
        {
            assert_eq!(found(&[("bin/setupcon", script.as_bytes()), map]), None, "{script}");
        }
    }

    #[test]
    fn the_map_that_a_configuration_names_comes_with_what_it_includes() {
        let with = |name: &str, more: &[(&str, &[u8])]| {
            let configuration = format!("FONT=x\nKEYMAP=\"{name}\"\n");
            let mut files: Vec<(&str, &[u8])> = vec![("etc/vconsole.conf", configuration.as_bytes())];
            files.extend(more);
            found(&files).map(|(file, map)| {
                assert_eq!(file, "etc/vconsole.conf");
                map
            })
        };
        let text = |text: &str| Some(Ok(Map::Text(text.to_owned())));
        let packed = gzip(b"include \"layout\"\nb\n");
        let maps: [(&str, &[u8]); 6] = [
            ("usr/lib/kbd/keymaps/legacy/mac/all/de.map", b"mac\n"),
            ("usr/lib/kbd/keymaps/legacy/i386/qwertz/de.map.gz", &packed),
            ("usr/lib/kbd/keymaps/legacy/include/layout.inc", b"a\ninclude \"deep.map\"\n"),
            ("usr/lib/kbd/keymaps/legacy/include/deep.map", b"d"),
            ("usr/lib/kbd/keymaps/legacy/i386/qwertz/de-latin1.map", b"c\n"),
            ("usr/lib/kbd/keymaps/xkb/fr.map", &german()),
        ];
        assert_eq!(with("de", &maps), text("a\nd\nb\n"));
        assert_eq!(with("de-latin1", &maps), text("c\n"));
        assert_eq!(with("fr", &maps), Some(Ok(Map::Binary(german()))));
        assert_eq!(with("../de-latin1", &maps), text("c\n"));
        assert_eq!((with("us", &maps), with("@kernel", &maps), with("", &maps)), (None, None, None));
        assert_eq!(with("latin1", &maps), Some(Err(Lacking::Named("latin1".to_owned()))));
        assert_eq!(with("de", &maps[..2]), Some(Err(Lacking::Included("layout".to_owned()))));
    }

    #[test]
    fn what_is_no_map_is_said() {
        let of = |file: &str, content: &[u8]| found(&[(file, content)]).unwrap().1.unwrap_err();
        assert_eq!(of("keymap.bin", b"keymaps 0-1\n"), Lacking::Form(Error::Magic));
        assert_eq!(of("etc/boottime.kmap", b"\x7fELF\0"), Lacking::Form(Error::Magic));
        assert!(matches!(
            of("console/keymap", &german()[..300]),
            Lacking::Form(Error::Length { tables: 2, .. })
        ));
        assert_eq!(
            of("etc/boottime.kmap", b"include \"boottime\"\n"),
            Lacking::Included("boottime".to_owned())
        );
        let circle: [(&str, &[u8]); 2] =
            [("etc/vconsole.conf", b"KEYMAP=a"), ("keymaps/a.map", b"include \"a\"\n")];
        assert_eq!(found(&circle).unwrap().1, Err(Lacking::End));
        // Packed, it would be a gigabyte.
        let bomb = gzip(&vec![b'#'; 2 << 20]);
        let why = of("etc/boottime.kmap.gz", &bomb).to_string();
        assert_eq!(
            why,
            "etc/boottime.kmap.gz cannot be unpacked: it decompresses to more than 1048576 bytes"
        );
        assert!(matches!(of("etc/boottime.kmap.gz", &bomb[..40]), Lacking::Unpacked(_)));
        // No map has a megabyte; such a file is none.
        assert_eq!(found(&[("keymap.bin", &vec![0; (1 << 20) + 1])]), None);
        assert!(of_image(b"no image").is_err());
    }
}
