//! What the running kernel lacks for a cipher, where that is certain: who is told that a kernel
//! cannot map a volume must be able to rely on it.

use crate::modules::{Found, Inventory};
use crate::{Algorithm, Need, System};
use keyway_crypto::CipherSpec;
use std::path::Path;

/// The kernel that runs below `root`, and the parts of the cipher that it neither has loaded nor
/// can load; `None` if it has them all, or if its lists do not tell.
///
/// Only the parts that a specification itself names are looked for: what else a template or an IV
/// uses became library code in one version or another.
pub fn lacking(root: &Path, spec: &CipherSpec) -> Option<(System, Vec<String>)> {
    // Such a specification may name one driver.
    if spec.to_string().starts_with("capi:") {
        return None;
    }
    let system = System::look(root).ok()?;
    let algorithm = Algorithm::of_spec(spec);
    let whole = algorithm.to_string();
    if system.registry.drivers.iter().any(|driver| driver.name == whole && !driver.internal) {
        return None;
    }
    let inventory = Inventory::of_release(root, &system.release).ok()?;
    if !inventory.tells_of_all() {
        return None;
    }
    let is_missing = |name: &&str| {
        let need = Need { name: (*name).to_owned(), why: String::new(), is_module: false };
        need.find(&inventory, Some(&system.running)) == Found::Missing
    };
    let missing: Vec<String> = algorithm.names().into_iter().filter(is_missing).map(str::to_owned).collect();
    (!missing.is_empty()).then_some((system, missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// A root of this name with these files.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("keyway-lacking-{name}-{}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }

        fn lacks(&self, spec: &str) -> Vec<String> {
            let found = lacking(&self.0, &CipherSpec::parse(spec).unwrap());
            found.map(|(_, missing)| missing).unwrap_or_default()
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const DRIVERS: (&str, &str) = (
        "proc/crypto",
        "name : aes\ndriver : aes-generic\ntype : cipher\n\n\
         name : xts(camellia)\ndriver : xts-camellia-aesni\ntype : skcipher\n",
    );
    const RELEASE: (&str, &str) = ("proc/sys/kernel/osrelease", "6.1.0\n");
    const ALIASES: (&str, &str) = (
        "lib/modules/6.1.0/modules.alias",
        "alias crypto-serpent serpent_generic\nalias crypto-xts xts\nalias crypto-anubis anubis\n",
    );
    const SERPENT: (&str, &str) = ("lib/modules/6.1.0/kernel/crypto/serpent_generic.ko", "");
    const BUILT_IN: (&str, &str) =
        ("lib/modules/6.1.0/modules.builtin.modinfo", "xts.alias=crypto-xts\0cbc.alias=crypto-cbc\0");

    #[test]
    fn what_is_neither_loaded_nor_to_be_loaded_is_lacking() {
        let root = Root::new("all", &[DRIVERS, RELEASE, ALIASES, SERPENT, BUILT_IN]);
        for there in ["aes-xts-plain64", "serpent-cbc-plain64", "camellia-xts-plain64"] {
            assert_eq!(root.lacks(there), [""; 0], "{there}");
        }
        assert_eq!(root.lacks("twofish-xts-plain64"), ["twofish"]);
        assert_eq!(root.lacks("aes-cbc-essiv:sha256"), ["essiv", "sha256"]);
        assert_eq!(root.lacks("anubis-cbc-plain64"), ["anubis"], "its module's file is gone");
        assert_eq!(root.lacks("xchacha12,aes-adiantum-plain64"), ["adiantum", "xchacha12"]);
        assert_eq!(root.lacks("capi:xts(twofish)-plain64"), [""; 0], "perhaps a driver's name");
    }

    #[test]
    fn where_lists_are_missing_nothing_is_certain() {
        let spec = "twofish-xts-plain64";
        let sets: [(&str, &[(&str, &str)]); 5] = [
            ("no-crypto", &[RELEASE, ALIASES, SERPENT, BUILT_IN]),
            ("container", &[DRIVERS, RELEASE]),
            (
                "another-kernels",
                &[DRIVERS, ("proc/sys/kernel/osrelease", "6.2.0"), ALIASES, SERPENT, BUILT_IN],
            ),
            ("no-built-in", &[DRIVERS, RELEASE, ALIASES, SERPENT]),
            // Without modinfo, built-in modules do not tell what they implement.
            (
                "old-kernel",
                &[
                    DRIVERS,
                    RELEASE,
                    ALIASES,
                    SERPENT,
                    ("lib/modules/6.1.0/modules.builtin", "kernel/crypto/xts.ko"),
                ],
            ),
        ];
        for (name, files) in sets {
            assert_eq!(Root::new(name, files).lacks(spec), [""; 0], "{name}");
        }
    }
}
