//! Mount options as mount(8) reads them: some are flags of mount(2), some mount(8)'s own, and the rest
//! is the file system's.

/// What a list of options means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountOptions {
    /// Flags of mount(2) (include/uapi/linux/mount.h, MS_…).
    pub flags: u32,
    /// Whether the list says ro or rw.
    pub says_access: bool,
    /// What the file system itself reads, in the order given, separated by commas.
    pub data: String,
}

impl MountOptions {
    /// Parses a list separated by commas; within double quotes a comma belongs to the value. Of options
    /// that contradict each other the last counts.
    pub fn parse(list: &str) -> Self {
        let mut this = Self::default();
        for option in split(list, |c| c == ',') {
            let known = FLAGS.iter().find(|(name, ..)| *name == option);
            if let Some((name, set, cleared)) = known {
                this.flags = (this.flags & !cleared) | set;
                this.says_access |= matches!(*name, "ro" | "rw");
            } else if !is_of_mount(option) {
                this.data += if this.data.is_empty() { "" } else { "," };
                this.data += option;
            }
        }
        this
    }
}

/// The parts between separators that are not within double quotes.
pub(super) fn split(list: &str, is_separator: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let options = list.split(move |c| {
        is_quoted ^= c == '"';
        is_separator(c) && !is_quoted
    });
    options.map(str::trim).filter(|option| !option.is_empty())
}

/// Whether mount(8) keeps it for itself: who may mount it, and when, and operations of their own.
fn is_of_mount(option: &str) -> bool {
    OWN.contains(&option.split('=').next().unwrap_or_default())
        || option.starts_with("x-")
        || option.starts_with("X-")
}

/// MS_RDONLY.
pub const RDONLY: u32 = 1;
const NOSUID: u32 = 1 << 1;
const NODEV: u32 = 1 << 2;
const NOEXEC: u32 = 1 << 3;
const SYNCHRONOUS: u32 = 1 << 4;
const MANDLOCK: u32 = 1 << 6;
const DIRSYNC: u32 = 1 << 7;
const NOSYMFOLLOW: u32 = 1 << 8;
const NOATIME: u32 = 1 << 10;
const NODIRATIME: u32 = 1 << 11;
const SILENT: u32 = 1 << 15;
const RELATIME: u32 = 1 << 21;
const I_VERSION: u32 = 1 << 23;
const STRICTATIME: u32 = 1 << 24;
const LAZYTIME: u32 = 1 << 25;
/// The flags of which the kernel takes one.
const ATIMES: u32 = NOATIME | RELATIME | STRICTATIME;

/// Name, flags that it sets, flags that it clears (mount(8), filesystem-independent mount options).
const FLAGS: &[(&str, u32, u32)] = &[
    ("defaults", 0, 0),
    ("ro", RDONLY, 0),
    ("rw", 0, RDONLY),
    ("nosuid", NOSUID, 0),
    ("suid", 0, NOSUID),
    ("nodev", NODEV, 0),
    ("dev", 0, NODEV),
    ("noexec", NOEXEC, 0),
    ("exec", 0, NOEXEC),
    ("sync", SYNCHRONOUS, 0),
    ("async", 0, SYNCHRONOUS),
    ("dirsync", DIRSYNC, 0),
    ("mand", MANDLOCK, 0),
    ("nomand", 0, MANDLOCK),
    ("nosymfollow", NOSYMFOLLOW, 0),
    ("symfollow", 0, NOSYMFOLLOW),
    ("noatime", NOATIME, ATIMES),
    ("atime", 0, NOATIME),
    ("relatime", RELATIME, ATIMES),
    ("norelatime", 0, RELATIME),
    ("strictatime", STRICTATIME, ATIMES),
    ("nostrictatime", 0, STRICTATIME),
    ("nodiratime", NODIRATIME, 0),
    ("diratime", 0, NODIRATIME),
    ("lazytime", LAZYTIME, 0),
    ("nolazytime", 0, LAZYTIME),
    ("iversion", I_VERSION, 0),
    ("noiversion", 0, I_VERSION),
    ("silent", SILENT, 0),
    ("loud", 0, SILENT),
    ("user", NOEXEC | NOSUID | NODEV, 0),
    ("users", NOEXEC | NOSUID | NODEV, 0),
    ("owner", NOSUID | NODEV, 0),
    ("group", NOSUID | NODEV, 0),
];
const OWN: &[&str] = &[
    "auto",
    "noauto",
    "nouser",
    "nousers",
    "noowner",
    "nogroup",
    "nofail",
    "_netdev",
    "comment",
    "helper",
    "uhelper",
    "bind",
    "rbind",
    "move",
    "remount",
    "shared",
    "rshared",
    "private",
    "rprivate",
    "slave",
    "rslave",
    "unbindable",
    "runbindable",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_flags_or_the_file_systems_or_mounts_own() {
        for (list, flags, data) in [
            ("", 0, ""),
            ("defaults", 0, ""),
            ("rw,noatime,compress=zstd:1,subvol=@", NOATIME, "compress=zstd:1,subvol=@"),
            ("subvol=/@/.snapshots/1/snapshot", 0, "subvol=/@/.snapshots/1/snapshot"),
            ("relatime,errors=remount-ro", RELATIME, "errors=remount-ro"),
            ("ro,nosuid,nodev,noexec", RDONLY | NOSUID | NODEV | NOEXEC, ""),
            ("ro,rw", 0, ""),
            ("rw,ro", RDONLY, ""),
            ("user,exec", NOSUID | NODEV, ""),
            ("sync,dirsync,mand,silent,iversion", SYNCHRONOUS | DIRSYNC | MANDLOCK | SILENT | I_VERSION, ""),
            ("noatime,strictatime", STRICTATIME, ""),
            ("noatime,relatime,nodiratime,lazytime", RELATIME | NODIRATIME | LAZYTIME, ""),
            ("noauto,nofail,x-systemd.growfs,_netdev,comment=a b,discard=async", 0, "discard=async"),
            (" space_cache=v2 ,,ssd ", 0, "space_cache=v2,ssd"),
            (
                "context=\"system_u:object_r:root_t:s0:c1,c2\",ro",
                RDONLY,
                "context=\"system_u:object_r:root_t:s0:c1,c2\"",
            ),
            ("shared,rprivate,bind,remount,rslave,unbindable,subvol=@", 0, "subvol=@"),
            ("uquota,logbufs=8,nosymfollow", NOSYMFOLLOW, "uquota,logbufs=8"),
        ] {
            let read = MountOptions::parse(list);
            assert_eq!((read.flags, &read.data[..]), (flags, data), "{list}");
        }
        assert!(MountOptions::parse("rw").says_access && !MountOptions::parse("noatime").says_access);
    }
}
