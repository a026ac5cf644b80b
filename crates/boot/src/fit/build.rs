//! Builds a FIT image's tree from its parts: a kernel, an optional ramdisk, and device trees with a
//! configuration for each.

use super::{CONFIGURATIONS, Error, IMAGES};
use crate::fdt::{Node, Tree};
use crate::initramfs::Compression;

/// The parts of an image.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The description of the whole image.
    pub description: String,
    /// U-Boot's architecture name: "arm64".
    pub arch: String,
    /// The kernel, compressed or not.
    pub kernel: Piece,
    /// The kernel's load address and entry point; without them the boot loader chooses.
    pub load: Option<(u64, u64)>,
    /// The initramfs.
    pub ramdisk: Option<Piece>,
    /// Device trees: the configuration of the first one is the default.
    pub dtbs: Vec<Piece>,
    /// U-Boot's hash names: "sha256".
    pub hashes: Vec<String>,
}

/// A file.
#[derive(Debug, Clone)]
pub struct Piece {
    /// The file's name in descriptions.
    pub name: String,
    /// The file's content.
    pub data: Vec<u8>,
}

impl Parts {
    /// Builds the tree, without the values of its hashes.
    pub fn tree(self) -> Result<Tree<'static>, Error> {
        let mut root = Node::default();
        root.set_text("description", &self.description);
        root.set_cell("#address-cells", if self.is_wide() { 2 } else { 1 });
        let mut images = Node::new(IMAGES);
        images.children.push(self.kernel_node()?);
        if let Some(ramdisk) = &self.ramdisk {
            // The kernel decompresses it: for the boot loader it is uncompressed.
            images.children.push(self.node("ramdisk-1", ramdisk, "ramdisk", "none"));
        }
        let mut configurations = Node::new(CONFIGURATIONS);
        configurations.set_text("default", "conf-1");
        for (number, dtb) in (1..).zip(&self.dtbs) {
            let tree = Tree::parse(&dtb.data)
                .map_err(|why| Error::Node { path: dtb.name.clone(), why: why.to_string() })?;
            let name = format!("fdt-{number}");
            images.children.push(self.node(&name, dtb, "flat_dt", "none"));
            let mut configuration = self.configuration(number, &dtb.name);
            configuration.set_text("fdt", &name);
            // U-Boot uses this to find the configuration for its board.
            if let Some(compatible) = tree.root.property("compatible") {
                configuration.set("compatible", compatible);
            }
            configurations.children.push(configuration);
        }
        if self.dtbs.is_empty() {
            configurations.children.push(self.configuration(1, &self.kernel.name));
        }
        root.children = vec![images, configurations];
        Ok(Tree { root, ..Tree::default() })
    }

    /// The compression that U-Boot has to undo. If U-Boot chooses the load address of an arm64
    /// kernel itself, it reads the kernel's own header, which therefore must not be compressed
    /// ("Bad Linux ARM64 Image magic!").
    fn compression(&self) -> Result<&'static str, Error> {
        use Compression::{Bzip2, Gzip, Lzma, Zstd};
        let (kernel, is_arm64) = (&self.kernel.data, self.arch == "arm64");
        let is_unplaced = is_arm64 && self.load.is_none();
        let why = match Compression::of(kernel) {
            Some(packed @ (Gzip | Bzip2 | Lzma | Zstd)) if !is_unplaced => return Ok(packed.name()),
            Some(packed @ (Gzip | Bzip2 | Lzma | Zstd)) => {
                format!("it is compressed with {}, which U-Boot decompresses only to a load address", packed.name())
            }
            Some(packed) => format!("it is compressed with {}, which U-Boot does not support", packed.name()),
            None if is_arm64 && is_efi_zboot(kernel) => {
                "it is an EFI program that decompresses itself, and bootm starts only the Image inside it".to_owned()
            }
            None if is_unplaced && !is_arm64_image(kernel) => {
                "it is not an arm64 Image (\"ARM\\x64\" at byte 56), and U-Boot starts others only at a load address"
                    .to_owned()
            }
            None => return Ok("none"),
        };
        Err(Error::Node { path: self.kernel.name.clone(), why })
    }

    fn kernel_node(&self) -> Result<Node<'static>, Error> {
        let kind = if self.load.is_some() { "kernel" } else { "kernel_noload" };
        let mut node = self.node("kernel-1", &self.kernel, kind, self.compression()?);
        let hashes = std::mem::take(&mut node.children);
        let (load, entry) = self.load.unwrap_or_default();
        for (name, address) in [("load", load), ("entry", entry)] {
            match self.is_wide() {
                true => node.set(name, address.to_be_bytes()),
                false => node.set(name, (address as u32).to_be_bytes()),
            }
        }
        node.children = hashes;
        Ok(node)
    }

    /// Whether addresses take two cells.
    fn is_wide(&self) -> bool {
        self.load.is_some_and(|(load, entry)| load.max(entry) > u64::from(u32::MAX))
    }

    fn node(&self, name: &str, piece: &Piece, kind: &str, compression: &str) -> Node<'static> {
        let mut node = Node::new(name);
        node.set_text("description", &piece.name);
        node.set("data", piece.data.as_slice());
        node.set_text("type", kind);
        node.set_text("arch", &self.arch);
        if kind != "flat_dt" {
            node.set_text("os", "linux");
        }
        node.set_text("compression", compression);
        for (number, hash) in (1..).zip(&self.hashes) {
            let mut child = Node::new(&format!("hash-{number}"));
            child.set_text("algo", hash);
            node.children.push(child);
        }
        node
    }

    fn configuration(&self, number: usize, description: &str) -> Node<'static> {
        let mut node = Node::new(&format!("conf-{number}"));
        node.set_text("description", description);
        node.set_text("kernel", "kernel-1");
        if self.ramdisk.is_some() {
            node.set_text("ramdisk", "ramdisk-1");
        }
        node
    }
}

/// Recognised by its header (Linux, drivers/firmware/efi/libstub/zboot-header.S).
fn is_efi_zboot(kernel: &[u8]) -> bool {
    kernel.starts_with(b"MZ") && kernel.get(4..8) == Some(b"zimg")
}

/// Recognised by its header (Linux, Documentation/arm64/booting.rst).
fn is_arm64_image(kernel: &[u8]) -> bool {
    kernel.get(56..60) == Some(b"ARM\x64")
}
