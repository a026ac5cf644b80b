//! Results that nobody measured, with everything in them that a page can show, from machines with hostile names too.

use crate::results::*;

/// A desk's machine with everything; its name tries to be markup.
pub(crate) fn workstation() -> Results {
    let mut rows = ciphers(1.0, 8, CIPHERS.len());
    rows.extend(impossible());
    rows.extend(kdfs(1.0));
    rows.extend(disks());
    rows.extend(drivers());
    let warnings = vec![
        "The frequency governor is powersave: the clock moves. \"performance\" makes figures steadier."
            .to_owned(),
        "<img src=x onerror=alert(1)> ran beside it".to_owned(),
    ];
    results("work<script>alert(1)</script>station \u{202e}gnirts", 8, rows, warnings)
}

/// A server with less to say.
pub(crate) fn server() -> Results {
    let mut rows = ciphers(0.6, 64, 4);
    rows.extend(kdfs(0.7));
    results("server & co", 64, rows, Vec::new())
}

/// A smaller machine with ciphers and key derivation only.
pub(crate) fn board() -> Results {
    let mut rows = ciphers(0.07, 4, 5);
    rows.extend(kdfs(0.1));
    let mut board = results("board", 4, rows, Vec::new());
    board.machine.cpu = "Cortex-A72".into();
    board.machine.architecture = "aarch64".into();
    board.machine.features = ["aes", "pmull", "sha1", "sha2"].map(str::to_owned).into();
    board.machine.aes_code = "aes-ce".into();
    board.machine.virtualisation = None;
    board.started = "2026-11-25T08:00:00Z".into();
    board.complete = false;
    board
}

fn results(name: &str, cpus: u32, rows: Vec<Row>, warnings: Vec<String>) -> Results {
    Results {
        schema: SCHEMA.into(),
        started: "2026-11-22T02:49:15Z".into(),
        versions: [("keyway", "0.1.0"), ("openssl", "3.0.17"), ("fio", "3.33")]
            .map(|(name, version)| (name.to_owned(), version.to_owned()))
            .into(),
        machine: Machine {
            name: name.into(),
            cpu: "Example 9 \"7950\" 16-Core Processor".into(),
            architecture: "x86_64".into(),
            cpus,
            features: ["aes", "avx2", "avx512f", "vaes", "vpclmulqdq"].map(str::to_owned).into(),
            aes_code: "vaes-avx512".into(),
            governor: Some("powersave".into()),
            frequency: Some(Frequency { lowest_mhz: 4480.0, highest_mhz: 4510.0 }),
            load: [0.12, 0.3, 0.25],
            memory_mib: 31_900,
            kernel: "Linux 6.1.0-40-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.153-1".into(),
            system: Some("Debian GNU/Linux 12 (bookworm)".into()),
            virtualisation: Some("a virtual machine (KVM)".into()),
        },
        settings: Settings {
            suite: "default".into(),
            filters: vec!["--compare=openssl".into()],
            time_seconds: Some(300.0),
            precision: 0.01,
            least_samples: 15,
            most_samples: 301,
            sample_seconds: 0.005,
            clock_seconds: 2.5e-8,
        },
        rows,
        warnings,
        complete: true,
    }
}

/// Fifteen samples around a middle, spread over `spread` of it, with a tail below.
fn samples(middle: f64, spread: f64) -> Vec<f64> {
    const SHAPE: [f64; 15] =
        [0.1, -0.3, 0.4, 0.0, -0.1, 0.3, -0.9, 0.2, -0.2, 0.5, 0.05, -0.4, 0.15, -3.0, -0.05];
    SHAPE.map(|at| (middle * (1.0 + spread * at)).round()).into()
}

fn measured(unit: Unit, middle: f64, spread: f64) -> Measured {
    Measured {
        unit,
        samples: samples(middle, spread),
        sample_seconds: 0.005,
        checked: "portable code, before and after each sample".into(),
        code: Some("vaes-avx512".into()),
        latency: None,
        cpu_seconds_per_gb: None,
        notes: Vec::new(),
    }
}

/// Specification, key, MiB/s of encryption, how much faster decryption is.
const CIPHERS: [(&str, u32, f64, f64); 14] = [
    ("aes-xts-plain64", 512, 9200.0, 1.01),
    ("aes-xts-plain64", 256, 11_400.0, 1.0),
    ("aes-ctr-plain64", 256, 12_800.0, 1.0),
    ("aes-hctr2-plain64", 256, 4300.0, 1.0),
    ("aes-cbc-essiv:sha256", 128, 1340.0, 7.4),
    ("aes-cbc-essiv:sha256", 256, 960.0, 7.9),
    ("xchacha12,aes-adiantum-plain64", 256, 3900.0, 0.99),
    ("xchacha20,aes-adiantum-plain64", 256, 2900.0, 1.0),
    ("serpent-xts-plain64", 256, 1460.0, 1.02),
    ("serpent-xts-plain64", 512, 1455.0, 1.02),
    ("twofish-xts-plain64", 256, 880.0, 1.05),
    ("twofish-xts-plain64", 512, 878.0, 1.05),
    ("camellia-xts-plain64", 512, 690.0, 1.0),
    ("twofish-cbc-plain64", 128, 260.0, 2.9),
];

