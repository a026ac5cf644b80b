//! A socket's node in the file system. It is identified by its device and inode in an open
//! directory, so that anything placed at its path later is not mistaken for it.

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, statat, unlinkat};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::Path;

/// A node that existed when it was looked up.
#[derive(Debug)]
pub(super) struct Node {
    directory: OwnedFd,
    name: OsString,
    device: u64,
    inode: u64,
}

impl Node {
    /// The socket at `path`; `None` when there is none.
    pub(super) fn find(path: &Path) -> io::Result<Option<Self>> {
        let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = match openat(CWD, parent.unwrap_or(Path::new(".")), DIRECTORY, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            directory => directory?,
        };
        let stat = match statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            stat => stat?,
        };
        let (device, inode) = (stat.st_dev as u64, stat.st_ino as u64);
        Ok(is_socket(&stat).then_some(Self { directory, name, device, inode }))
    }

    /// The node's permissions, if it still exists.
    pub(super) fn mode(&self) -> Option<Mode> {
        let stat = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let same = is_socket(&stat) && (stat.st_dev as u64, stat.st_ino as u64) == (self.device, self.inode);
        same.then(|| Mode::from_raw_mode(stat.st_mode))
    }

    /// Removes the node, unless something else is there now. (A bound socket keeps its inode, so no
    /// other node gets its number while somebody listens.)
    pub(super) fn remove(&self) -> io::Result<()> {
        if self.mode().is_none() {
            return Ok(());
        }
        Ok(unlinkat(&self.directory, &self.name, AtFlags::empty())?)
    }
}

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn is_socket(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Socket
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    fn place(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("keyway-node-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory).unwrap();
        directory.join("socket")
    }

    #[test]
    fn only_the_node_that_was_found_is_removed() {
        let path = place("other");
        let _listener = UnixListener::bind(&path).unwrap();
        let node = Node::find(&path).unwrap().unwrap();
        fs::rename(&path, path.with_file_name("moved")).unwrap();
        assert!(node.mode().is_none());
        node.remove().unwrap();
        for precious in ["a file", "a socket"] {
            match precious {
                "a file" => fs::write(&path, "precious").unwrap(),
                _ => drop(UnixListener::bind(&path).unwrap()),
            }
            node.remove().unwrap();
            assert!(fs::symlink_metadata(&path).is_ok(), "{precious} is gone");
            fs::remove_file(&path).unwrap();
        }
        fs::rename(path.with_file_name("moved"), &path).unwrap();
        node.remove().unwrap();
        assert!(!path.exists());
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_node_is_removed_where_it_was_found_though_its_directory_was_moved() {
        let path = place("moved");
        let _listener = UnixListener::bind(&path).unwrap();
        let node = Node::find(&path).unwrap().unwrap();
        let directory = path.parent().unwrap();
        let moved = directory.with_extension("moved");
        fs::rename(directory, &moved).unwrap();
        fs::create_dir(directory).unwrap();
        fs::write(&path, "precious").unwrap();
        node.remove().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        assert!(!moved.join("socket").exists());
        fs::remove_dir_all(directory).unwrap();
        fs::remove_dir_all(moved).unwrap();
    }

    #[test]
    fn what_is_no_socket_is_not_found() {
        let path = place("none");
        assert!(Node::find(&path).unwrap().is_none());
        assert!(Node::find(&path.join("deeper/socket")).is_err() || Node::find(&path).unwrap().is_none());
        fs::write(&path, "precious").unwrap();
        assert!(Node::find(&path).unwrap().is_none());
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("elsewhere", &path).unwrap();
        assert!(Node::find(&path).unwrap().is_none());
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
