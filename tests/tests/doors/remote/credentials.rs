//! Logins and signatures: they work, and nothing reveals them.

use super::server::{Manner, Server};
use super::{Volume, s3};
use keyway_tests::{Scratch, assert_same_bytes, keyway, need, need_that, peer};
use std::fs;
use std::path::{Path, PathBuf};

/// The password and the signature, and the password as it goes over the line (RFC 7617).
const SECRETS: [&str; 3] = ["opensesame", "c1gnatur3", "dXNlcjpvcGVuc2VzYW1l"];

const AUTHORIZED: &str = "authorization: Basic dXNlcjpvcGVuc2VzYW1l";

fn secret_url(server: &Server) -> String {
    format!("http://user:opensesame@{}/disks/volume.img?X-Amz-Signature=c1gnatur3", server.address())
}

#[track_caller]
fn assert_silent(what: &str, text: impl AsRef<[u8]>) {
    let text = String::from_utf8_lossy(text.as_ref()).into_owned();
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what} shows {secret}: {text}");
    }
}

fn protected(volume: &Volume) -> Server {
    volume.served(|_| Manner::Login(AUTHORIZED))
}

#[test]
fn a_login_in_the_url_works_and_no_command_shows_it() {
    let volume = Volume::new(2);
    let server = protected(&volume);
    let url = secret_url(&server);
    let read = volume.read(&url).arg("--debug").args("-v").ok();
    assert!(read.stdout.windows(volume.plain.len()).any(|window| window == volume.plain));
    assert_silent("read --debug", &read.stderr);
    for head in server.heads() {
        assert!(head.starts_with("GET /disks/volume.img?X-Amz-Signature=c1gnatur3 HTTP/1.1"), "{head}");
    }
    for command in [
        "luksDump --debug",
        "luksDump --debug-json",
        "inspect",
        "inspect --json",
        "isLuks -v",
        "luksUUID",
        "passport --target linux",
        "xray --no-measure",
        "open --test-passphrase --debug --key-file nothing",
        "luksFormat -q",
        "luksAddKey",
        "config --label x",
        "luksHeaderRestore --header-backup-file x",
        "copy --to raw",
        "unknown",
    ] {
        let run = keyway(command).directory(volume.scratch.root()).arg(&url).stdin("wrong").outcome();
        assert_silent(command, [run.stdout, run.stderr].concat());
    }
    for line in ["-d", "--header", "--header-backup-file"] {
        let run = keyway("luksDump").arg(line).arg(&url).arg("nowhere").stdin("wrong").outcome();
        assert_silent(line, [run.stdout, run.stderr].concat());
    }
    let refused = keyway("luksDump").arg(url.replace("user:", "nobody:")).fails(4);
    assert_silent("a refusal", refused.says("the server denies access (status 401)").says(".netrc").stderr);
    for broken in
        ["http://user:opens/opensesame@h/x", "s3://AK:opens/opensesame@b/k", "ftp://u:opensesame@h/x"]
    {
        let refused = keyway("luksDump").arg(broken).fails(4);
        assert_silent(broken, refused.stderr);
    }
}

#[test]
fn a_session_shows_no_secret_and_works_by_them() {
    need!("nbdinfo", "nbdcopy", "ps");
    let volume = Volume::new(2);
    let server = protected(&volume);
    let runtime = volume.scratch.root().to_owned();
    let inside = |line: &str| keyway(line).env("XDG_RUNTIME_DIR", &runtime);
    let front_end = if Path::new("/dev/fuse").exists() { "fuse" } else { "nbd" };
    for front_end in ["nbd", front_end] {
        let open = inside("open --debug --backend").arg(front_end).arg("-d").arg(&volume.key);
        let open = open.arg(secret_url(&server)).arg("far").ok();
        assert_silent("open", [open.stdout, open.stderr].concat());
        let list = inside("list --json").ok();
        let pid = number_behind(&list.text(), "\"pid\":");
        assert!(list.text().contains(&server.url()), "{}", list.text());
        assert_silent("list --json", list.stdout);
        for line in ["list", "status far", "status --debug far"] {
            assert_silent(line, inside(line).ok().says(&server.url()).stdout);
        }
        assert_silent("ps", peer("ps", "-ef").ok().stdout);
        for file in ["cmdline", "environ", "mounts", "mountinfo", "comm", "status"] {
            assert_silent(file, fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default());
        }
        for file in files_below(&runtime.join("keyway")) {
            assert_silent(&file.display().to_string(), fs::read(&file).unwrap_or_default());
        }
        if front_end == "nbd" {
            let uri = format!("nbd+unix:///?socket={}", runtime.join("keyway/far/nbd").display());
            let info = peer("nbdinfo", "").arg(&uri).ok().says(&server.url());
            assert_silent("nbdinfo", [info.stdout, info.stderr].concat());
            let copied = peer("nbdcopy", "").arg(&uri).arg("-").ok();
            assert_same_bytes("by NBD", &copied.stdout, "original", &volume.plain);
        } else {
            let read = fs::read(runtime.join("keyway/far/fuse/plain")).unwrap();
            assert_same_bytes("by FUSE", &read, "original", &volume.plain);
        }
        inside("close far").ok();
    }
}

