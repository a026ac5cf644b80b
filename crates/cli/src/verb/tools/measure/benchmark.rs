//! `benchmark`: the speed of key derivation and ciphers on this machine, in this process, in
//! cryptsetup's layout; additional columns show the kernel's ciphers if AF_ALG gives access to
//! them.

use crate::args::{self, Args, Command, Example, Group, Operand, Opt, Request, Topic, shared};
use crate::output::document;
use crate::output::failure::{Exit, Failure, Result};
use crate::output::stdio;
use keyway::kdf_cost::{self, DEFAULT_HASH, DEFAULT_LANES, DEFAULT_MEMORY_KIB, DEFAULT_TIME, KdfFunction};
use keyway_crypto::kdf::Argon2Variant;
use keyway_crypto::{CipherSpec, Cpu, Hash, Secret, SectorCipher, SectorSize};
use keyway_format::json::{Object, Value};
use keyway_kernel::Missing;
use keyway_kernel::af_alg::{self, Direction};
use std::cell::OnceCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// `keyway benchmark`.
pub(crate) static COMMAND: Command = Command {
    name: "benchmark",
    aliases: &[],
    group: Group::Cryptsetup(Topic::Questions),
    operands: &[] as &[Operand],
    about: "Measure key derivation and ciphers.",
    man: "Everything runs in memory, in this process, on one thread (Argon2 on one per lane), on the largest \
          sectors that the IV takes (4096 bytes, or 512 for lmk and tcw); storage is not involved. Key derivations count \
          the CPU's time, so that other programs do not disturb them. Without options, \
          the usual hashes and ciphers are measured; --hash or --pbkdf measures one key derivation, --cipher with \
          --key-size one cipher.\n\nIf the kernel offers AF_ALG, two more columns show its ciphers, with requests of \
          64 KiB under one IV, as cryptsetup's benchmark measures them; N/A marks what it lacks. Otherwise the \
          layout is cryptsetup's. Asking makes the kernel load modules. Output is not checked here: keyway bench and \
          keyway xray check it.\n\nJSON is an array of objects. Ciphers have \"encrypt_bytes_per_second\" and \
          \"decrypt_bytes_per_second\"; then \"kernel_encrypt_bytes_per_second\" and \
          \"kernel_decrypt_bytes_per_second\", or \"kernel_unavailable\" with what is missing.",
    options: &[&[
        &shared::CIPHER,
        &shared::KEY_SIZE,
        &shared::HASH,
        &shared::PBKDF,
        &shared::ITER_TIME,
        &shared::PBKDF_MEMORY,
        &shared::PBKDF_PARALLEL,
        &shared::JSON,
    ]],
    rules: &[],
    examples: &[
        Example { line: "keyway benchmark", does: "The usual hashes and ciphers." },
        Example { line: "keyway benchmark -c aes-xts-plain64 -s 512", does: "One cipher." },
    ],
    risks: &[],
    run: args::run::<Benchmark>,
};

/// cryptsetup's list of ciphers, with key sizes in bits.
const CIPHERS: &[(&str, u32)] = &[
    ("aes-cbc", 128),
    ("serpent-cbc", 128),
    ("twofish-cbc", 128),
    ("aes-cbc", 256),
    ("serpent-cbc", 256),
    ("twofish-cbc", 256),
    ("aes-xts", 256),
    ("serpent-xts", 256),
    ("twofish-xts", 256),
    ("aes-xts", 512),
    ("serpent-xts", 512),
    ("twofish-xts", 512),
];
/// cryptsetup's list of hashes.
const HASHES: &[&str] = &["sha1", "sha256", "sha512", "ripemd160", "whirlpool"];
/// The number of bytes encrypted in one call; fits into the second-level cache.
const RUN: usize = 1 << 20;
/// How long to measure each direction of a cipher.
const CIPHER_TIME: Duration = Duration::from_millis(250);
/// cryptsetup's default key size in bits.
const DEFAULT_KEY_BITS: u32 = CipherSpec::DEFAULT_CIPHER_KEY_BITS;

struct Benchmark {
    what: What,
    key_bits: u32,
    argon2: Argon2,
    json: bool,
}

