//! What the kernel's command line says about volumes, in the words of the programs that made it: [`table`] has a row for
//! each parameter, with whose it is and what it does here; `reading` obeys them.
//!
//! (systemd-cryptsetup-generator(8), dracut.cmdline(7), mkinitcpio's hooks, Debian's README.initramfs, booster(1), Alpine's
//! mkinitfs-bootparam(7), genkernel(8).)

mod reading;
mod table;
#[cfg(test)]
mod tests;

use crate::crypttab::{Entry, is_demand, is_ours};
use crate::lvm::Named;
use crate::md::Uuid;
use reading::{Reading, Whose};
use std::time::Duration;

/// The parsed command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The volumes that it names, without what it says of all volumes.
    pub entries: Vec<Entry>,
    /// `rd.luks=0`: no volume is to be opened.
    pub off: bool,
    /// `rd.luks.crypttab=0`: /etc/crypttab names no volumes. What it demands still holds.
    pub without_crypttab: bool,
    /// How long to wait for a device.
    pub wait: Option<Duration>,
    /// Whether a shell is offered if no volume opens.
    pub shell: bool,
    /// Whether a passphrase that opened a volume is not tried on the others.
    pub forgets: bool,
    /// What is demanded of every volume, wherever it is named: options with their values.
    pub demands: Vec<(String, String)>,
    /// What is demanded of a device, whatever names it; entries without a name.
    pub demanding: Vec<Entry>,
    /// When volumes that wait for their first boot get another volume key, whatever the tables say.
    pub rekey: Option<String>,
    /// Which logical volumes are activated, whether something names them or not.
    pub lvm: Lvm,
    /// Which arrays of md RAID are assembled.
    pub md: Md,
    /// The map of the keyboard, by its name.
    pub keymap: Option<String>,
    /// What is written in the words of a program that is known, and not done here: a line each.
    pub undone: Vec<String>,
    /// Words of ours that do not exist; each could be a demand.
    pub unknown: Vec<String>,
    /// Volumes, by their names, that take the key which the image's maker put at [`USUAL_KEY`].
    usual_key: Vec<std::ffi::OsString>,
    /// Keys and options that volumes of a table get, too.
    given: Vec<Given>,
    /// What each of the volumes gets of what is said of all, in their order.
    takes: Vec<Takes>,
}

/// Whether a volume has no key and no list of options that the line gives to it by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Takes {
    key: bool,
    list: bool,
}

/// What the command line says of LVM.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lvm {
    /// `rd.lvm=0`: no logical volume is activated.
    pub off: bool,
    /// Volume groups of which all volumes are activated.
    pub groups: Vec<String>,
    /// Volumes that are activated.
    pub volumes: Vec<Named>,
}

/// What the command line says of md RAID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Md {
    /// `rd.md=0`: no array is assembled.
    pub off: bool,
    /// The only arrays that are assembled, if the line limits them; `Some` and empty where all names are mistyped.
    pub arrays: Option<Vec<Uuid>>,
}

/// What a parameter gives volumes that other parameters or a table name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Given {
    /// The parameter as it was written.
    word: String,
    whose: Whose,
    what: What,
    /// A table's volumes get it, too.
    everywhere: bool,
    /// Some volume got it.
    done: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Key(String),
    /// The list of options; one for a volume takes the place of one for all.
    List(Vec<(String, String)>),
    /// Options beside the list's.
    Beside(Vec<(String, String)>),
}

/// The key file that mkinitcpio's hook `encrypt` and Alpine's `cryptkey` take where none is named.
pub const USUAL_KEY: &str = "/crypto_keyfile.bin";

/// The option of a volume for which `crypto=` was written; its value is the parameter's.
pub const CRYPTO: &str = "crypto";

/// The options of a plain volume that `HASH:CIPHER:SIZE:OFFSET:SKIP` stands for, without the fields that are empty; `None`
/// if it is not of that form.
pub fn plain_options(crypto: &str) -> Option<Vec<(String, String)>> {
    let fields: Vec<&str> = crypto.split(':').collect();
    // The cipher may have a colon (aes-cbc-essiv:sha256).
    let (hash, cipher, last) = match fields[..] {
        [hash, cipher, ref last @ ..] if last.len() == 3 => (hash, cipher.to_owned(), last),
        [hash, cipher, iv, ref last @ ..] if last.len() == 3 => (hash, format!("{cipher}:{iv}"), last),
        _ => return None,
    };
    let fields =
        [("hash", hash), ("cipher", &*cipher), ("size", last[0]), ("offset", last[1]), ("skip", last[2])];
    let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
    Some([("plain", "")].into_iter().chain(given).map(|(name, value)| (name.into(), value.into())).collect())
}

