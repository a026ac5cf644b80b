//! `keyway boot initramfs`: images created by cpio and the distributions' compressors, with
//! Keyway's archive appended.

use keyway_tests::{Run, Scratch, keyway, need, peer, random};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// A tree like that of an initramfs, packed by the real cpio.
fn original(scratch: &Scratch) -> Vec<u8> {
    let root = scratch.path("root");
    fs::create_dir_all(root.join("usr/lib/modules")).unwrap();
    symlink("usr/lib", root.join("lib")).unwrap();
    fs::write(root.join("init"), "#!/bin/sh\nexec sh\n").unwrap();
    fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(root.join("usr/lib/modules/big.ko"), random(5, 3_000_000)).unwrap();
    fs::hard_link(root.join("init"), root.join("usr/lib/same")).unwrap();
    sh(&root, "find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0").stdout
}

#[track_caller]
fn sh(directory: &Path, line: &str) -> keyway_tests::run::Outcome {
    peer("sh", "-c").arg(line).directory(directory).ok()
}

/// A static program to put into images; it is not run here.
fn program() -> &'static str {
    "/bin/busybox"
}

#[track_caller]
fn made(original: &Path, out: &Path, options: &str) -> Run {
    keyway("boot initramfs").arg(original).arg("-o").arg(out).args("--program").arg(program()).args(options)
}

/// The contents of an archive as unpacked by the real cpio.
#[track_caller]
fn unpacked(scratch: &Scratch, archive: &[u8], name: &str) -> PathBuf {
    let directory = scratch.path(name);
    fs::create_dir(&directory).unwrap();
    peer("cpio", "--quiet -i -d --no-absolute-filenames").stdin(archive).directory(&directory).ok();
    directory
}

#[test]
fn every_packing_stays_as_it_is_and_gets_an_archive() {
    need!("cpio", "zstd", "xz", "lz4", "bzip2", "gzip", "busybox");
    let scratch = Scratch::new();
    scratch.file("plain", original(&scratch));
    for packer in ["cat", "gzip -n", "zstd -q", "xz --check=crc32", "lzma", "lz4 -l", "bzip2"] {
        let packed = sh(scratch.root(), &format!("{packer} <plain")).stdout;
        let image = scratch.file("image", &packed);
        let out = scratch.path("out");
        made(&image, &out, "--force --volume UUID=0815 --name root --options discard").ok().says("added");
        let made = fs::read(&out).unwrap();
        assert!(made.starts_with(&packed), "{packer}: the original is not its beginning");
        // After it come zeros and an archive, which is gzipped if the original is.
        let zeros = made[packed.len()..].iter().take_while(|byte| **byte == 0).count();
        let start = packed.len() + zeros;
        assert!(zeros >= 4 && start.is_multiple_of(4), "{packer}: {zeros} zeros, then byte {start}");
        let mut archive = made[start..].to_vec();
        assert_eq!(archive.starts_with(&[0x1f, 0x8b]), packer == "gzip -n", "{packer}");
        if packer == "gzip -n" {
            archive = peer("gzip", "-dc").stdin(&archive).ok().stdout;
        }
        let tree = unpacked(&scratch, &archive, &format!("tree-{}", &packer[..3]));
        assert_eq!(fs::read_link(tree.join("init")).unwrap(), Path::new("/keyway/keyway"));
        let kept = tree.join("keyway/original-init");
        assert_eq!(fs::read_to_string(&kept).unwrap(), "#!/bin/sh\nexec sh\n");
        assert_eq!(fs::metadata(kept).unwrap().mode() & 0o7777, 0o755);
        assert!(fs::read(tree.join("keyway/keyway")).unwrap() == fs::read(program()).unwrap());
        let config = fs::read_to_string(tree.join("keyway/unlock.conf")).unwrap();
        assert!(config.ends_with("\nroot UUID=0815 none discard\n"), "{config}");
        assert!(!tree.join("lib").exists(), "a directory here would replace the link in the image");
        keyway("boot initramfs --diff")
            .arg(&image)
            .arg(&out)
            .ok()
            .says("~ lrwxrwxrwx         14 init -> /keyway/keyway")
            .says("+ -rwxr-xr-x         18 keyway/original-init")
            .says("It begins with");
    }
}

