//! `keyway boot fit` and `boot script` beside U-Boot's own mkimage and dumpimage.

use keyway_tests::{Scratch, keyway, need, peer};
use std::fs;
use std::path::Path;

/// The source of "[Embedded] enabling the cryptsetup on ramdisk" (carloscn's blog), verbatim.
const ZYNQ: &str = r#"/dts-v1/;
  
/ {
    description = "U-Boot fitImage for plnx_aarch64 kernel";
    #address-cells = <1>;
  
    images {
        kernel-1 {
            description = "Linux Kernel";
            data = /incbin/("./Image");
            type = "Kernel";
            arch = "arm64";
            os = "linux";
            compression = "none";
            load = <0x200000>;
            entry = <0x200000>;
            hash@1 {
                algo = "sha256";
            };
        };
        fdt-1 {
            description = "Flattened Device Tree blob";
            data = /incbin/("./system.dtb");
            type = "flat_dt";
            arch = "arm64";
            compression = "none";
            hash@1 {
                algo = "sha256";
            };
        };
        ramdisk-1 {
            description = "petalinux-initramfs-image";
            data = /incbin/("new_initramfs.cpio.gz");
            type = "ramdisk";
            arch = "arm64";
            os = "linux";
            compression = "gzip";
            hash@1 {
                algo = "sha256";
            };
        };
    };
    configurations {
        default = "conf@1";
        conf@1 {
            description = "Boot Linux kernel with FDT blob + ramdisk";
            kernel = "kernel-1";
            fdt = "fdt-1";
            ramdisk = "ramdisk-1";
            hash@1 {
                algo = "sha256";
            };
        };
    };
};
"#;

/// Creates the files that the source names beside it, with odd lengths.
fn files(scratch: &Scratch) {
    scratch.random_file("Image", 1, 100_001);
    scratch.random_file("new_initramfs.cpio.gz", 3, 50_003);
    scratch.file("board.dts", "/dts-v1/; / { compatible = \"xlnx,zynqmp\"; memory@0 { reg = <0 0 1>; }; };");
    peer("dtc", "-q -I dts -O dtb -o system.dtb board.dts").directory(scratch.root()).ok();
    scratch.file("image.its", ZYNQ);
}

/// dumpimage extracts each image bit for bit, and mkimage lists it with its hash.
#[track_caller]
fn assert_u_boot_reads(scratch: &Scratch, image: &Path, names: &[&str]) {
    let listed = peer("mkimage", "-l").arg(image).ok();
    // mkimage computes no hash of a configuration, and shows it as unavailable.
    let text = listed.text();
    let hashes = text.lines().filter(|line| line.contains("Hash value:") && !line.ends_with("unavailable"));
    assert_eq!(hashes.count(), names.len(), "{listed}");
    for (number, name) in names.iter().enumerate() {
        let out = scratch.path("dumped");
        peer("dumpimage", &format!("-T flat_dt -p {number} -o")).arg(&out).arg(image).ok();
        let original = fs::read(scratch.path(name)).unwrap();
        assert!(fs::read(&out).unwrap() == original, "{name} came out otherwise\n{listed}");
    }
}

#[test]
fn the_source_of_the_zynq_text_as_it_is() {
    need!("mkimage", "dumpimage", "dtc");
    let scratch = Scratch::new();
    files(&scratch);
    let image = scratch.path("image.ub");
    keyway("boot fit").arg(scratch.path("image.its")).arg("-o").arg(&image).ok();
    let names = ["Image", "system.dtb", "new_initramfs.cpio.gz"];
    assert_u_boot_reads(&scratch, &image, &names);
    peer("mkimage", "-l")
        .arg(&image)
        .ok()
        .says("FIT description: U-Boot fitImage for plnx_aarch64 kernel")
        .says("Default Configuration: 'conf@1'")
        .says("Load Address: 0x00200000");
    // mkimage's own image from the same source has the same images and hashes, read by Keyway.
    peer("mkimage", "-f image.its theirs.ub").directory(scratch.root()).ok();
    let (ours, theirs) = (scratch.path("image.ub"), scratch.path("theirs.ub"));
    let list = |image: &Path| keyway("boot fit --list").arg(image).ok().says("sha256: right").text();
    assert_eq!(list(&ours), list(&theirs));
    // And with the data after the tree, by both programs.
    peer("mkimage", "-E -f image.its behind.ub").directory(scratch.root()).ok();
    assert_eq!(list(&scratch.path("behind.ub")), list(&ours));
    let external = scratch.path("external.ub");
    keyway("boot fit --external").arg(scratch.path("image.its")).arg("-o").arg(&external).ok();
    assert_u_boot_reads(&scratch, &external, &names);
    // dtc reads the tree too.
    peer("dtc", "-q -I dtb -O dts").arg(&ours).ok().says("configurations {");
}

