//! Images from a source and from parts, and what is refused.

use super::*;

fn include(name: &str) -> Result<Vec<u8>, String> {
    match name {
        "Image" => Ok(vec![7; 1000]),
        "ramdisk" => Ok(b"ramdisk!".to_vec()),
        other => Err(format!("{other} is not there")),
    }
}

const SOURCE: &str = r#"/dts-v1/;
/ {
    description = "two";
    #address-cells = <1>;
    images {
        kernel-1 {
            data = /incbin/("Image");
            type = "kernel";
            load = <0x200000>;
            hash@1 { algo = "sha256"; };
            hash@2 { algo = "crc32"; };
        };
        ramdisk-1 {
            data = /incbin/("ramdisk");
            type = "ramdisk";
            hash-1 { algo = "md5"; };
        };
    };
    configurations {
        default = "conf@1";
        conf@1 { kernel = "kernel-1"; ramdisk = "ramdisk-1"; };
    };
};"#;

#[test]
fn data_in_the_tree_and_behind_it() {
    for external in [None, Some(4), Some(4096)] {
        let tree = tree_of(SOURCE, &mut include).unwrap();
        let image = image(tree, Layout { time: 5, external }).unwrap();
        let fit = Fit::read(&image).unwrap();
        assert_eq!((fit.time, fit.default.as_deref(), fit.is_damaged()), (Some(5), Some("conf@1"), false));
        let [kernel, ramdisk] = &fit.images[..] else { panic!() };
        assert_eq!((kernel.data.len(), &ramdisk.data[..]), (1000, &b"ramdisk!"[..]));
        assert_eq!(
            kernel.hashes,
            [("sha256".to_owned(), Verdict::Right), ("crc32".to_owned(), Verdict::Right)]
        );
        assert_eq!(kernel.addresses, [("load", 0x20_0000)]);
        assert_eq!(fit.configurations[0].images.len(), 2);
        let place = image.windows(8).position(|bytes| bytes == b"ramdisk!").unwrap();
        let mut damaged = image.clone();
        damaged[place] ^= 1;
        let fit = Fit::read(&damaged).unwrap();
        assert!(fit.is_damaged());
        assert_eq!(fit.images[1].hashes, [("md5".to_owned(), Verdict::Wrong)]);
        assert!(Fit::read(&image[..image.len() - 1]).is_err());
    }
}

#[test]
fn sources_that_would_not_boot() {
    let why = |from: &str, to: &str| {
        let source = SOURCE.replacen(from, to, 1);
        assert_ne!(source, SOURCE);
        let made = tree_of(&source, &mut include).and_then(|tree| image(tree, Layout::default()));
        made.unwrap_err().to_string()
    };
    assert_eq!(why("\"conf@1\"", "\"conf@2\""), "/configurations: the default, conf@2, does not exist");
    assert_eq!(
        why("kernel = \"kernel-1\"", "kernel = \"kernel-2\""),
        "/configurations/conf@1: kernel is kernel-2, but there is no such image"
    );
    assert_eq!(why("type = \"ramdisk\";", ""), "/images/ramdisk-1: it has no property \"type\"");
    assert!(why("sha256", "sha3").starts_with("/images/kernel-1/hash@1: U-Boot has no hash \"sha3\""));
    assert_eq!(why("\"Image\"", "\"zImage\""), "line 7: zImage is not there");
}

