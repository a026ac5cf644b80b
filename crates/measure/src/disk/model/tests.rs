//! The model beside the measurement.

use super::super::workload::{self, Workload};
use super::super::{Encryption, Engine, Path, ciphers};
use super::*;
use crate::results::{DriverCase, Measured, Outcome};

fn row(case: Case, unit: Unit, value: f64) -> Row {
    let measured = Measured { unit, samples: vec![value], ..Measured::default() };
    Row::new(case, Outcome::Measured(measured))
}

fn encryption() -> Encryption {
    Encryption { spec: "aes-xts-plain64".into(), key_bits: 512, sector_size: 4096 }
}

/// Random requests of one kind, by one engine, with or without encryption.
fn requests(encryption: Option<Encryption>, engine: Engine, workload: &Workload, value: f64) -> Row {
    row(path(encryption, engine).case(workload), Unit::RequestsPerSecond, value)
}

fn path(encryption: Option<Encryption>, engine: Engine) -> Path {
    let by = if encryption.is_some() { By::Keyway } else { By::Plain };
    let access = Err(Outcome::not_measured(""));
    Path { by, medium: "file".into(), encryption, flags: Vec::new(), engine, access }
}

fn find(pattern: Pattern, depth: u32) -> Workload {
    workload::all().into_iter().find(|one| one.pattern == pattern && one.depth == depth).unwrap()
}

#[test]
fn disk_and_cipher_add_up() {
    let model = |disk, cipher| Model { disk, cipher, whose: Whose::Keyway, measured: 1.0 };
    assert_eq!(model(300.0, 600.0).expected(), 200.0);
    assert_eq!(model(300.0, 600.0).cost(), 1.0 / 3.0);
    let mib = f64::from(1 << 20);
    let model = Model { disk: 300.0 * mib, cipher: 600.0 * mib, whose: Whose::Keyway, measured: 190.0 * mib };
    assert_eq!(
        model.to_string(),
        "c·d/(c+d) = 200.0 MiB/s of c = 600.0 (Keyway's cipher in memory) and d = 300.0 (plain): the measured \
         rate is off by -5 %"
    );
}

#[test]
fn figures_are_those_of_the_same_requests() {
    let mut rows: Vec<Row> = ciphers(&[encryption()])
        .into_iter()
        .map(|listed| {
            let Case::Cipher(case) = &listed.case else { unreachable!() };
            let faster = if case.direction == Direction::Decrypt { 2.0 } else { 1.0 };
            let value = f64::from(case.message) * faster;
            row(listed.case, Unit::BytesPerSecond, value)
        })
        .collect();
    let reads = find(Pattern::RandomRead, 1);
    rows.push(requests(None, Engine::Fio("x".into()), &reads, 5.0));
    let encrypted = requests(Some(encryption()), Engine::BuiltIn, &reads, 1.0);
    let model = beside(&rows, 2, &encrypted).unwrap();
    // A plain row of another engine is used if there is no better one.
    let whose = Whose::Keyway;
    assert_eq!(model, Model { disk: 5.0 * 4096.0, cipher: 2.0 * 4096.0, whose, measured: 4096.0 });
    rows.push(requests(None, Engine::BuiltIn, &reads, 7.0));
    assert_eq!(beside(&rows, 2, &encrypted).unwrap().disk, 7.0 * 4096.0);

    let mixed = find(Pattern::RandomMixed, 32);
    let encrypted = requests(Some(encryption()), Engine::BuiltIn, &mixed, 1.0);
    assert_eq!(beside(&rows, 2, &encrypted), None);
    rows.push(requests(None, Engine::BuiltIn, &mixed, 1.0));
    let cipher = beside(&rows, 2, &encrypted).unwrap().cipher;
    assert!((cipher / (2.0 * 4096.0 / (0.35 + 0.3)) - 1.0).abs() < 1e-9, "{cipher}");
    // The plain row itself has no model.
    assert_eq!(beside(&rows, 2, rows.last().unwrap()), None);
}

#[test]
fn of_dm_crypt_the_kernels_own_cipher_counts() {
    let reads = find(Pattern::RandomRead, 1);
    let encrypted = |by: By| {
        let path = Path { by, ..path(Some(encryption()), Engine::BuiltIn) };
        row(path.case(&reads), Unit::RequestsPerSecond, 1.0)
    };
    let mut rows = vec![requests(None, Engine::BuiltIn, &reads, 5.0)];
    rows.extend(ciphers(&[encryption()]).into_iter().map(|it| row(it.case, Unit::BytesPerSecond, 7000.0)));
    let dm_crypt = |rows: &[Row]| beside(rows, 1, &encrypted(By::DmCrypt)).unwrap();
    assert_eq!((dm_crypt(&rows).cipher, dm_crypt(&rows).whose), (7000.0, Whose::Keyway), "there is no other");
    for (key_bits, direction, speed) in
        [(256, Direction::Decrypt, 1.0), (512, Direction::Encrypt, 2.0), (512, Direction::Decrypt, 9000.0)]
    {
        let case = DriverCase {
            algorithm: "xts(aes)".into(),
            driver: "xts-aes-aesni".into(),
            priority: 401,
            key_bits,
            message: 65_536,
            direction,
        };
        rows.push(row(Case::Driver(case), Unit::BytesPerSecond, speed));
    }
    assert_eq!((dm_crypt(&rows).cipher, dm_crypt(&rows).whose), (9000.0, Whose::Kernel));
    assert!(dm_crypt(&rows).to_string().contains("(the kernel's cipher in memory)"));
    assert_eq!(beside(&rows, 1, &encrypted(By::Keyway)).unwrap().whose, Whose::Keyway);
}