#[test]
fn of_pieces_with_two_boards() {
    need!("mkimage", "dumpimage", "dtc");
    let scratch = Scratch::new();
    files(&scratch);
    let image = scratch.path("out.itb");
    let make = || {
        keyway("boot fit --load 0x200000 --kernel Image --ramdisk new_initramfs.cpio.gz --dtb system.dtb --dtb system.dtb -o")
            .directory(scratch.root())
    };
    make().arg(&image).env("SOURCE_DATE_EPOCH", "1700000000").ok();
    assert_u_boot_reads(&scratch, &image, &["Image", "new_initramfs.cpio.gz", "system.dtb", "system.dtb"]);
    peer("mkimage", "-l").arg(&image).ok().says("Configuration 1 (conf-2)").says("Tue Nov 14 22:13:20 2023");
    let again = scratch.path("again");
    make().arg(&again).env("SOURCE_DATE_EPOCH", "1700000000").ok();
    assert!(fs::read(&again).unwrap() == fs::read(&image).unwrap());
    let out = scratch.path("extracted");
    fs::create_dir(&out).unwrap();
    keyway("boot fit").arg(&image).arg("--extract").arg(&out).ok();
    assert!(fs::read(out.join("kernel-1")).unwrap() == fs::read(scratch.path("Image")).unwrap());
    let mut damaged = fs::read(&image).unwrap();
    let kernel = fs::read(scratch.path("Image")).unwrap();
    let place = damaged.windows(64).position(|bytes| bytes == &kernel[..64]).unwrap();
    damaged[place] ^= 1;
    let damaged = scratch.file("damaged", damaged);
    keyway("boot fit --list").arg(damaged).fails(1).says("sha256: WRONG").says("the image is damaged");
}

/// What is mistyped in a source, and what is said: exit code 1, and no image.
const MISTYPED: &[(&str, &str, &str)] = &[
    ("(\"kern\")", "(\"none\")", "line 3: "),
    ("(\"kern\")", "(\"kern\", 0, 99999)", "line 3: kern is shorter than that."),
    ("(\"kern\")", "(\"/\")", "line 3: / is not below the source's directory; --include DIR allows another."),
    ("(\"kern\")", "(\"kern", "line 3: "),
    ("\"sha256\"", "\"sha999\"", "/images/k/hash-1: U-Boot has no hash \"sha999\""),
    ("default = \"c\"", "default = \"d\"", "/configurations: the default, d, does not exist."),
    ("kernel = \"k\"", "kernel = \"l\"", "/configurations/c: kernel is l, but there is no such image."),
    ("<0x8000>", "<0x8000", "line 3: a number is expected here."),
    ("<0x8000>", "<zz>", "line 3: a number is expected here."),
    ("images {", "imagez {", "/images: there are no images."),
    ("images {", "/include/ \"none.dtsi\" images {", "line 2: a name is expected here."),
    ("}; };", "};", "a name is expected here."),
];

