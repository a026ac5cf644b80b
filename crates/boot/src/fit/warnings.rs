//! What U-Boot refuses or overwrites, though the image is in order.
//!
//! - A name with an `@`: with FIT_SIGNATURE, which selects FIT_FULL_CHECK, U-Boot refuses a tree with any (boot/image-fit.c,
//!   `fdt_check_no_at`; CVE-2021-27138).
//! - An architecture or a compression that it does not know (boot/image.c, `uimage_arch`, `uimage_comp`).
//! - Images of one configuration that are loaded over each other, or over a U-Boot that the same image holds.

use super::{CONFIGURATIONS, IMAGES, NAMING};
use crate::fdt::{Node, Tree};
use crate::initramfs::Compression;
use std::io::Read;

/// A sentence each, without the point.
pub fn warnings(tree: &Tree<'_>) -> Vec<String> {
    let mut found: Vec<_> = unit_addresses(&tree.root).into_iter().collect();
    found.extend(unknown_words(&tree.root));
    found.extend(overlaps(&tree.root));
    found
}

fn unknown_words(root: &Node<'_>) -> Vec<String> {
    let images = root.child(IMAGES).map(|all| &*all.children).unwrap_or_default();
    let unknown = |image: &Node<'_>, (property, known): &(&str, &[&str])| {
        let word = image.text(property)?;
        let is_known = known.iter().any(|known| known.eq_ignore_ascii_case(word));
        (!is_known).then(|| {
            format!("{}: U-Boot knows no {property} \"{word}\", and starts no such image", image.name)
        })
    };
    images
        .iter()
        .flat_map(|image| WORDS.iter().filter_map(|word| unknown(image, word)).collect::<Vec<_>>())
        .collect()
}

fn unit_addresses(root: &Node<'_>) -> Option<String> {
    let mut names = Vec::new();
    collect(root, &mut names);
    let (first, rest) = names.split_first()?;
    let others = match rest.len() {
        0 => String::new(),
        1 => " and one other node".to_owned(),
        count => format!(" and {count} other nodes"),
    };
    let better = first.replacen('@', "-", 1);
    Some(format!(
        "{first}{others}: a U-Boot with FIT_SIGNATURE refuses an image with @ in the name of any node; write {better}"
    ))
}

fn collect<'a>(node: &'a Node<'_>, names: &mut Vec<&'a str>) {
    for child in &node.children {
        if child.name.contains('@') {
            names.push(&child.name);
        }
        collect(child, names);
    }
}

/// Where an image is while it boots.
struct Loaded<'a> {
    name: &'a str,
    from: u64,
    to: u64,
}

fn overlaps(root: &Node<'_>) -> Vec<String> {
    let Some(images) = root.child(IMAGES) else { return Vec::new() };
    let loaded: Vec<_> = images.children.iter().filter_map(loaded).collect();
    let boot_loader = |name: &str| {
        let os = images.child(name).and_then(|image| image.text("os")).unwrap_or_default();
        os.eq_ignore_ascii_case("u-boot")
    };
    let mut found = Vec::new();
    for configuration in root.child(CONFIGURATIONS).map(|all| &*all.children).unwrap_or_default() {
        let named: Vec<&str> = NAMING.iter().flat_map(|property| configuration.texts(property)).collect();
        let is_named = |image: &Loaded<'_>| named.contains(&image.name);
        // Which U-Boot runs is not known where the configuration names none: any of them.
        let names_its_own = named.iter().any(|name| boot_loader(name));
        let of_it: Vec<_> = loaded
            .iter()
            .filter(|image| is_named(image) || !names_its_own && boot_loader(image.name))
            .collect();
        for (number, one) in of_it.iter().enumerate() {
            let over = |other: &&&Loaded<'_>| one.from < other.to && other.from < one.to;
            // Two that are not named do not run together.
            let together = |other: &&&Loaded<'_>| is_named(one) || is_named(other);
            for other in of_it[number + 1..].iter().filter(over).filter(together) {
                let line = format!(
                    "{} at {:#x} to {:#x} and {} at {:#x} to {:#x} overlap when loaded",
                    one.name, one.from, one.to, other.name, other.from, other.to
                );
                if !found.contains(&line) {
                    found.push(line);
                }
            }
        }
    }
    found
}

fn loaded<'a>(image: &'a Node<'_>) -> Option<Loaded<'a>> {
    let (from, data) = (image.number("load")?, image.property("data")?);
    // A kernel_noload stays where it is.
    if image.text("type").is_some_and(|kind| kind.eq_ignore_ascii_case("kernel_noload")) {
        return None;
    }
    let is_packed = image.text("compression").is_some_and(|name| !name.eq_ignore_ascii_case("none"));
    let unpacked = if is_packed { unpacked(data) } else { None };
    Some(Loaded { name: &image.name, from, to: from.saturating_add(unpacked.unwrap_or(data.len() as u64)) })
}