#[test]
fn lists_of_processes_do_not_show_the_password() {
    let volume = Volume::new(2);
    let server = volume.served(|n| if n == 0 { Manner::Proper } else { Manner::Silent });
    let read = volume.read(&secret_url(&server)).args("--timeout 30");
    let started = keyway_tests::Background::start(&read, || server.asked().len() > 1);
    let line = fs::read(format!("/proc/{}/cmdline", started.id())).unwrap();
    assert_silent("cmdline", &line);
    let text = String::from_utf8_lossy(&line).replace('\0', " ");
    assert!(text.contains("read") && text.contains(&server.url()), "{text}");
    started.kill();
}

#[test]
fn netrc_is_read_where_curl_finds_it() {
    let volume = Volume::new(1);
    let server = protected(&volume);
    let home = Scratch::new();
    let dump = || keyway("luksDump").arg(server.url()).env("HOME", home.root()).env("NETRC", "");
    dump().fails(4).says("status 401");
    let text = "machine 127.0.0.1 login user password opensesame\n";
    home.file(".netrc", text);
    dump().ok().says("LUKS header information");
    home.file(".netrc", text.replace("127.0.0.1", "other.example"));
    dump().fails(4).says("status 401");
    let elsewhere = home.file("elsewhere", text);
    dump().env("NETRC", &elsewhere).ok();
    let named = server.url().replace("http://", "http://user@");
    keyway("luksDump").arg(&named).env("NETRC", &elsewhere).ok();
    let other = server.url().replace("http://", "http://someone@");
    keyway("luksDump").arg(&other).env("NETRC", &elsewhere).fails(4);
    dump().env("NETRC", home.path("nothing")).fails(4).says("nothing cannot be read");
}

/// Another server gets no password, wherever a redirect points.
#[test]
fn a_redirect_takes_no_password_along() {
    let volume = Volume::new(1);
    let other = volume.served(|_| Manner::Proper);
    let target: &'static str = other.url().leak();
    let server = volume.served(move |_| Manner::Elsewhere(target));
    keyway("luksDump").arg(secret_url(&server)).ok();
    assert!(server.heads()[0].contains(AUTHORIZED), "{:?}", server.heads());
    assert!(!other.heads().is_empty());
    assert_silent("the other server", other.heads().concat());
}

#[test]
fn keys_of_s3_come_from_amazons_places() {
    let moto = s3::moto_server();
    need_that!(moto.exists(), "moto is not installed (tests/moto/prepare)");
    let (volume, store) = (Volume::new(1), s3::Store::start(&moto));
    store.put("/disks", &[]);
    store.put("/disks/one.img", &volume.bytes());
    let home = Scratch::new();
    fs::create_dir(home.path(".aws")).unwrap();
    let dump = |url: &str| {
        let run = keyway("luksDump").arg(url).env("HOME", home.root());
        run.env("AWS_ENDPOINT_URL", store.endpoint()).env("AWS_PROFILE", "")
    };
    let one = "s3://disks/one.img";
    dump(one).fails(4).says("there are no credentials for it").says("AWS_PROFILE");
    dump("s3://AKIDKEYWAY:c1gna%2Ftur3@disks/one.img").env("AWS_REGION", "eu-central-1").ok().lacks("AKID");
    dump("s3://AKIDKEYWAY:c1gna/tur3@disks/one.img").fails(4).lacks("c1gna").lacks("tur3");
    home.file(".aws/config", "[profile lab]\nregion = eu-central-1\n[profile role]\nrole_arn = arn\n");
    home.file(
        ".aws/credentials",
        "[lab]\naws_access_key_id = AKIDKEYWAY\naws_secret_access_key = c1gnatur3\n",
    );
    dump(one).env("AWS_PROFILE", "lab").ok().says("LUKS header information");
    dump(one).env("AWS_PROFILE", "role").fails(4).says("gets its keys by role_arn");
    dump(one).env("AWS_PROFILE", "other").fails(4).says("there is no profile \"other\"");
    let elsewhere = home.path("keys");
    fs::rename(home.path(".aws/credentials"), &elsewhere).unwrap();
    dump(one).env("AWS_PROFILE", "lab").fails(4).says("no credentials");
    dump(one).env("AWS_PROFILE", "lab").env("AWS_SHARED_CREDENTIALS_FILE", &elsewhere).ok();
}

fn number_behind(text: &str, key: &str) -> u32 {
    let rest = &text[text.find(key).unwrap_or_else(|| panic!("{text}")) + key.len()..];
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let (folders, files): (Vec<_>, Vec<_>) = entries
        .flatten()
        .map(|entry| entry.path())
        .partition(|path| path.is_dir() && !path.ends_with("fuse"));
    folders
        .iter()
        .flat_map(|folder| files_below(folder))
        .chain(files.into_iter().filter(|f| f.is_file()))
        .collect()
}