fn ciphers(speed: f64, cpus: u32, how_many: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (spec, key_bits, middle, back) in CIPHERS.into_iter().take(how_many) {
        for (sector_size, message, part) in [(512, 65_536, 0.8), (4096, 65_536, 1.0)] {
            for (direction, factor) in [(Direction::Encrypt, 1.0), (Direction::Decrypt, back)] {
                for (threads, times) in
                    [(1, 1.0), (cpus / 2, 0.49 * f64::from(cpus)), (cpus, 0.83 * f64::from(cpus))]
                {
                    let case = CipherCase {
                        by: By::Keyway,
                        spec: spec.into(),
                        key_bits,
                        sector_size,
                        message,
                        direction,
                        threads,
                        default: (spec, key_bits) == ("aes-xts-plain64", 512),
                    };
                    let rate = middle * part * factor * times * speed * 1_048_576.0;
                    let spread = if spec.starts_with("serpent") { 0.02 } else { 0.004 };
                    rows.push(Row::new(
                        Case::Cipher(case.clone()),
                        Outcome::Measured(measured(Unit::BytesPerSecond, rate, spread)),
                    ));
                    if case.default && threads == 1 {
                        let peer = CipherCase { by: By::Peer("openssl".into()), ..case };
                        let slower = measured(Unit::BytesPerSecond, rate * 0.55, spread);
                        rows.push(Row::new(Case::Cipher(peer), Outcome::Measured(slower)));
                    }
                }
            }
        }
    }
    rows
}

fn impossible() -> Vec<Row> {
    let case = |spec: &str, key_bits| {
        Case::Cipher(CipherCase {
            by: By::Keyway,
            spec: spec.into(),
            key_bits,
            sector_size: 512,
            message: 512,
            direction: Direction::Encrypt,
            threads: 1,
            default: false,
        })
    };
    let refused = |reason: &str| Outcome::Impossible { reason: reason.into() };
    vec![
        Row::new(
            case("blowfish-xts-plain64", 256),
            refused("xts needs a cipher with 128-bit blocks, blowfish's are 64 bits"),
        ),
        Row::new(case("aes-xts-plain64", 128), refused("xts takes two keys: 256, 384 or 512 bits")),
        Row::new(case("aes-xts-plain64", 196), refused("\"196\" bits are no AES key & never were <b>")),
        Row::new(
            case("aes-lrw-benbi", 384),
            Outcome::NotMeasured {
                reason: "AF_ALG is closed to this user".into(),
                missing_right: Some("CAP_SYS_ADMIN".into()),
            },
        ),
    ]
}

fn kdfs(speed: f64) -> Vec<Row> {
    let case = |kdf: &str, hash: Option<&str>, memory_kib, lanes, iter_time_ms| {
        Case::Kdf(KdfCase {
            by: By::Keyway,
            kdf: kdf.into(),
            hash: hash.map(str::to_owned),
            memory_kib,
            lanes,
            key_bits: 512,
            iter_time_ms,
            default: (kdf, memory_kib, lanes, iter_time_ms) == ("argon2id", Some(1 << 20), 4, None),
        })
    };
    let of = |case: Case, unit, middle: f64| {
        Row::new(
            case,
            Outcome::Measured(measured(
                unit,
                middle,
                if unit == Unit::PassesPerSecond { 0.0 } else { 0.003 },
            )),
        )
    };
    let mut rows = Vec::new();
    for (hash, rate) in
        [("sha1", 9.1e6), ("sha256", 5.6e6), ("sha512", 2.4e6), ("ripemd160", 1.9e6), ("whirlpool", 0.9e6)]
    {
        rows.push(of(case("pbkdf2", Some(hash), None, 1, None), Unit::IterationsPerSecond, rate * speed));
        rows.push(of(
            case("pbkdf2", Some(hash), None, 8, None),
            Unit::IterationsPerSecond,
            rate * speed * 7.6,
        ));
    }
    for (kdf, lanes, passes) in [("argon2i", 4, 4.0), ("argon2id", 4, 5.0), ("argon2id", 1, 2.0)] {
        rows.push(of(case(kdf, None, Some(1 << 20), lanes, None), Unit::PassesPerSecond, passes));
    }
    rows.push(of(case("pbkdf2", Some("sha256"), None, 1, Some(2000)), Unit::Cost, 1.12e7 * speed));
    rows.push(of(case("argon2id", None, Some(1 << 20), 4, Some(2000)), Unit::Cost, 9.0));
    rows
}

