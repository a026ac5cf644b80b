//! What a kernel needs in order to map a volume with a given specification: dm-crypt, and the parts
//! of the cipher by name.

use crate::modules::{Found, Inventory};
use crate::{Algorithm, Driver, Version};
use keyway_crypto::CipherSpec;
use std::collections::BTreeSet;

/// Something that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// "dm_crypt", "xts".
    pub name: String,
    /// What it is needed for.
    pub why: String,
    /// Whether it is a particular module, as opposed to an algorithm that any module may implement.
    pub is_module: bool,
}

impl Need {
    /// Where it is: in an inventory, or loaded in the running kernel.
    pub fn find(&self, inventory: &Inventory, running: Option<&Running>) -> Found {
        if running.is_some_and(|running| running.has(self)) {
            return Found::Loaded;
        }
        if self.is_module { inventory.module(&self.name) } else { inventory.algorithm(&self.name) }
    }
}

/// What the running kernel has loaded.
#[derive(Debug, Clone, Default)]
pub struct Running {
    /// Names in /proc/crypto, including their templates and ciphers.
    pub algorithms: BTreeSet<String>,
    /// Names in /sys/module.
    pub modules: BTreeSet<String>,
}

impl Running {
    /// From the drivers in /proc/crypto and the entries of /sys/module.
    pub fn new(drivers: &[Driver], modules: impl IntoIterator<Item = String>) -> Self {
        let algorithms = drivers.iter().filter(|driver| !driver.internal).flat_map(|driver| {
            let algorithm = Algorithm::parse(&driver.name);
            // A mode is known to exist as a template only if an instance of it was made; a driver
            // for the whole algorithm is no proof.
            let is_instance = driver.driver.contains('(');
            let template = (is_instance && !algorithm.of.is_empty()).then(|| algorithm.name.clone());
            [Some(driver.name.clone()), template]
        });
        Self { algorithms: algorithms.flatten().collect(), modules: modules.into_iter().collect() }
    }

    fn has(&self, need: &Need) -> bool {
        self.modules.contains(&need.name) || !need.is_module && self.algorithms.contains(&need.name)
    }
}

/// Everything that a volume with this specification needs from a kernel of this version (`None` if
/// unknown).
pub fn needs(spec: &CipherSpec, version: Option<Version>) -> Vec<Need> {
    let mut needs = vec![
        Need { name: "dm_mod".into(), why: "the device mapper".into(), is_module: true },
        Need { name: "dm_crypt".into(), why: "encryption of block devices".into(), is_module: true },
    ];
    let mut add = |name: &str, why: &str| {
        if !needs.iter().any(|need| need.name == name) {
            needs.push(Need { name: name.to_owned(), why: why.to_owned(), is_module: false });
        }
    };
    let algorithm = Algorithm::of_spec(spec);
    for name in algorithm.names() {
        add(name, &format!("part of {algorithm}"));
    }
    for name in algorithm.names() {
        let before = |major, minor| version.is_none_or(|version| !version.is_from(major, minor));
        match name {
            // MODULE_SOFTDEP("pre: ecb") in crypto/xts.c and lrw.c: without a driver for the whole
            // algorithm, it is built on top of ecb.
            "xts" | "lrw" => add("ecb", &format!("{name} is built on it")),
            // Both became library code.
            "adiantum" if before(7, 0) => add("nhpoly1305", "adiantum's hash"),
            "hctr2" => {
                add("xctr", "hctr2's stream");
                if before(6, 19) {
                    add("polyval", "hctr2's hash");
                }
            }
            _ => {}
        }
    }
    for part in Algorithm::for_the_iv(spec) {
        for name in part.names() {
            add(name, "for the IV");
        }
    }
    needs
}

/// What integrity tags need in addition.
pub fn needs_of_tags() -> [Need; 2] {
    [("dm_integrity", "the header asks for integrity tags"), ("authenc", "encryption with tags")]
        .map(|(name, why)| Need { name: name.to_owned(), why: why.to_owned(), is_module: true })
}

/// Modules with faster code for a cipher, by architecture and CPU feature (arch/*/crypto/Makefile
/// in Linux 6.12).
pub fn accelerators(name: &str, arch: &str, has: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let rows =
        ACCELERATORS.iter().filter(|row| row.0 == name && row.1 == arch && (row.2.is_empty() || has(row.2)));
    rows.map(|row| row.3).collect()
}

