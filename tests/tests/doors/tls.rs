//! TLS with certtool's certificates: Keyway's client with nbdkit, Keyway's server with libnbd and
//! QEMU, and with each other; untrusted peers are refused.

use keyway_tests::peers::CHEAP_LUKS2_PBKDF2;
use keyway_tests::{Background, Scratch, assert_same_bytes, keyway, need, peer};
use std::fs::{self, read};
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[test]
fn keyway_reads_through_nbdkits_tls() {
    need!("nbdkit", "certtool");
    let scratch = Scratch::new();
    let pki = Pki::new(&scratch, "pki");
    let unknown_ca = Pki::new(&scratch, "unknown-ca");
    let (key, image) = (scratch.file("key", "secret"), scratch.sized("image", 40 << 20));
    keyway("luksFormat -q").arg(&image).arg(&key).args(CHEAP_LUKS2_PBKDF2).ok();
    let port = free_port();
    let run = peer("nbdkit", "-f --tls=require --tls-verify-peer --ipaddr=127.0.0.1")
        .arg(format!("--port={port}"))
        .arg(format!("--tls-certificates={}", pki.path().display()))
        .arg("file")
        .arg(&image);
    let _server = Background::start(&run, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let opens = |host: &str, pki: &Pki, extra: &str| {
        let uri = format!("nbds://{host}:{port}/?tls-certificates={}{extra}", pki.path().display());
        keyway("open --test-passphrase -d").arg(&key).arg(uri)
    };
    opens("localhost", &pki, "").ok();
    opens("127.0.0.1", &pki, "").ok();
    opens("localhost", &pki, "&tls-hostname=disk.example").fails(4).says("not valid for name");
    opens("localhost", &unknown_ca, "").fails(4).says("invalid peer certificate");
    // The server does not trust an unknown authority either.
    opens("localhost", &unknown_ca, "&tls-verify-peer=0").fails(4);
    let clear = format!("nbd://localhost:{port}/");
    keyway("open --test-passphrase -d").arg(&key).arg(clear).fails(4).says("demands TLS: write nbds://");
}

#[test]
fn libnbd_and_qemu_read_through_keyways_tls() {
    need!("nbdinfo", "nbdcopy", "qemu-img", "certtool");
    let scratch = Scratch::new();
    let pki = Pki::new(&scratch, "pki");
    let unknown_ca = Pki::new(&scratch, "unknown-ca");
    let (server, plain) = Served::start(&scratch, "--tls require --tls-verify-peer", Some(&pki));
    let port = server.port;
    let uri = |pki: &Pki| format!("nbds://localhost:{port}/?tls-certificates={}", pki.path().display());

    peer("nbdinfo", "").arg(uri(&pki)).ok().says("with TLS").says("export-size");
    peer("nbdcopy", "").arg(uri(&pki)).arg(scratch.path("copy")).ok();
    assert_same_bytes("nbdcopy", &read(scratch.path("copy")).unwrap()[..plain.len()], "plain", &plain);
    peer("nbdinfo", "").arg(uri(&unknown_ca)).fails(1);
    peer("nbdinfo", "").arg(format!("nbd://localhost:{port}")).fails(1);

    let object = |pki: &Pki| format!("tls-creds-x509,id=tls,endpoint=client,dir={}", pki.path().display());
    let image = format!("driver=nbd,host=localhost,port={port},tls-creds=tls");
    let qemu = |pki: &Pki| {
        let run = peer("qemu-img", "convert -O raw --object").arg(object(pki));
        run.arg("--image-opts").arg(&image).arg(scratch.path("qemu"))
    };
    qemu(&pki).ok();
    assert_same_bytes("qemu", &read(scratch.path("qemu")).unwrap()[..plain.len()], "plain", &plain);
    qemu(&unknown_ca).fails(1);
}

/// A server that requires certificates serves no client without one: not without TLS either,
/// whatever --tls says.
#[test]
fn verified_clients_are_the_only_ones() {
    need!("nbdinfo", "certtool");
    let scratch = Scratch::new();
    let (pki, unknown_ca) = (Pki::new(&scratch, "pki"), Pki::new(&scratch, "unknown-ca"));
    for mode in ["--tls on", "--tls require", ""] {
        let (server, _) = Served::start(&scratch, &format!("{mode} --tls-verify-peer"), Some(&pki));
        let uri = |pki: &Pki| {
            format!("nbds://localhost:{}/?tls-certificates={}", server.port, pki.path().display())
        };
        peer("nbdinfo", "--size").arg(uri(&pki)).ok();
        peer("nbdinfo", "--size").arg(format!("nbd://localhost:{}", server.port)).fails(1).says("TLS");
        peer("nbdinfo", "--size").arg(uri(&unknown_ca)).fails(1);
        fs::remove_file(scratch.path("volume")).unwrap();
    }
    let image = scratch.sized("image", 1 << 20);
    let serve = |line: &str| {
        keyway("serve --port 0").args(line).arg("--tls-certificates").arg(pki.path()).arg(&image)
    };
    serve("--tls off --tls-verify-peer").fails(1).says("contradict");
    // If clients may connect without TLS, the network can eavesdrop.
    serve("--tls on --address 0.0.0.0").fails(1).says("without TLS");
}

#[test]
fn keyway_reads_through_keyways_tls_and_writes() {
    need!("certtool", "nbdinfo");
    let scratch = Scratch::new();
    let pki = Pki::new(&scratch, "pki");
    let (server, _) = Served::start(&scratch, "--tls on", Some(&pki));
    let uri = format!("nbds://localhost:{}/?tls-certificates={}", server.port, pki.path().display());
    let (key, image) = (scratch.file("inner", "inner"), scratch.random_file("content", 52, 2_000_001));
    // A volume in a volume.
    keyway("luksFormat -q --luks2-keyslots-size 256K").arg(&uri).arg(&key).args(CHEAP_LUKS2_PBKDF2).ok();
    keyway("write --offset 77 -d").arg(&key).arg(&uri).arg(&image).ok();
    let back = keyway("read --offset 77 --length 2000001 -d").arg(&key).arg(&uri).ok();
    assert_same_bytes("read", &back.stdout, "written", &read(&image).unwrap());
    // "on" accepts both.
    peer("nbdinfo", "").arg(format!("nbd://localhost:{}/", server.port)).ok().says("without TLS");
}

#[test]
fn a_server_without_what_it_needs_says_so() {
    let scratch = Scratch::new();
    let image = scratch.sized("image", 1 << 20);
    let refuses = |line: &str, text: &str| {
        keyway("serve --port 0").args(line).arg(&image).fails(1).says(text);
    };
    refuses("--tls require", "--tls needs --tls-certificates");
    refuses("--tls-verify-peer", "--tls-verify-peer needs --tls-certificates");
    refuses("--tls-psk keys", "use certificates");
    keyway("serve --port 0 --tls-certificates /nowhere")
        .arg(&image)
        .fails(4)
        .says("/nowhere/server-cert.pem does not exist");
    let empty = scratch.path("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(empty.join("server-cert.pem"), "nothing").unwrap();
    keyway("serve --port 0 --tls-certificates")
        .arg(&empty)
        .arg(&image)
        .fails(1)
        .says("contains no PEM block of the expected kind");
}

/// `keyway serve` on a TCP port, with a volume of random content.
struct Served {
    port: u16,
    _program: Background,
}

impl Served {
    fn start(scratch: &Scratch, options: &str, pki: Option<&Pki>) -> (Self, Vec<u8>) {
        let (key, plain) = (scratch.file("key", "secret"), scratch.random_file("plain", 51, 8 << 20));
        let volume = scratch.path("volume");
        keyway("build -q -d").arg(&key).args(CHEAP_LUKS2_PBKDF2).arg(&plain).arg(&volume).ok();
        let port = free_port();
        let mut run = keyway("serve -d").arg(&key).arg(&volume).arg(format!("--port={port}")).args(options);
        if let Some(pki) = pki {
            run = run.arg("--tls-certificates").arg(pki.path());
        }
        let program = Background::start(&run, || TcpStream::connect(("127.0.0.1", port)).is_ok());
        (Self { port, _program: program }, read(&plain).unwrap())
    }
}

/// A CA, and certificates that it has signed for a server on this machine and for a client.
pub(crate) struct Pki(PathBuf);

impl Pki {
    pub(crate) fn new(scratch: &Scratch, name: &str) -> Self {
        let pki = Self(scratch.path(name));
        fs::create_dir(pki.path()).unwrap();
        pki.certificate("ca", "cn = Keyway tests\nca\ncert_signing_key\n");
        pki.certificate(
            "server",
            "cn = server\ndns_name = localhost\nip_address = 127.0.0.1\ntls_www_server\nsigning_key\n",
        );
        pki.certificate("client", "cn = client\ntls_www_client\nsigning_key\n");
        pki
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn certificate(&self, who: &str, template: &str) {
        let file = |kind: &str| self.0.join(format!("{who}-{kind}"));
        fs::write(file("template"), template).unwrap();
        let make = |line: &str| peer("certtool", line).arg("--outfile");
        make("--generate-privkey --key-type ecdsa").arg(file("key.pem")).ok();
        let signed = match who {
            "ca" => make("--generate-self-signed"),
            _ => make("--generate-certificate"),
        };
        let signed = signed.arg(file("cert.pem")).arg("--load-privkey").arg(file("key.pem"));
        let signed = signed.arg("--template").arg(file("template"));
        match who {
            "ca" => signed.ok(),
            _ => signed
                .arg("--load-ca-certificate")
                .arg(self.0.join("ca-cert.pem"))
                .arg("--load-ca-privkey")
                .arg(self.0.join("ca-key.pem"))
                .ok(),
        };
    }
}

pub(crate) fn free_port() -> u16 {
    // Below the ports that the kernel assigns automatically (from 32768 up): no other process gets
    // the port before it is used. Nor do other tests, this run's or another's at the same time:
    // a socket whose name has the number is theirs for as long as they run.
    static OWN: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
    let start = std::process::id() % 10_000;
    let mut ports = (0..10_000).map(|step| 20_000 + ((start + step) % 10_000) as u16);
    let is_ours = |port: &u16| {
        let name = SocketAddr::from_abstract_name(format!("keyway-test-port-{port}")).expect("a short name");
        let Ok(own) = UnixListener::bind_addr(&name) else { return false };
        let is_free = TcpListener::bind(("127.0.0.1", *port)).is_ok();
        OWN.lock().expect("no panic").push(own);
        is_free
    };
    ports.find(is_ours).expect("a free port")
}