fn disks() -> Vec<Row> {
    let encrypted = Some("aes-xts-plain64".to_owned());
    let paths = [
        (By::Plain, None, None, 1.0, 1.0),
        (By::Keyway, encrypted.clone(), None, 0.93, 1.15),
        (By::DmCrypt, encrypted.clone(), None, 0.81, 1.5),
        (By::DmCrypt, encrypted, Some("no_read_workqueue"), 0.9, 1.2),
    ];
    let mut rows = Vec::new();
    for (by, spec, flag, part, slower) in paths {
        let case = |pattern, block, depth, total: Option<u64>| DiskCase {
            by: by.clone(),
            medium: "brd".into(),
            spec: spec.clone(),
            key_bits: spec.as_ref().map(|_| 512),
            sector_size: spec.as_ref().map(|_| 4096),
            pattern,
            block,
            depth,
            total,
            flags: flag.map(str::to_owned).into_iter().collect(),
            engine: "fio".into(),
        };
        for pattern in [Pattern::SequentialRead, Pattern::SequentialWrite] {
            for (number, mib) in [10_u64, 20, 50, 100, 200, 500, 1000, 2000].into_iter().enumerate() {
                let rate = 3.1e9 * part * (1.0 - 0.5_f64.powi(number as i32 + 1) * 0.6);
                let rate = if pattern == Pattern::SequentialWrite { rate * 0.7 } else { rate };
                let mut it = measured(Unit::BytesPerSecond, rate, 0.02);
                it.cpu_seconds_per_gb = Some(if by == By::Plain { 0.08 } else { 0.19 * slower });
                rows.push(Row::new(
                    Case::Disk(case(pattern, 1 << 20, 8, Some(mib << 20))),
                    Outcome::Measured(it),
                ));
            }
        }
        for pattern in [Pattern::RandomRead, Pattern::RandomWrite, Pattern::RandomMixed] {
            for (depth, rate, time) in [(1, 92_000.0, 9.0), (32, 410_000.0, 70.0)] {
                let mut it = measured(Unit::RequestsPerSecond, rate * part / slower.sqrt(), 0.01);
                let points = [
                    (1.0, 0.8),
                    (10.0, 0.9),
                    (50.0, 1.0),
                    (90.0, 1.3),
                    (99.0, 2.1),
                    (99.9, 7.5),
                    (100.0, 31.0),
                ];
                it.latency = Some(
                    points
                        .map(|(percent, times)| Latency { percent, microseconds: time * times * slower })
                        .into(),
                );
                it.notes = vec!["the cipher is the limit: model 91000 requests/s".into()];
                rows.push(Row::new(Case::Disk(case(pattern, 4096, depth, None)), Outcome::Measured(it)));
            }
        }
    }
    rows
}

/// A run over storage as root with fio: Keyway's own path over a file, dm-crypt over a loop device.
pub(crate) fn storage() -> Results {
    let mib = 1_048_576.0;
    let spec = "aes-xts-plain64".to_owned();
    let mut rows = Vec::new();
    for sector_size in [512, 4096] {
        for message in [1 << 20, 4096] {
            for (direction, rate) in [(Direction::Encrypt, 1520.0), (Direction::Decrypt, 1610.0)] {
                let rate = if sector_size == 512 { rate * 0.86 } else { rate };
                let case = CipherCase {
                    by: By::Keyway,
                    spec: spec.clone(),
                    key_bits: 512,
                    sector_size,
                    message,
                    direction,
                    threads: 1,
                    default: true,
                };
                let outcome = Outcome::Measured(measured(Unit::BytesPerSecond, rate * mib, 0.004));
                rows.push(Row::new(Case::Cipher(case), outcome));
            }
        }
    }
    let no_queues = ["no_read_workqueue", "no_write_workqueue"].map(str::to_owned);
    let dm_crypt = [(512, false, 0.66), (512, true, 0.71), (4096, false, 0.74), (4096, true, 0.78)];
    let mut paths = vec![(By::Plain, "file", "keyway", None, Vec::new(), 1.0)];
    paths.extend(
        [(512, 0.77), (4096, 0.82)]
            .map(|(size, part)| (By::Keyway, "file", "keyway", Some(size), Vec::new(), part)),
    );
    paths.push((By::Plain, "loop", "fio", None, Vec::new(), 0.97));
    paths.extend(dm_crypt.map(|(size, none, part)| {
        let flags = if none { no_queues.to_vec() } else { Vec::new() };
        (By::DmCrypt, "loop", "fio", Some(size), flags, part)
    }));
    for workload in crate::disk::workload::all() {
        for (by, medium, engine, sector_size, flags, part) in &paths {
            rows.push(on_path(workload, (by, medium, engine), *sector_size, flags, *part));
        }
    }
    let warnings = vec!["This is a virtual machine (KVM): its neighbours' work is not seen here.".to_owned()];
    let mut results = results("laptop", 4, rows, warnings);
    results.versions.remove("openssl");
    results.settings.suite = "disk".into();
    results.settings.filters =
        ["cipher=aes-xts-plain64", "key-size=512", "sector-size=512", "sector-size=4096"]
            .map(|filter| format!("--{filter}"))
            .into();
    results.settings.filters.extend(["--target=/mnt/usb", "--region=1048576000"].map(str::to_owned));
    results
}