impl CommandLine {
    /// Parses the text of /proc/cmdline.
    pub fn parse(text: &str) -> Self {
        let mut reading = Reading::default();
        for word in words(text) {
            let (name, value) = word.split_once('=').unwrap_or((&word, ""));
            match table::find(name) {
                Some(parameter) => match parameter.read {
                    Some(read) => read(&mut reading, value),
                    None => reading.undone(&word, &format!("not done here ({})", parameter.here)),
                },
                None if is_ours(name) => reading.line.unknown.push(word.clone()),
                None if table::is_of_known_family(name) => {
                    reading.undone(&word, "Keyway does not know this parameter");
                }
                None => {}
            }
        }
        reading.finish()
    }

    /// Gives the volumes that have no other key the one that is in the image at [`USUAL_KEY`].
    pub fn give_usual_key(&mut self) {
        let Self { entries, usual_key, .. } = self;
        for entry in entries.iter_mut().filter(|entry| usual_key.contains(&entry.name)) {
            entry.key_file.get_or_insert_with(|| USUAL_KEY.into());
        }
    }

    /// Gives an entry of a table what the command line says of its device, and of all where the table says nothing.
    pub(crate) fn complete(&mut self, entry: &mut Entry) {
        for given in &mut self.given {
            let device = entry.device.to_string_lossy();
            if !given.everywhere || !given.whose.means(&device) {
                continue;
            }
            given.done = true;
            let replaces = given.whose != Whose::All;
            match &given.what {
                What::Key(key) if replaces || entry.key_file.is_none() => {
                    entry.key_file = Some(key).filter(|key| reading::is_key(key)).map(Into::into);
                }
                What::Key(_) => {}
                What::List(options) | What::Beside(options) => give(entry, options, replaces),
            }
        }
    }

    /// Gives the volume that the line names at this place what it says of all volumes: behind what tables say of it, and
    /// of options none but dracut's if a crypttab has it (systemd-cryptsetup-generator(8)).
    pub(crate) fn give_all(&mut self, place: usize, entry: &mut Entry, is_in_crypttab: bool) {
        let Some(takes) = self.takes.get(place).copied() else { return };
        let (mut key, mut list, mut beside) = (None, None, Vec::new());
        for given in self.given.iter_mut().filter(|given| given.whose == Whose::All) {
            match &given.what {
                What::List(_) if is_in_crypttab => continue,
                // The last one of them counts.
                What::Key(file) => key = Some(file),
                What::List(options) => list = Some(options),
                What::Beside(options) => beside.extend(options.iter().cloned()),
            }
            given.done = true;
        }
        let key = key.filter(|key| takes.key && reading::is_key(key));
        entry.key_file = entry.key_file.take().or_else(|| key.map(Into::into));
        give(entry, list.filter(|_| takes.list).map_or(&[], Vec::as_slice), false);
        give(entry, &beside, false);
    }

    /// What is written for volumes, and no volume has: a line each.
    pub(crate) fn for_nobody(&self) -> Vec<String> {
        let left = self.given.iter().filter(|given| !given.done);
        left.map(|given| format!("{}: applies to no volume.", given.word)).collect()
    }
}

/// Demands are never taken away.
fn give(entry: &mut Entry, options: &[(String, String)], replaces: bool) {
    let named = |all: &[(String, String)], name: &str| all.iter().any(|(known, _)| known == name);
    if replaces {
        entry.options.retain(|(name, _)| is_demand(name) || !named(options, name));
    }
    let before = entry.options.clone();
    entry.options.extend(options.iter().filter(|(name, _)| !named(&before, name)).cloned());
}

/// Splits the text into words as the kernel does: at spaces that are not within double quotes.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_ascii_whitespace() && !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The value of another parameter of the kernel's command line; if it is repeated, the last one
/// counts.
pub fn parameter(text: &str, name: &str) -> Option<String> {
    let value = |word: &String| match word.split_once('=') {
        Some((known, value)) => (known == name).then(|| value.to_owned()),
        None => (word == name).then(String::new),
    };
    words(text).iter().rev().find_map(value)
}