#[test]
fn the_same_input_gives_the_same_bytes_and_adding_twice_keeps_the_first_init() {
    need!("cpio", "busybox");
    let scratch = Scratch::new();
    let image = scratch.file("image", original(&scratch));
    let (one, two) = (scratch.path("one"), scratch.path("two"));
    made(&image, &one, "--volume /dev/vda2").ok();
    made(&image, &two, "--volume /dev/vda2").ok();
    assert!(fs::read(&one).unwrap() == fs::read(&two).unwrap());
    let again = scratch.path("again");
    made(&one, &again, "--volume /dev/vda3 --compress gzip").ok();
    keyway("boot initramfs --list")
        .arg(&again)
        .ok()
        .says("-rwxr-xr-x         18 keyway/original-init")
        .says("lrwxrwxrwx         14 init -> /keyway/keyway");
}

#[test]
fn an_init_that_is_a_link_is_kept_as_one() {
    need!("cpio", "busybox");
    let scratch = Scratch::new();
    let root = scratch.path("root");
    fs::create_dir(&root).unwrap();
    symlink("usr/lib/systemd/systemd", root.join("init")).unwrap();
    let image = scratch.file("image", sh(&root, "echo init | cpio --quiet -o -H newc").stdout);
    let out = scratch.path("out");
    made(&image, &out, "").ok();
    keyway("boot initramfs --list").arg(&out).ok().says("keyway/original-init -> usr/lib/systemd/systemd");
}