/// What to measure.
enum What {
    /// PBKDF2 with this hash.
    Pbkdf2(String),
    /// This variant of Argon2.
    Argon2(Argon2Variant),
    Cipher(String),
    /// The usual hashes and ciphers.
    Everything,
}

/// The cost limits of Argon2.
#[derive(Debug, Clone, Copy)]
struct Argon2 {
    memory_kib: u32,
    lanes: u32,
    time: Duration,
}

impl Request for Benchmark {
    fn from_args(args: &Args) -> Result<Self> {
        let text = |option: &Opt| args.text(option).map(str::to_owned);
        let function = args.text(&shared::PBKDF).map(KdfFunction::parse).transpose()?;
        let what = match (function, text(&shared::HASH), text(&shared::CIPHER)) {
            (None, Some(hash), _) => What::Pbkdf2(hash),
            (Some(KdfFunction::Pbkdf2), hash, _) => {
                What::Pbkdf2(hash.unwrap_or_else(|| DEFAULT_HASH.to_owned()))
            }
            (Some(KdfFunction::Argon2(variant)), ..) => What::Argon2(variant),
            (None, None, Some(cipher)) => What::Cipher(cipher),
            (None, None, None) => What::Everything,
        };
        let time = args.number(&shared::ITER_TIME).filter(|ms| *ms > 0);
        let argon2 = Argon2 {
            memory_kib: args.number32(&shared::PBKDF_MEMORY).unwrap_or(DEFAULT_MEMORY_KIB),
            lanes: args.number32(&shared::PBKDF_PARALLEL).unwrap_or(DEFAULT_LANES),
            time: time.map_or(DEFAULT_TIME, Duration::from_millis),
        };
        let key_bits = args.number32(&shared::KEY_SIZE).unwrap_or(DEFAULT_KEY_BITS);
        Ok(Self { what, key_bits, argon2, json: args.given(&shared::JSON) })
    }

    fn run(self) -> Result<()> {
        let Self { what, key_bits, argon2, json } = self;
        let mut report = Report { json, cipher_header: false, kernel: OnceCell::new(), rows: Vec::new() };
        report.line("# Tests are approximate using memory only (no storage IO).")?;
        let outcome = match what {
            What::Pbkdf2(hash) => report.pbkdf2(&hash, key_bits),
            What::Argon2(variant) => report.argon2(variant, argon2, key_bits),
            What::Cipher(cipher) => report.cipher(&cipher, key_bits),
            What::Everything => report.everything(argon2, key_bits),
        };
        if report.json {
            let rows = Value::Array(std::mem::take(&mut report.rows));
            document::print(document::document().with("rows", rows))?;
        }
        outcome
    }
}

/// Prints a row as soon as it is measured, or collects rows for JSON.
struct Report {
    json: bool,
    cipher_header: bool,
    /// Whether the kernel's ciphers are available; determined only when ciphers are measured.
    kernel: OnceCell<std::result::Result<(), Missing>>,
    rows: Vec<Value>,
}

impl Report {
    fn everything(&mut self, argon2: Argon2, key_bits: u32) -> Result<()> {
        for hash in HASHES {
            // A row that cannot be measured shows N/A; the other rows are measured all the same.
            let _ = self.pbkdf2(hash, key_bits);
        }
        for variant in [Argon2Variant::Argon2i, Argon2Variant::Argon2id] {
            self.argon2(variant, argon2, key_bits)?;
        }
        for (cipher, bits) in CIPHERS {
            self.usual_cipher(cipher, *bits)?;
        }
        Ok(())
    }

    fn pbkdf2(&mut self, hash: &str, key_bits: u32) -> Result<()> {
        let rate = Hash::parse(hash)
            .map_err(|error| keyway::Error::from(keyway::parts::Error::from(error)))
            .and_then(|h| kdf_cost::pbkdf2_rate(h, key_bits as usize / 8));
        match rate {
            Ok(rate) => {
                let rate = rate as u64;
                let row = Object::new().with("kdf", "pbkdf2").with("hash", hash).with("key_bits", key_bits);
                self.row(row.with("iterations_per_second", number(rate)));
                self.line(&format!("PBKDF2-{hash:<9} {rate:>7} iterations per second for {key_bits}-bit key"))
            }
            Err(why) => {
                self.row(
                    Object::new()
                        .with("kdf", "pbkdf2")
                        .with("hash", hash)
                        .with("unavailable", why.to_string()),
                );
                self.line(&format!("PBKDF2-{hash:<9}     N/A"))?;
                Err(why.into())
            }
        }
    }

