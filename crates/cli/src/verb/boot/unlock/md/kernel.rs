//! One array in the kernel's hands, by sysfs (Documentation/admin-guide/md.rst): it gets the members, starts, and gets its names.

use keyway_boot::md::Array;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

/// An array that has its members and does not run yet.
pub(super) struct Given {
    name: String,
    members: Vec<String>,
    /// Members that the kernel does not take, and why.
    pub(super) refused: Vec<(String, String)>,
}

impl Given {
    /// Makes the array's device, and gives it the members; else the end of a sentence.
    pub(super) fn members_of(array: &Array) -> Result<Self, String> {
        check_kernel(&array.newest.level.to_string())?;
        let name = made(array.number()).map_err(|why| format!("gets no device: {why}"))?;
        let mut given = Self { name, members: Vec::new(), refused: Vec::new() };
        if let Err(why) = given.told("metadata_version", array.newest.version.text()) {
            given.clear();
            return Err(not_started(&why));
        }
        for member in &array.members {
            match given.take(member) {
                Ok(()) => given.members.push(member.clone()),
                Err(why) => given.refused.push((member.clone(), why)),
            }
        }
        Ok(given)
    }

    fn take(&self, member: &str) -> Result<(), String> {
        let number = fs::metadata(member).map_err(|why| why.to_string())?.rdev();
        let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        self.told("new_dev", &number)
    }

    fn told(&self, attribute: &str, value: &str) -> Result<(), String> {
        fs::write(attributes(&self.name).join(attribute), value)
            .map_err(|error| format!("{attribute}: {error}"))
    }

    /// Whether it has the array's members and no others.
    pub(super) fn has(&self, array: &Array) -> bool {
        self.members == array.members
    }

    /// Starts it; the kernel's name of it, or the end of a sentence.
    pub(super) fn start(self) -> Result<String, String> {
        match self.told(STATE, "read-auto") {
            Ok(()) => Ok(self.name),
            Err(why) => {
                self.clear();
                Err(not_started(&why))
            }
        }
    }

    /// Lets the members go.
    pub(super) fn clear(&self) {
        let _ = self.told(STATE, "clear");
    }
}

fn not_started(why: &str) -> String {
    format!("is not started by the kernel: {why}")
}

fn check_kernel(level: &str) -> Result<(), String> {
    let lacks = |what: &str| {
        Err(format!("cannot be assembled: this kernel has no {what}, and the image no module of it"))
    };
    if !Path::new(NEW_ARRAY).exists() {
        return lacks("md RAID");
    }
    match fs::read_to_string(MDSTAT).unwrap_or_default().contains(&format!("[{level}]")) {
        true => Ok(()),
        false => lacks(level),
    }
}

/// A device for an array: the wanted one, else from 127 down, as mdadm numbers those without a number.
fn made(wanted: Option<u32>) -> std::io::Result<String> {
    let free = |name: &String| !Path::new("/sys/block").join(name).exists();
    let names = wanted.into_iter().chain((0..=127).rev()).map(|number| format!("md{number}"));
    for name in names.filter(free) {
        match fs::write(NEW_ARRAY, &name) {
            Ok(()) => return Ok(name),
            // Of the same moment.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("all 128 are in use"))
}

/// What whoever looks at the machine has to know of it.
pub(super) fn say_state(array: &Array, name: &str, lacks: Option<&String>) {
    let shown = array.shown();
    for sentence in &array.left_out {
        say!("WARNING: left out of the array {shown}: {sentence}.");
    }
    let degraded = fs::read_to_string(attributes(name).join("degraded")).unwrap_or_default();
    match (lacks, degraded.trim()) {
        (Some(lacks), _) => say!("WARNING: the array {shown} starts degraded: {lacks}."),
        (None, "" | "0") => {}
        (None, count) => say!("WARNING: the array {shown} is degraded: {count} of its members not in sync."),
    }
}

/// The links that udev makes where it runs. Arrays within volumes take the names of those outside; any other name that is
/// taken is said: who means the one gets the other.
pub(super) fn link(array: &Array, name: &str) {
    for path in array.paths().iter().map(Path::new) {
        let folder = path.parent().unwrap_or(Path::new("/"));
        if folder == Path::new("/dev") {
            if path.file_name() != Some(OsStr::new(name)) {
                say_taken(array, name, path, path.file_name());
            }
            continue;
        }
        let _ = fs::create_dir_all(folder);
        if array.inside && path.is_symlink() {
            let _ = fs::remove_file(path);
        }
        let up = "../".repeat(folder.components().count() - 2);
        let is_taken = symlink(format!("{up}{name}"), path).is_err();
        if is_taken && folder == Path::new("/dev/md") {
            let other = fs::read_link(path).unwrap_or_default();
            say_taken(array, name, path, other.file_name());
        }
    }
}

fn say_taken(array: &Array, name: &str, path: &Path, other: Option<&OsStr>) {
    let other = other.unwrap_or_default();
    if other == OsStr::new(name) {
        return;
    }
    let uuid = uuid_of(other).unwrap_or_else(|| other.to_string_lossy().into_owned());
    say!(
        "WARNING: {} is another array, {uuid}: the array {} is /dev/disk/by-id/md-uuid-{} only.",
        path.display(),
        array.shown(),
        array.newest.uuid
    );
}

/// The UUID of an array that has links already.
fn uuid_of(name: &OsStr) -> Option<String> {
    let links = fs::read_dir("/dev/disk/by-id").ok()?.flatten();
    let mut own =
        links.filter(|link| fs::read_link(link.path()).is_ok_and(|to| to.file_name() == Some(name)));
    own.find_map(|link| Some(link.file_name().to_str()?.strip_prefix("md-uuid-")?.to_owned()))
}

fn attributes(name: &str) -> PathBuf {
    Path::new("/sys/block").join(name).join("md")
}

const NEW_ARRAY: &str = "/sys/module/md_mod/parameters/new_array";
const MDSTAT: &str = "/proc/mdstat";
const STATE: &str = "array_state";
