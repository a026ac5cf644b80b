//! A kernel in files.

use super::super::{Kernel, Subject, number_in};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// A kernel whose state is what its files say.
pub(crate) struct Told {
    pub(super) root: PathBuf,
    pub(crate) kernel: Kernel,
}

impl Told {
    pub(crate) fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("keyway-holder-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let [proc, sys, dev] = ["proc", "sys", "dev"].map(|part| root.join(part));
        for directory in [&proc, &sys.join("class/block"), &sys.join("dev/block"), &dev] {
            fs::create_dir_all(directory).unwrap();
        }
        Self { root, kernel: Kernel { proc, sys, dev, pid: 1 } }
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The block device `name`, below `parent` if it is a partition.
    pub(crate) fn device(&self, name: &str, parent: &str, number: &str) -> Subject {
        let home = Path::new("sys/devices").join(parent).join(name);
        let home = home.to_str().unwrap();
        self.file(&format!("{home}/dev"), format!("{number}\n"));
        if !parent.is_empty() {
            self.file(&format!("{home}/partition"), "1\n");
        }
        for link in ["class/block/".to_owned() + name, "dev/block/".to_owned() + number] {
            symlink(self.root.join(home), self.root.join("sys").join(link)).unwrap();
        }
        Subject::Device { number: number_in(&self.root.join(home)).unwrap() }
    }

    /// `above` is built on `below`.
    pub(crate) fn holds(&self, above: &str, below: &str) {
        self.file(&format!("sys/class/block/{below}/holders/{above}/dev"), "");
    }

    pub(crate) fn mounts(&self, lines: &str) {
        self.file("proc/self/mountinfo", lines);
    }

    pub(super) fn subject(&self, path: &Path) -> Subject {
        Subject::of(&fs::metadata(path).unwrap())
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