    fn argon2(&mut self, variant: Argon2Variant, asked: Argon2, key_bits: u32) -> Result<()> {
        let name = KdfFunction::Argon2(variant).name();
        let Argon2 { memory_kib, lanes, time } = asked;
        let (cost, took) = kdf_cost::argon2_here(variant, memory_kib, lanes, time)?;
        let row = Object::new().with("kdf", name).with("key_bits", key_bits).with("passes", cost.time);
        let row = row.with("memory_kib", cost.memory_kib).with("lanes", cost.lanes);
        let row = row.with("milliseconds", number(took.as_millis() as u64));
        self.row(row.with("requested_milliseconds", number(time.as_millis() as u64)));
        self.line(&format!(
            "{name:<10} {:>4} iterations, {:>5} memory, {} parallel threads (CPUs) for {key_bits}-bit key (requested {} ms time)",
            cost.time,
            cost.memory_kib,
            cost.lanes,
            time.as_millis()
        ))
    }

    /// `--cipher`: measures the specification as given.
    fn cipher(&mut self, cipher: &str, key_bits: u32) -> Result<()> {
        match measure(&full_spec(cipher), key_bits) {
            Ok(speed) => {
                let name: Vec<&str> = cipher.split('-').take(2).collect();
                let name = name.join("-");
                let width = name.len().max(11);
                let kernel = self.kernel(cipher, key_bits);
                self.row(kernel.row(speed.row(cipher, key_bits)));
                self.header(&format!("#{:1$} Algorithm", "", width - 11))?;
                self.line(&format!("{name:>width$}  {key_bits:>9}b  {speed}{kernel}"))
            }
            Err(why) => Err(Failure::new(
                Exit::Parameters,
                format!("Cipher {cipher} (with {key_bits} bits key) is not available: {why}."),
            )),
        }
    }

    /// Measures a row of the usual list.
    fn usual_cipher(&mut self, cipher: &str, key_bits: u32) -> Result<()> {
        if !std::mem::replace(&mut self.cipher_header, true) {
            self.header("#     Algorithm")?;
        }
        match measure(&full_spec(cipher), key_bits) {
            Ok(speed) => {
                let kernel = self.kernel(cipher, key_bits);
                self.row(kernel.row(speed.row(cipher, key_bits)));
                self.line(&format!("{cipher:>15}  {key_bits:>9}b  {speed}{kernel}"))
            }
            Err(why) => {
                let row = Object::new().with("cipher", cipher).with("key_bits", key_bits);
                self.row(row.with("unavailable", why.to_string()));
                self.line(&format!("{cipher:>15}  {key_bits:>9}b {:>17} {:>17}", "N/A", "N/A"))
            }
        }
    }

    /// Prints the line above ciphers, with the kernel's columns if it has any.
    fn header(&self, first: &str) -> Result<()> {
        let kernel = match self.reachable() {
            Ok(()) => {
                self.line(
                    "# Kernel: through AF_ALG, 64 KiB a request; the other columns are Keyway's code.",
                )?;
                " |  Kernel encrypt |  Kernel decrypt"
            }
            Err(_) => "",
        };
        self.line(&format!("{first} |       Key |      Encryption |      Decryption{kernel}"))
    }

    fn reachable(&self) -> std::result::Result<(), Missing> {
        self.kernel.get_or_init(af_alg::reachable).clone()
    }

    fn kernel(&self, cipher: &str, key_bits: u32) -> InKernel {
        if let Err(missing) = self.reachable() {
            return InKernel { speed: Err(missing), has_columns: false };
        }
        let both = CipherSpec::parse(&full_spec(cipher)).map(|spec| {
            let speed = |direction| keyway_kernel::speed(&spec, key_bits as usize, direction);
            Ok(Speed { encrypt: speed(Direction::Encrypt)?, decrypt: speed(Direction::Decrypt)? })
        });
        InKernel { speed: both.unwrap_or_else(|why| Err(Missing::new(why.to_string()))), has_columns: true }
    }