/// How much memory the data takes that U-Boot decompresses.
fn unpacked(data: &[u8]) -> Option<u64> {
    let packed = Compression::of(data)?;
    let mut rest = data;
    std::io::copy(&mut packed.unpack(&mut rest).ok()?.take(MOST), &mut std::io::sink()).ok()
}

const MOST: u64 = 1 << 30;
/// Properties of images, and what they can say: in upper or lower case.
const WORDS: &[(&str, &[&str])] = &[
    ("compression", &["none", "bzip2", "gzip", "lzma", "lzo", "lz4", "zstd"]),
    (
        "arch",
        &[
            "invalid",
            "alpha",
            "arc",
            "arm",
            "arm64",
            "avr32",
            "blackfin",
            "ia64",
            "m68k",
            "microblaze",
            "mips",
            "mips64",
            "nds32",
            "nios",
            "nios2",
            "or1k",
            "powerpc",
            "ppc",
            "riscv",
            "s390",
            "sandbox",
            "sh",
            "sparc",
            "sparc64",
            "x86",
            "x86_64",
            "xtensa",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::dts;

    fn of(source: &str) -> Vec<String> {
        warnings(&dts::parse(&format!("/dts-v1/; / {{ {source} }};"), &mut |_| Ok(Vec::new())).unwrap())
    }

    #[test]
    fn names_with_an_at() {
        let at = "images { kernel@1 { data = [00]; hash@1 { }; }; }; configurations { conf@1 { }; };";
        assert_eq!(
            of(at),
            [
                "kernel@1 and 2 other nodes: a U-Boot with FIT_SIGNATURE refuses an image with @ in the name of any node; write \
             kernel-1"
            ]
        );
        assert!(of(&at.replace('@', "-")).is_empty());
    }

    #[test]
    fn words_that_u_boot_does_not_know() {
        let said = |words: &str| of(&format!("images {{ k {{ data = [00]; {words} }}; }};"));
        assert!(said("arch = \"ARM64\"; compression = \"zstd\";").is_empty() && said("").is_empty());
        assert_eq!(
            said("arch = \"aarch64\"; compression = \"gz\";"),
            [
                "k: U-Boot knows no compression \"gz\", and starts no such image",
                "k: U-Boot knows no arch \"aarch64\", and starts no such image"
            ]
        );
    }

    #[test]
    fn images_over_each_other() {
        let source = |fdt: &str, kind: &str| {
            of(&format!(
                "images {{ k {{ type = \"{kind}\"; data = [00 11 22 33]; load = <0x1000>; }};
                 f {{ type = \"flat_dt\"; data = [00 11]; load = <{fdt}>; }};
                 alone {{ data = [00]; load = <0x1000>; }}; }};
                 configurations {{ c {{ kernel = \"k\"; fdt = \"f\"; }}; d {{ kernel = \"k\"; fdt = \"f\"; }}; }};"
            ))
        };
        let over = "k at 0x1000 to 0x1004 and f at 0x1003 to 0x1005 overlap when loaded";
        assert_eq!(source("0x1003", "kernel"), [over]);
        assert!(source("0x1004", "kernel").is_empty() && source("0x1003", "kernel_noload").is_empty());
    }

    #[test]
    fn an_image_over_u_boots_own() {
        let found =
            of("images { u { type = \"firmware\"; os = \"u-boot\"; data = [00 11]; load = <0x800>; };
                        k { type = \"kernel\"; data = [00]; load = <0x801>; }; };
                        configurations { c { kernel = \"k\"; }; };");
        assert_eq!(found, ["u at 0x800 to 0x802 and k at 0x801 to 0x802 overlap when loaded"]);
    }

    /// As on boards of which each has a U-Boot of its own.
    #[test]
    fn two_u_boots_do_not_run_together() {
        let images = |kernel: &str| {
            format!(
                "images {{ u {{ type = \"firmware\"; os = \"u-boot\"; data = [00 11]; load = <0x800>; }};
                 v {{ type = \"firmware\"; os = \"u-boot\"; data = [00 11]; load = <0x800>; }};
                 k {{ type = \"kernel\"; data = [00]; load = <{kernel}>; }}; }};"
            )
        };
        let each = "configurations { c { firmware = \"u\"; }; d { firmware = \"v\"; }; };";
        let none = "configurations { c { kernel = \"k\"; }; };";
        for configurations in [each, none] {
            assert!(of(&(images("0x900") + configurations)).is_empty(), "{configurations}");
        }
        assert_eq!(of(&(images("0x801") + none)).len(), 2, "over whichever runs");
    }

    #[test]
    fn what_u_boot_decompresses_takes_its_whole_size() {
        let packed = crate::initramfs::Packing::Gzip.pack(vec![0; 1000]).unwrap();
        assert_eq!(unpacked(&packed), Some(1000));
    }
}