#[test]
fn a_key_goes_in_on_request_alone_and_with_a_warning() {
    need!("cpio", "busybox");
    let scratch = Scratch::new();
    let image = scratch.file("image", original(&scratch));
    let (key, header) = (scratch.file("key", "secret"), scratch.file("header", "LUKS"));
    let out = scratch.path("out");
    made(&image, &out, "--volume /dev/vda --name data --embed-key-file")
        .arg(&key)
        .arg("--header")
        .arg(&header)
        .ok()
        .says("WARNING")
        .says("goes into the image unencrypted: whoever can read the image can open the volume.");
    assert_eq!(fs::metadata(&out).unwrap().mode() & 0o777, 0o600);
    let archive = fs::read(&out).unwrap()[fs::metadata(&image).unwrap().len() as usize..].to_vec();
    let start = archive.iter().position(|byte| *byte != 0).unwrap();
    let tree = unpacked(&scratch, &archive[start..], "tree");
    assert_eq!(fs::read_to_string(tree.join("keyway/keys/data")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(tree.join("keyway/headers/data")).unwrap(), "LUKS");
    let config = fs::read_to_string(tree.join("keyway/unlock.conf")).unwrap();
    assert!(config.ends_with("data /dev/vda /keyway/keys/data header=/keyway/headers/data\n"), "{config}");
}

#[test]
fn what_cannot_work_is_refused_and_leaves_nothing() {
    need!("cpio", "busybox");
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let image = scratch.file("image", original(&scratch));
    let cut = scratch.file("cut", &fs::read(&image).unwrap()[..5000]);
    made(&cut, &out, "").fails(1).says("it ends within an entry");
    let noise = scratch.file("noise", b"\x7fELF no image");
    made(&noise, &out, "").fails(1).says("at byte 0 there is no cpio archive, compressed or not.");
    let lzo = scratch.file("lzo", b"\x89LZO\0\r\n\x1a\n");
    made(&lzo, &out, "").fails(1).says(
        "compressed with lzo, which this build does not support; decompress it \
        first",
    );
    let root = scratch.path("none");
    fs::create_dir(&root).unwrap();
    let empty = scratch.file("empty", sh(&root, "echo . | cpio --quiet -o -H newc").stdout);
    made(&empty, &out, "").fails(1).says("it has no /init");
    made(&image, &out, "--name ../x --volume /dev/vda").fails(1).says("a mapping's name is not a path");
    made(&image, &out, "--name x").fails(1).says("name it with --volume");
    keyway("boot initramfs -o").arg(&out).fails(1).says("--modules DIR");
    keyway("boot initramfs").arg(&image).fails(1).says("--output FILE is missing");
    keyway("boot initramf").fails(1).says("did you mean \"initramfs\"?");
    let script = scratch.file("script", "#!/bin/sh\n");
    keyway("boot initramfs")
        .arg(&image)
        .arg("-o")
        .arg(&out)
        .arg("--program")
        .arg(script)
        .fails(1)
        .says("not an ELF program");
    assert!(!out.exists());
    made(&image, &out, "").ok();
    made(&image, &out, "").fails(5).says("already exists; --force replaces it.");
}

#[test]
fn a_whole_initramfs_of_a_kernels_modules() {
    need!("busybox");
    let kernel = keyway_tests::vm::prepared("kernel");
    keyway_tests::need_that!(kernel.exists(), "the virtual machine's kernel was not fetched (./dev test vm)");
    let scratch = Scratch::new();
    let out = scratch.path("out");
    let run = || keyway("boot initramfs --program").arg(program()).arg("--modules").arg(&kernel).arg("-o");
    run().arg(&out).args("--cipher xchacha12,aes-adiantum-plain64 --volume /dev/vda").ok();
    let list = keyway("boot initramfs --list").arg(&out).ok();
    for name in ["dm_crypt.ko", "adiantum.ko", "nhpoly1305.ko", "virtio_blk.ko", "xfs.ko"] {
        assert!(list.text().contains(&format!("keyway/modules.d/{name}\n")), "{name}\n{list}");
    }
    list.says("init -> /keyway/keyway").says("crw-------       5, 1 dev/console").lacks("original-init");
    keyway("xray xchacha12,aes-adiantum-plain64 --initramfs")
        .arg(&out)
        .arg("--root")
        .arg(&kernel)
        .ok()
        .says("It has everything that this needs");
    run().arg(scratch.path("other")).args("--also nothing_like_it").fails(4).says("lack nothing_like_it");
}

/// The start of a static 64-bit ELF program for this machine (183 is AArch64, 62 x86-64).
fn elf(machine: u8) -> Vec<u8> {
    let mut program = vec![0; 64];
    program[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (program[16], program[18], program[52]) = (2, machine, 64);
    program
}

/// Programs in the image show which machine it is for; in Debian's images /init comes before them,
/// packed so that its end is recognisable.
#[test]
fn a_program_of_another_machine_is_refused() {
    need!("cpio", "zstd", "gzip");
    let scratch = Scratch::new();
    let root = scratch.path("root");
    fs::create_dir_all(root.join("usr/bin")).unwrap();
    symlink("usr/bin", root.join("bin")).unwrap();
    fs::write(root.join("init"), "#!/bin/sh\nexec sh\n").unwrap();
    fs::set_permissions(root.join("init"), fs::Permissions::from_mode(0o755)).unwrap();
    let (other, own) = if std::env::consts::ARCH == "aarch64" { (62, 183) } else { (183, 62) };
    fs::write(root.join("usr/bin/busybox"), elf(other)).unwrap();
    let (foreign, fitting) = (scratch.file("foreign", elf(own)), scratch.file("fitting", elf(other)));
    let out = scratch.path("out");
    for packer in ["cat", "gzip -n", "zstd -q"] {
        let packed =
            sh(&root, &format!("find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 | {packer}")).stdout;
        let image = scratch.file("image", packed);
        let run = || keyway("boot initramfs --force").arg(&image).arg("-o").arg(&out);
        for option in ["--program", "--keyway"] {
            run()
                .arg(option)
                .arg(&foreign)
                .fails(1)
                .says("and the keyway to embed is for")
                .says("--program FILE names one for");
            assert!(!out.exists(), "{packer}");
            run().arg(option).arg(&fitting).ok();
            // Adding to an image that already contains Keyway: Keyway's own program does not
            // determine the machine.
            let again = scratch.path("again");
            let run = keyway("boot initramfs --force").arg(&out).arg("-o").arg(&again).arg(option);
            run.arg(&foreign).fails(1).says("and the keyway to embed is for");
            fs::remove_file(&out).unwrap();
        }
    }
}

/// The policy goes into the image, where every volume must satisfy it; a policy that nothing could
/// satisfy is refused here.
#[test]
fn a_policy_is_embedded() {
    need!("cpio", "busybox");
    let scratch = Scratch::new();
    let image = scratch.file("image", original(&scratch));
    let (out, policy) = (scratch.path("out"), scratch.file("p.toml", "ciphers = [\"aes\"]\n"));
    made(&image, &out, "--compress none --require").arg(&policy).ok();
    let size = fs::metadata(&image).unwrap().len() as usize;
    let added = || {
        let added = fs::read(&out).unwrap().split_off(size);
        added.into_iter().skip_while(|byte| *byte == 0).collect::<Vec<u8>>()
    };
    let tree = unpacked(&scratch, &added(), "tree");
    assert_eq!(fs::read_to_string(tree.join("keyway/policy.toml")).unwrap(), "ciphers = [\"aes\"]\n");
    made(&image, &out, "--force --compress none --require sealed").ok();
    let tree = unpacked(&scratch, &added(), "sealed");
    assert_eq!(fs::read_to_string(tree.join("keyway/policy.toml")).unwrap(), "sealed = true\n");
    scratch.file("p.toml", "cipher = [\"aes\"]\n");
    made(&image, &out, "--force --require").arg(&policy).fails(1).says("p.toml:1: cipher: no such demand");
}

/// What the volume's own options demand by a file was not in the image, and the machine refused to boot.
#[test]
fn the_files_of_demands_are_embedded_under_names_that_the_machine_has() {
    need!("cpio", "busybox");
    let scratch = Scratch::new();
    let image = scratch.file("image", original(&scratch));
    let (out, policy) = (scratch.path("out"), scratch.file("p.toml", "ciphers = [\"aes\"]\n"));
    let context = scratch.file("ctx", "host-17\n");
    let made = |options: &str| {
        let list = options.replace("POLICY", policy.to_str().unwrap());
        let list = list.replace("CONTEXT", context.to_str().unwrap());
        made(&image, &out, "--force --compress none --volume UUID=U --options").arg(list)
    };
    made("discard,x-keyway.require=POLICY,x-keyway.require=sealed,x-keyway.seal-context-file=CONTEXT").ok();
    let added = fs::read(&out).unwrap().split_off(fs::metadata(&image).unwrap().len() as usize);
    let added: Vec<u8> = added.into_iter().skip_while(|byte| *byte == 0).collect();
    let tree = unpacked(&scratch, &added, "tree").join("keyway");
    let table = fs::read_to_string(tree.join("unlock.conf")).unwrap();
    let line = "root UUID=U none discard,x-keyway.require=/keyway/demands/root.1,x-keyway.require=sealed,\
                x-keyway.seal-context-file=/keyway/demands/root.2";
    assert_eq!(table.lines().last(), Some(line));
    for (name, content) in [("root.1", "ciphers = [\"aes\"]\n"), ("root.2", "host-17\n")] {
        let file = tree.join("demands").join(name);
        assert_eq!(fs::read_to_string(&file).unwrap(), content);
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o400);
    }
    assert_eq!(fs::read_dir(tree.join("demands")).unwrap().count(), 2);
    // Whoever may not read the string may not read it in the image.
    fs::set_permissions(&context, fs::Permissions::from_mode(0o600)).unwrap();
    made("x-keyway.seal-context-file=CONTEXT").ok();
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o077, 0);
    // What the machine would refuse is refused here.
    fs::remove_file(&out).unwrap();
    made("x-keyway.seal-context-file=/none/ctx").fails(4).says("Cannot read /none/ctx: No such file");
    made("x-keyway.require=/none/p").fails(4).says("Cannot read /none/p: No such file");
    fs::write(&context, vec![b'x'; (64 << 10) + 1]).unwrap();
    made("x-keyway.seal-context-file=CONTEXT").fails(1).says("ctx cannot be read: it is longer than 64 KiB.");
    fs::write(&policy, "cipher = [\"aes\"]\n").unwrap();
    made("x-keyway.require=POLICY").fails(1).says("p.toml:1: cipher: no such demand");
    assert!(!out.exists());
}