    fn row(&mut self, row: Object) {
        self.rows.push(row.into());
    }

    fn line(&self, text: &str) -> Result<()> {
        if self.json { Ok(()) } else { stdio::print(&format!("{text}\n")) }
    }
}

fn number(number: u64) -> Value {
    Value::Number(number.to_string())
}

/// Adds the usual IV to "aes-xts". Names of the crypto API, which have dashes of their own, stay as
/// they are.
fn full_spec(cipher: &str) -> String {
    // The kernel's notation for a mode: "capi:xts(aes)" has its IV after the bracket.
    if cipher.starts_with("capi:") && cipher.ends_with(')') {
        return format!("{cipher}-plain64");
    }
    let named_by_parts = !cipher.starts_with("capi:") && cipher.split('-').count() == 2;
    if named_by_parts && !cipher.ends_with("-ecb") { format!("{cipher}-plain64") } else { cipher.to_owned() }
}

/// Bytes per second in each direction.
struct Speed {
    encrypt: f64,
    decrypt: f64,
}

impl Speed {
    fn row(&self, cipher: &str, key_bits: u32) -> Object {
        Object::new()
            .with("cipher", cipher)
            .with("key_bits", key_bits)
            .with("encrypt_bytes_per_second", number(self.encrypt as u64))
            .with("decrypt_bytes_per_second", number(self.decrypt as u64))
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |speed: f64| speed / f64::from(1 << 20);
        write!(f, "{:>10.1} MiB/s  {:>10.1} MiB/s", mib(self.encrypt), mib(self.decrypt))
    }
}

/// The kernel's speed, or why it was not measured.
struct InKernel {
    speed: std::result::Result<Speed, Missing>,
    /// Whether the table has columns for the kernel's ciphers.
    has_columns: bool,
}

impl InKernel {
    fn row(&self, row: Object) -> Object {
        match &self.speed {
            Ok(speed) => row
                .with("kernel_encrypt_bytes_per_second", number(speed.encrypt as u64))
                .with("kernel_decrypt_bytes_per_second", number(speed.decrypt as u64)),
            Err(missing) => row.with("kernel_unavailable", missing.to_string()),
        }
    }
}

/// Formats the kernel's columns.
impl std::fmt::Display for InKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.speed {
            Ok(speed) => write!(f, "  {speed}"),
            Err(_) if self.has_columns => write!(f, " {:>17} {:>17}", "N/A", "N/A"),
            Err(_) => Ok(()),
        }
    }
}

fn measure(spec: &str, key_bits: u32) -> std::result::Result<Speed, keyway_crypto::Error> {
    let spec = CipherSpec::parse(spec)?;
    spec.check_key_bits(key_bits as usize)?;
    // Strict implementations of XTS refuse a key with equal halves, so the key must not be
    // constant.
    let mut key = Secret::zeroed(key_bits as usize / 8);
    for (i, byte) in key.expose_mut().iter_mut().enumerate() {
        *byte = (i as u8).wrapping_mul(37).wrapping_add(11);
    }
    let sector_size = spec.sector_sizes().last().unwrap_or(SectorSize::S512);
    let cipher = SectorCipher::new(&spec, &key, sector_size, Cpu::detect())?;
    let mut data = vec![0x5a; RUN];
    let encrypt = rate(&mut data, |data| cipher.encrypt(0, data));
    let decrypt = rate(&mut data, |data| cipher.decrypt(0, data));
    Ok(Speed { encrypt, decrypt })
}

/// Bytes per second of `work`: the best of five slices, so that other load on the machine does not
/// distort the figure.
fn rate(data: &mut [u8], mut work: impl FnMut(&mut [u8])) -> f64 {
    work(data);
    let slice = CIPHER_TIME / 5;
    let mut best = 0.0_f64;
    for _ in 0..5 {
        let start = Instant::now();
        let mut bytes = 0;
        while start.elapsed() < slice {
            work(black_box(data));
            bytes += data.len();
        }
        best = best.max(bytes as f64 / start.elapsed().as_secs_f64());
    }
    best
}