#[test]
fn pieces_with_two_boards() {
    let board = |compatible: &str| {
        let mut root = Node::default();
        root.set_text("compatible", compatible);
        let data = Tree { root, ..Tree::default() }.to_blob().unwrap();
        Piece { name: format!("{compatible}.dtb"), data }
    };
    let parts = Parts {
        description: "boards".into(),
        arch: "arm64".into(),
        kernel: Piece { name: "Image.gz".into(), data: vec![0x1f, 0x8b, 8] },
        load: Some((0x1_0000_0000, 0x1_0000_0040)),
        ramdisk: None,
        dtbs: vec![board("one,board"), board("other,board")],
        hashes: vec!["sha256".into(), "crc32".into()],
    };
    let blob = image(parts.clone().tree().unwrap(), Layout::default()).unwrap();
    let fit = Fit::read(&blob).unwrap();
    let names: Vec<&str> = fit.images.iter().map(|image| &image.name[..]).collect();
    assert_eq!(names, ["kernel-1", "fdt-1", "fdt-2"]);
    assert_eq!(fit.images[0].addresses, [("load", 0x1_0000_0000), ("entry", 0x1_0000_0040)]);
    assert!(fit.images[0].facts.contains(&("compression", "gzip".into())));
    assert_eq!(fit.configurations[1].images, [("kernel", "kernel-1".into()), ("fdt", "fdt-2".into())]);
    let mut kernel = vec![0; 64];
    kernel[56..60].copy_from_slice(b"ARM\x64");
    let kernel = Piece { name: "Image".into(), data: kernel };
    let bare = Parts { dtbs: Vec::new(), load: None, kernel, ..parts };
    let blob = image(bare.tree().unwrap(), Layout::default()).unwrap();
    let fit = Fit::read(&blob).unwrap();
    assert!(fit.images[0].facts.contains(&("type", "kernel_noload".into())));
}

#[test]
fn kernels_that_u_boot_cannot_place_by_itself() {
    let made = |arch: &str, data: &[u8], load| {
        let kernel = Piece { name: "Image".into(), data: data.to_vec() };
        let parts = Parts {
            description: String::new(),
            arch: arch.into(),
            kernel,
            load,
            ramdisk: None,
            dtbs: Vec::new(),
            hashes: Vec::new(),
        };
        parts.tree().map(drop).map_err(|why| why.to_string())
    };
    let why = |data: &[u8]| made("arm64", data, None).unwrap_err();
    assert_eq!(
        why(&[0x1f, 0x8b, 8]),
        "Image: it is compressed with gzip, which U-Boot decompresses only to a load address"
    );
    assert!(why(b"MZ\0\0zimg").starts_with("Image: it is an EFI program that decompresses itself"));
    assert!(why(&[0; 100]).starts_with("Image: it is not an arm64 Image"));
    assert_eq!(why(b"\xfd7zXZ\0"), "Image: it is compressed with xz, which U-Boot does not support");
    assert_eq!(made("arm64", &[0x1f, 0x8b, 8], Some((0x4000_0000, 0x4000_0000))), Ok(()));
    assert_eq!(made("arm", &[0; 100], None), Ok(()));
}

/// 4,000 images that each cover the whole file, and one with as many hashes.
#[test]
fn images_overlap_only_so_much() {
    let fit = |count: usize, hashes: usize| {
        let mut images = Node::new(IMAGES);
        for number in 0..count {
            let mut image = Node::new(&format!("image-{number}"));
            image.set_cell("data-position", 0);
            image.set_cell("data-size", 500_000);
            for number in 0..hashes {
                let mut hash = Node::new(&format!("hash-{number}"));
                hash.set_text("algo", "crc32");
                image.children.push(hash);
            }
            images.children.push(image);
        }
        let root = Node { children: vec![images], ..Node::default() };
        let mut blob = Tree { root, ..Tree::default() }.to_blob().unwrap();
        blob.resize(500_000, 7);
        blob
    };
    let refused = |blob: &[u8]| Fit::read(blob).unwrap_err().to_string();
    assert_eq!(
        refused(&fit(4000, 0)),
        "/images/image-16: overlapping images and their hashes would read the file more than 16 times"
    );
    assert!(refused(&fit(1, 4000)).starts_with("/images/image-0: overlapping images and their hashes"));
    let blob = fit(4, 3);
    let read = Fit::read(&blob).unwrap();
    assert!(read.images.iter().all(|image| image.data.as_ptr() == blob.as_ptr()), "no copies");
    // A megabyte of image names.
    let mut images = Node::new(IMAGES);
    images.children.push(Node { properties: vec![("data".into(), (&b"x"[..]).into())], ..Node::new("x") });
    let mut configurations = Node::new(CONFIGURATIONS);
    configurations.children.push(Node::new("conf-1"));
    configurations.children[0].set("loadables", b"x\0".repeat(500_000));
    let root = Node { children: vec![images, configurations], ..Node::default() };
    let blob = Tree { root, ..Tree::default() }.to_blob().unwrap();
    assert_eq!(
        refused(&blob),
        "/configurations/conf-1: all configurations together name more than 65536 images"
    );
}
