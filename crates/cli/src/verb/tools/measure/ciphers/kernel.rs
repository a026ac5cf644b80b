//! What the running kernel has: dm-crypt, and the crypto API's algorithms, as `xray` finds them.
//! Looking does not load any module.

use keyway_crypto::CipherSpec;
use keyway_kernel::modules::{Found, Inventory};
use keyway_kernel::{Algorithm, Need, Registry, Running, Version, needs, proc_crypto};
use std::fs;
use std::path::Path;

/// The running kernel, as far as it can be examined.
pub(super) struct Kernel {
    pub(super) release: String,
    pub(super) dm_crypt: Presence,
    registry: Registry,
    running: Running,
    modules: Inventory,
}

/// Where a feature of the kernel is; for several features, the weakest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Presence {
    Loaded,
    BuiltIn,
    Loadable,
    /// Not seen, and the modules cannot be examined.
    Unknown,
    Absent,
}

impl Presence {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::BuiltIn => "built-in",
            Self::Loadable => "loadable",
            Self::Unknown => "unknown",
            Self::Absent => "absent",
        }
    }
}

impl From<Found> for Presence {
    fn from(found: Found) -> Self {
        match found {
            Found::Loaded => Self::Loaded,
            Found::BuiltIn(_) => Self::BuiltIn,
            Found::Module(_) => Self::Loadable,
            Found::Unknown => Self::Unknown,
            Found::Missing | Found::Incomplete { .. } => Self::Absent,
        }
    }
}

impl Kernel {
    /// Examines the kernel whose /proc, /sys and /lib are below `root`.
    pub(super) fn look(root: &Path) -> Self {
        let read = |path: &str| fs::read(root.join(path)).unwrap_or_default();
        let text = |path: &str| String::from_utf8_lossy(&read(path)).into_owned();
        let release = text("proc/sys/kernel/osrelease").trim().to_owned();
        let version =
            Version::find(&release, &(text("proc/version") + " " + &text("proc/version_signature")));
        let registry = Registry { drivers: proc_crypto::parse(&text("proc/crypto")), version };
        let modules = fs::read_dir(root.join("sys/module")).into_iter().flatten().flatten();
        let modules = modules.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let running = Running::new(&registry.drivers, modules);
        let modules = Inventory::of_release(root, &release).unwrap_or_else(|_| Inventory::unseen(&release));
        let mut kernel = Self { release, dm_crypt: Presence::Unknown, registry, running, modules };
        kernel.dm_crypt = kernel.find("dm_crypt", true);
        kernel
    }

    /// Whether a cipher, hash or template is there.
    pub(super) fn presence(&self, name: &str) -> Presence {
        self.find(name, false)
    }

    /// Whether the algorithm that dm-crypt requests for a specification is there, or else all the
    /// parts that it is built from; and the driver, if one is in use.
    pub(super) fn algorithm(&self, spec: &CipherSpec) -> (Presence, Option<&str>) {
        let drivers = self.registry.candidates(&Algorithm::of_spec(spec));
        if let Some(driver) = drivers.first() {
            return (Presence::Loaded, Some(&driver.driver));
        }
        let parts = needs(spec, self.registry.version).into_iter().filter(|need| !need.is_module);
        let worst = parts.map(|need| need.find(&self.modules, Some(&self.running)).into()).max();
        (worst.unwrap_or(Presence::Unknown), None)
    }

    fn find(&self, name: &str, is_module: bool) -> Presence {
        let need = Need { name: name.to_owned(), why: String::new(), is_module };
        need.find(&self.modules, Some(&self.running)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> (std::path::PathBuf, Kernel) {
        let name = format!("keyway-kernel-{}-{}", std::process::id(), files.len());
        let root = std::env::temp_dir().join(name);
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let kernel = Kernel::look(&root);
        (root, kernel)
    }

    #[test]
    fn a_kernel_with_modules() {
        let (root, kernel) = tree(&[
            ("proc/sys/kernel/osrelease", "6.1.0-test\n"),
            (
                "proc/crypto",
                "name         : xts(aes)\ndriver       : xts-aes-aesni\npriority : 401\ntype : skcipher\n\n\
                 name : xts(aes)\ndriver : xts(ecb(aes-generic))\npriority : 100\ntype : skcipher\n\n\
                 name : aes\ndriver : aes-generic\ntype : cipher\n",
            ),
            ("sys/module/cbc/refcnt", "0\n"),
            (
                "lib/modules/6.1.0-test/modules.alias",
                "alias fs-ext4 ext4\nalias crypto-serpent serpent_generic\nalias crypto-adiantum adiantum\n",
            ),
            (
                "lib/modules/6.1.0-test/modules.builtin.modinfo",
                "sha256_generic.alias=crypto-sha256\0xts.license=GPL\0ecb.license=GPL\0",
            ),
            (
                "lib/modules/6.1.0-test/modules.dep",
                "kernel/drivers/md/dm-crypt.ko: kernel/drivers/md/dm-mod.ko\n",
            ),
            ("lib/modules/6.1.0-test/kernel/drivers/md/dm-crypt.ko", ""),
            ("lib/modules/6.1.0-test/kernel/drivers/md/dm-mod.ko", ""),
            ("lib/modules/6.1.0-test/kernel/crypto/serpent_generic.ko", ""),
        ]);
        fs::remove_dir_all(root).unwrap();
        assert_eq!((kernel.release.as_str(), kernel.dm_crypt), ("6.1.0-test", Presence::Loadable));
        let algorithm = |spec: &str| kernel.algorithm(&CipherSpec::parse(spec).unwrap());
        assert_eq!(algorithm("aes-xts-plain64"), (Presence::Loaded, Some("xts-aes-aesni")));
        assert_eq!(algorithm("serpent-xts-plain64"), (Presence::Loadable, None));
        assert_eq!(kernel.presence("adiantum"), Presence::Absent, "it is listed, but its file is not there");
        assert_eq!(algorithm("aes-cbc-plain64"), (Presence::Loaded, None));
        assert_eq!(algorithm("aes-cbc-essiv:sha256").0, Presence::Absent, "there is no essiv");
        assert_eq!(algorithm("aes-hctr2-plain64"), (Presence::Absent, None));
        assert_eq!(kernel.presence("sha256"), Presence::BuiltIn);
    }

    #[test]
    fn a_kernel_of_which_little_is_seen() {
        let (root, kernel) = tree(&[("proc/sys/kernel/osrelease", "6.18\n")]);
        fs::remove_dir_all(root).unwrap();
        assert_eq!((kernel.dm_crypt, kernel.presence("aes")), (Presence::Unknown, Presence::Unknown));
    }
}