fn on_path(
    workload: crate::disk::workload::Workload,
    (by, medium, engine): (&By, &str, &str),
    sector_size: Option<u32>,
    flags: &[String],
    part: f64,
) -> Row {
    use crate::disk::workload::Bound;
    let mut flags = flags.to_vec();
    if workload.bound == Bound::Sustained {
        flags.push(crate::disk::path::SUSTAINED.into());
    }
    let case = Case::Disk(DiskCase {
        by: by.clone(),
        medium: medium.into(),
        spec: sector_size.map(|_| "aes-xts-plain64".into()),
        key_bits: sector_size.map(|_| 512),
        sector_size,
        pattern: workload.pattern,
        block: workload.block,
        depth: workload.depth,
        total: workload.total(),
        flags,
        engine: engine.into(),
    });
    if workload.total() == Some(2000 << 20) {
        let reason = "/mnt/usb has room for 1000 MiB".to_owned();
        return Row::new(case, Outcome::NotMeasured { reason, missing_right: None });
    }
    let writes = if workload.writes() { 0.6 } else { 1.0 };
    let (unit, rate, time) = match (workload.is_sequential(), workload.depth) {
        (true, _) => {
            let size = workload.total().map_or(1.0, |total| total as f64 / (total as f64 + 8e6));
            (Unit::BytesPerSecond, 5.2e8 * part * writes * size, 1900.0)
        }
        (false, 1) => (Unit::RequestsPerSecond, 11_800.0 * part.sqrt() * writes, 82.0),
        (false, _) => (Unit::RequestsPerSecond, 83_000.0 * part * writes, 380.0),
    };
    let mut it = measured(unit, rate, 0.03);
    let shape = [0.62, 0.8, 1.0, 1.45, 3.2, 11.0, 48.0];
    let points = crate::disk::latency::PERCENTS.into_iter().zip(shape);
    it.latency = Some(
        points
            .map(|(percent, times)| Latency { percent, microseconds: time * times / (part * writes) })
            .collect(),
    );
    it.cpu_seconds_per_gb = Some(if sector_size.is_none() { 0.21 } else { 0.35 + 0.45 / part });
    it.notes = match workload.writes() {
        true if engine == "fio" => vec!["fio's time ends before the final flush".to_owned()],
        true => vec!["the time has the final flush in it".to_owned()],
        false => Vec::new(),
    };
    Row::new(case, Outcome::Measured(it))
}

fn drivers() -> Vec<Row> {
    let case = |driver: &str, priority, direction| {
        Case::Driver(DriverCase {
            algorithm: "xts(aes)".into(),
            driver: driver.into(),
            priority,
            key_bits: 512,
            message: 4096,
            direction,
        })
    };
    let of = |case, middle| Row::new(case, Outcome::Measured(measured(Unit::BytesPerSecond, middle, 0.01)));
    let wrong = Wrong::first_difference(&[1, 2, 3], &[1, 9, 3], "chained IV")
        .map(|wrong| Wrong { remedy: Some("blacklist caam_jr".into()), ..wrong });
    let mut rows = vec![
        of(case("xts-aes-vaes-avx512", 800, Direction::Encrypt), 5.9e9),
        of(case("xts-aes-vaes-avx512", 800, Direction::Decrypt), 6.0e9),
        of(case("xts(ecb(aes-generic))", 100, Direction::Encrypt), 2.1e8),
        of(case("xts(ecb(aes-generic))", 100, Direction::Decrypt), 2.0e8),
    ];
    rows.extend(
        wrong.map(|wrong| Row::new(case("xts-aes-caam", 3000, Direction::Encrypt), Outcome::Wrong(wrong))),
    );
    rows
}
