//! The architecture that an image node states (`arch`), compared with that of its data. U-Boot
//! trusts the node, and starts nothing else.

use super::{Error, IMAGES};
use crate::architecture::Architecture;
use crate::fdt::Node;
use crate::initramfs::Contained;

/// Refuses a kernel or an initramfs of another architecture than the node states. Data of unknown
/// architecture is accepted.
pub(super) fn check(image: &Node) -> Result<(), Error> {
    let (Some(stated), Some(data)) = (image.text("arch"), image.property("data")) else { return Ok(()) };
    if !Architecture::is_known_to_uboot(stated) {
        return Ok(());
    }
    let kind = image.text("type").unwrap_or_default().to_ascii_lowercase();
    let found = match &kind[..] {
        "kernel" | "kernel_noload" => Architecture::of_kernel(data).filter(|found| !found.is_uboot(stated)),
        "ramdisk" => other_ramdisk(data, stated),
        _ => None,
    };
    let Some(found) = found else { return Ok(()) };
    let path = format!("/{IMAGES}/{}", image.name);
    Err(Error::Node { path, why: format!("its arch is {stated}, and its data is for {found}") })
}

/// The initramfs's architecture, unless a kernel with this U-Boot architecture runs it.
fn other_ramdisk(data: &[u8], stated: &str) -> Option<Architecture> {
    let contained = Contained::of(data).ok()?;
    let runs = Architecture::of_uboot(stated).any(|kernel| contained.runs_on(kernel));
    contained.architecture().filter(|_| !runs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::tests::elf;
    use crate::initramfs::writer;

    fn judged(kind: &str, arch: &str, data: &[u8]) -> Option<String> {
        let mut node = Node::new("image-1");
        node.set_text("type", kind);
        node.set_text("arch", arch);
        node.set("data", data);
        check(&node).err().map(|why| why.to_string())
    }

    fn ramdisk(program: &str) -> Vec<u8> {
        let mut tree = writer::Tree::default();
        tree.add("bin/sh", writer::Node::file(0o755, elf(program, false)));
        tree.archive().unwrap()
    }

    #[test]
    fn what_a_node_says_and_what_it_holds() {
        let mut arm64 = vec![0; 64];
        arm64[56..60].copy_from_slice(b"ARM\x64");
        let wrong = |arch: &str, found: &str| {
            Some(format!("/images/image-1: its arch is {arch}, and its data is for {found}"))
        };
        for kind in ["kernel", "kernel_noload", "Kernel"] {
            assert_eq!(judged(kind, "arm64", &arm64), None);
            assert_eq!(judged(kind, "x86_64", &arm64), wrong("x86_64", "aarch64"));
        }
        let mut zimage = vec![0; 64];
        zimage[0x24..0x28].copy_from_slice(&0x016f_2818_u32.to_le_bytes());
        assert_eq!(
            (judged("kernel", "arm", &zimage), judged("kernel", "arm64", &zimage)),
            (None, wrong("arm64", "arm"))
        );
        assert_eq!(judged("kernel", "arm", b"unknown"), None);
        assert_eq!(judged("firmware", "arm", &arm64), None);
        assert_eq!(judged("ramdisk", "arm64", &ramdisk("aarch64")), None);
        assert_eq!(judged("ramdisk", "arm64", &ramdisk("arm")), None);
        assert_eq!(judged("ramdisk", "arm64", &ramdisk("x86_64")), wrong("arm64", "x86_64"));
        assert_eq!(judged("ramdisk", "arm", &ramdisk("aarch64")), wrong("arm", "aarch64"));
        assert_eq!(judged("ramdisk", "powerpc", &ramdisk("ppc64le")), None);
        // U-Boot knows more names than this code does, and data may be anything.
        assert_eq!(judged("ramdisk", "m68k", &ramdisk("x86_64")), None);
        assert_eq!(judged("ramdisk", "arm64", b"noise"), None);
    }
}