#[rustfmt::skip]
const ACCELERATORS: &[(&str, &str, &str, &str)] = &[
    ("aes", "x86_64", "aes", "aesni_intel"),
    ("aes", "aarch64", "aes", "aes_ce_blk"),
    ("aes", "aarch64", "asimd", "aes_neon_bs"),
    ("aes", "arm", "aes", "aes_arm_ce"),
    ("aes", "arm", "neon", "aes_arm_bs"),
    ("serpent", "x86_64", "avx2", "serpent_avx2"),
    ("serpent", "x86_64", "avx", "serpent_avx_x86_64"),
    ("serpent", "x86_64", "", "serpent_sse2_x86_64"),
    ("twofish", "x86_64", "avx", "twofish_avx_x86_64"),
    ("twofish", "x86_64", "", "twofish_x86_64_3way"),
    ("camellia", "x86_64", "avx2", "camellia_aesni_avx2"),
    ("camellia", "x86_64", "", "camellia_x86_64"),
    ("xchacha12", "x86_64", "ssse3", "chacha_x86_64"),
    ("xchacha12", "aarch64", "asimd", "chacha_neon"),
    ("xchacha12", "arm", "neon", "chacha_neon"),
    ("nhpoly1305", "x86_64", "avx2", "nhpoly1305_avx2"),
    ("nhpoly1305", "x86_64", "", "nhpoly1305_sse2"),
    ("nhpoly1305", "aarch64", "asimd", "nhpoly1305_neon"),
    ("nhpoly1305", "arm", "neon", "nhpoly1305_neon"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn names(spec: &str, version: Option<&str>) -> String {
        let version = version.and_then(Version::parse);
        let needs = needs(&CipherSpec::parse(spec).unwrap(), version);
        needs.into_iter().map(|need| need.name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn parts_of_specifications() {
        assert_eq!(names("aes-xts-plain64", None), "dm_mod dm_crypt xts aes ecb");
        assert_eq!(names("aes-cbc-essiv:sha256", None), "dm_mod dm_crypt essiv cbc aes sha256");
        assert_eq!(
            names("xchacha12,aes-adiantum-plain64", Some("6.12.1")),
            "dm_mod dm_crypt adiantum xchacha12 aes nhpoly1305"
        );
        assert_eq!(
            names("xchacha12,aes-adiantum-plain64", Some("7.1")),
            "dm_mod dm_crypt adiantum xchacha12 aes"
        );
        assert_eq!(names("aes-hctr2-plain64", None), "dm_mod dm_crypt hctr2 aes xctr polyval");
        assert_eq!(names("aes:64-cbc-lmk", None), "dm_mod dm_crypt cbc aes md5");
        assert_eq!(names("aes-cbc-elephant", None), "dm_mod dm_crypt cbc aes ecb");
    }

    #[test]
    fn the_running_kernel_meets_needs() {
        let drivers = crate::proc_crypto::parse(
            "name : xts(aes)\ndriver : xts-aes-aesni\n\nname : cbc(serpent)\ndriver : cbc(serpent-generic)\n\nname : aes\ndriver : aes-generic\n",
        );
        let running = Running::new(&drivers, ["dm_crypt".to_owned()]);
        let need = |name: &str, is_module| Need { name: name.into(), why: String::new(), is_module };
        let mut empty = Inventory::default();
        empty.knows_built_in = true;
        let find = |name, is_module| need(name, is_module).find(&empty, Some(&running));
        assert_eq!((find("dm_crypt", true), find("aes", false)), (Found::Loaded, Found::Loaded));
        assert_eq!((find("cbc", false), find("xts", false)), (Found::Loaded, Found::Missing));
        assert_eq!(find("aes", true), Found::Missing, "an algorithm is no module");
    }

    #[test]
    fn faster_code_by_the_cpu() {
        assert_eq!(accelerators("aes", "x86_64", |feature| feature == "aes"), ["aesni_intel"]);
        assert_eq!(accelerators("aes", "x86_64", |_| false), [""; 0]);
        assert_eq!(accelerators("serpent", "x86_64", |feature| feature == "avx").len(), 2);
    }
}
