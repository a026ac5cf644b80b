//! Who may read a new file: only those who may read everything that went into it.

use rustix::fs::{Stat, fgetxattr, getxattr, stat};
use rustix::io::{self, Errno};
use std::fs;
use std::path::Path;

/// Those who may read something. Values are ordered; the smaller of two is what both allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Everybody whom the umask allows: the content is not secret.
    Anybody,
    /// The owner, and this group.
    Group(u32),
    /// The owner alone.
    Owner,
}

impl Readers {
    /// Who may currently read the file at `path`, or the device by its node. Only the owner where
    /// this cannot be determined.
    pub fn of(path: &Path) -> Self {
        match stat(path) {
            Ok(found) if !has_list(path) => Self::by_mode(&found),
            _ => Self::Owner,
        }
    }

    /// Who may read both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Anybody, other) => other,
            (readers, Self::Anybody) => readers,
            (Self::Group(one), Self::Group(other)) if one == other => self,
            _ => Self::Owner,
        }
    }

    /// If a class has no access although a wider one does (0604), the file is not meant to be
    /// readable by everybody.
    pub(super) fn by_mode(found: &Stat) -> Self {
        match found.st_mode & READABLE {
            READABLE => Self::Anybody,
            GROUP => Self::Group(found.st_gid),
            _ => Self::Owner,
        }
    }

    /// The permission bits of a file for these readers that belongs to `group`, less the umask.
    pub(super) fn mode(self, group: u32, umask: u32) -> u32 {
        let most = match self {
            Self::Anybody => 0o666,
            Self::Group(readers) if readers == group => 0o660,
            Self::Group(_) | Self::Owner => 0o600,
        };
        most & !umask
    }
}

/// Whether an access control list grants more than the permission bits.
fn has_list(path: &Path) -> bool {
    is_there(getxattr(path, ACCESS_LIST, &mut [0_u8; ONE_ENTRY]))
}

/// As [`has_list`], of an open file.
pub(super) fn has_list_open(file: &fs::File) -> bool {
    is_there(fgetxattr(file, ACCESS_LIST, &mut [0_u8; ONE_ENTRY]))
}

/// A list that does not fit one entry's buffer exists, too.
fn is_there(asked: io::Result<usize>) -> bool {
    matches!(asked, Ok(_) | Err(Errno::RANGE))
}

/// This process's umask. Only /proc gives it without changing it; without /proc, the strictest
/// umask is assumed.
pub(super) fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    umask_in(&status).unwrap_or(STRICTEST)
}

fn umask_in(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(line.trim(), 8).ok()
}

/// Read bits of group and others, and of the group alone.
const READABLE: u32 = 0o044;
const GROUP: u32 = 0o040;
/// acl(5), as the kernel stores it.
const ACCESS_LIST: &str = "system.posix_acl_access";
const ONE_ENTRY: usize = 12;
const STRICTEST: u32 = 0o077;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn the_stricter_of_two() {
        use Readers::{Anybody, Group, Owner};
        for (one, other, both) in [
            (Anybody, Anybody, Anybody),
            (Anybody, Group(7), Group(7)),
            (Group(7), Anybody, Group(7)),
            (Group(7), Group(7), Group(7)),
            (Group(7), Group(8), Owner),
            (Owner, Anybody, Owner),
            (Anybody, Owner, Owner),
            (Owner, Group(7), Owner),
            (Group(7), Owner, Owner),
            (Owner, Owner, Owner),
        ] {
            assert_eq!(one.and(other), both, "{one:?} {other:?}");
        }
    }

    #[test]
    fn bits_of_what_is_made() {
        use Readers::{Anybody, Group, Owner};
        assert_eq!(
            (Anybody.mode(5, 0o022), Anybody.mode(5, 0o077), Anybody.mode(5, 0)),
            (0o644, 0o600, 0o666)
        );
        assert_eq!(
            (Group(5).mode(5, 0o027), Group(5).mode(6, 0o027), Group(5).mode(5, 0)),
            (0o640, 0o600, 0o660)
        );
        assert_eq!((Owner.mode(5, 0o022), Owner.mode(5, 0)), (0o600, 0o600));
    }

    #[test]
    fn readers_of_files() {
        let path = std::env::temp_dir().join(format!("keyway-readers-{}", std::process::id()));
        fs::write(&path, "x").unwrap();
        let group = fs::metadata(&path).unwrap().gid();
        for (mode, readers) in [
            (0o644, Readers::Anybody),
            (0o444, Readers::Anybody),
            (0o664, Readers::Anybody),
            (0o640, Readers::Group(group)),
            (0o660, Readers::Group(group)),
            (0o604, Readers::Owner),
            (0o600, Readers::Owner),
            (0o400, Readers::Owner),
            (0o622, Readers::Owner),
        ] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(Readers::of(&path), readers, "{mode:o}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let file = fs::File::open(&path).unwrap();
        assert!(!has_list(&path) && !has_list_open(&file));
        // user::rw- user:4711:r-- group::r-- mask::r-- other::r--, as the kernel stores it.
        let entry = |tag: u16, bits: u16, id: u32| {
            [&tag.to_le_bytes()[..], &bits.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let nobody = u32::MAX;
        let list = [
            2_u32.to_le_bytes().to_vec(),
            entry(1, 6, nobody),
            entry(2, 4, 4711),
            entry(4, 4, nobody),
            entry(0x10, 4, nobody),
            entry(0x20, 4, nobody),
        ]
        .concat();
        if rustix::fs::setxattr(&path, ACCESS_LIST, &list, rustix::fs::XattrFlags::empty()).is_ok() {
            assert!(has_list(&path) && has_list_open(&file));
            assert_eq!(Readers::of(&path), Readers::Owner);
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(Readers::of(&path), Readers::Owner, "what is not there tells nothing");
    }

    #[test]
    fn the_umask() {
        assert_eq!(umask_in("Name:\tx\nUmask:\t0027\nState:\tR\n"), Some(0o027));
        assert_eq!(umask_in("Name:\tx\n"), None);
        assert_eq!(umask_in("Umask:\t9\n"), None);
        // A new file gets 0666 less the umask.
        let path = std::env::temp_dir().join(format!("keyway-umask-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o666 & !umask());
        fs::remove_file(path).unwrap();
    }
}