#[test]
fn what_is_mistyped_in_a_source_exits_with_1() {
    const SOURCE: &str = "/dts-v1/; / {
        images {
            k { data = /incbin/(\"kern\"); type = \"kernel\"; load = <0x8000>; hash-1 { algo = \"sha256\"; }; };
        };
        configurations { default = \"c\"; c { kernel = \"k\"; }; };
    };";
    let (scratch, out) = (Scratch::new(), Path::new("out"));
    scratch.file("kern", "kernel");
    let make = |text: &str| {
        scratch.file("image.its", text);
        keyway("boot fit image.its -o out").directory(scratch.root())
    };
    for (from, to, says) in MISTYPED {
        assert!(SOURCE.contains(from), "{from}");
        make(&SOURCE.replacen(from, to, 1)).fails(1).says("image.its: ").says(says);
        assert!(!scratch.root().join(out).exists(), "{to}");
    }
    make("").fails(1).says("it has no root node");
    make("\u{0}").fails(1);
    // What U-Boot does not know is its own matter, and said.
    let said = make(&SOURCE.replacen("load", "arch = \"aarch64\"; compression = \"gz\"; load", 1)).ok();
    said.says("k: U-Boot knows no compression \"gz\"").says("k: U-Boot knows no arch \"aarch64\"");
}

#[test]
fn sources_and_images_that_are_wrong() {
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let source = scratch.file("image.its", ZYNQ);
    keyway("boot fit")
        .arg(&source)
        .arg("-o")
        .arg(&out)
        .fails(1)
        .says("image.its: line 10: ")
        .says("No such file");
    keyway("boot fit -o").arg(&out).fails(1).says("boot fit needs an image source or --kernel FILE");
    let source = scratch.file("short.its", "/dts-v1/; / { images { } }");
    keyway("boot fit").arg(source).arg("-o").arg(&out).fails(1).says("line 1: \";\" is expected here");
    let noise = scratch.file("noise", "neither");
    keyway("boot fit --list").arg(noise).fails(1).says("it does not start with a device tree's header");
    keyway("boot fit --kernel /dev/null --arch z80 -o").arg(&out).fails(1).says("one of arm, x86");
    let packed = scratch.file("Image.gz", b"\x1f\x8b\x08");
    let unplaced = "Image.gz: it is compressed with gzip, which U-Boot decompresses only to a load address.";
    keyway("boot fit --kernel").arg(packed).arg("-o").arg(&out).fails(1).says(unplaced);
    assert!(!out.exists());
}

#[test]
fn scripts_are_mkimages_to_the_byte() {
    need!("mkimage", "dumpimage");
    let scratch = Scratch::new();
    let text = scratch.file("boot.scr.txt", "bootm 0x10000000\n");
    let time = |run: keyway_tests::Run| run.env("SOURCE_DATE_EPOCH", "1700000000");
    let (ours, theirs) = (scratch.path("boot.scr"), scratch.path("theirs.scr"));
    time(keyway("boot script").arg(&text).args("--arch arm64 --title zynq -o").arg(&ours)).ok();
    time(peer("mkimage", "-C none -A arm64 -T script -n zynq -d").arg(&text).arg(&theirs)).ok();
    assert!(fs::read(&ours).unwrap() == fs::read(&theirs).unwrap());
    peer("mkimage", "-l").arg(&ours).ok().says("AArch64 Linux Script (uncompressed)");
    // It treats the table of lengths as part of the script, even for its own images.
    let out = scratch.path("out");
    peer("dumpimage", "-T script -p 0 -o").arg(&out).arg(&ours).ok();
    assert_eq!(fs::read_to_string(out).unwrap(), "\0\0\0\u{11}\0\0\0\0bootm 0x10000000\n");
    // As invoked in the Zynq article.
    time(peer("mkimage", "-c none -A arm -T script -d").arg(&text).arg(&theirs)).ok();
    assert_eq!(keyway("boot script --list").arg(&theirs).ok().text(), "bootm 0x10000000\n");
    let mut damaged = fs::read(&ours).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    let damaged = scratch.file("damaged", damaged);
    keyway("boot script --list")
        .arg(damaged)
        .fails(1)
        .says("the checksum of the data after its U-Boot header is wrong");
}

/// A source as Yocto's recipes wrote it; U-Boot with signatures refuses its names, and starts no arm kernel as arm64.
#[test]
fn what_u_boot_would_refuse_is_warned_of() {
    let scratch = Scratch::new();
    let mut zimage = keyway_tests::random(5, 4096);
    zimage[0x24..0x28].copy_from_slice(&0x016f_2818_u32.to_le_bytes());
    scratch.file("zImage", &zimage);
    scratch.file("a.dtb", keyway_tests::random(6, 4096));
    let source = |kernel: &str, arch: &str, load: &str| {
        let text = format!(
            r#"/dts-v1/; / {{ #address-cells = <1>; images {{
            {kernel} {{ data = /incbin/("zImage"); type = "kernel"; arch = "{arch}"; os = "linux"; compression = "none";
                load = <0x80800000>; entry = <0x80800000>; }};
            fdt-1 {{ data = /incbin/("a.dtb"); type = "flat_dt"; arch = "{arch}"; compression = "none"; load = <{load}>; }}; }};
            configurations {{ default = "c"; c {{ kernel = "{kernel}"; fdt = "fdt-1"; }}; }}; }};"#
        );
        keyway("boot fit --force").arg(scratch.file("board.its", text)).arg("-o").arg(scratch.path("out"))
    };
    let said = source("kernel@1", "arm", "0x80800800").ok();
    assert_eq!(
        said.errors(),
        "WARNING: kernel@1: a U-Boot with FIT_SIGNATURE refuses an image with @ in the name of any node; write kernel-1.\n\
         WARNING: kernel@1 at 0x80800000 to 0x80801000 and fdt-1 at 0x80800800 to 0x80801800 overlap when loaded.\n"
    );
    assert_eq!(source("kernel-1", "arm", "0x83000000").ok().errors(), "");
    let wrong = "board.its: /images/kernel-1: its arch is arm64, and its data is for arm.";
    source("kernel-1", "arm64", "0x83000000").fails(1).says(wrong);
    fs::remove_file(scratch.path("a.dtb")).unwrap();
    source("kernel-1", "arm", "0x83000000")
        .fails(1)
        .says("board.its: line 4: ")
        .says("No such file or directory");
}
