//! RFC 9106's vectors where they apply, and a second implementation on random costs.

use super::*;
use ::argon2::{Algorithm, Argon2, Params, Version};
use proptest::prelude::*;

fn derive(cpu: Cpu, variant: Argon2Variant, cost: Argon2Cost, out: &mut [u8], threads: usize) {
    argon2_on(cpu, variant, cost, b"password", b"somesalt", out, threads, &Stop::new()).unwrap();
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The reference implementation's own tests (phc-winner-argon2, src/test.c, version 0x13).
#[test]
fn reference_vectors() {
    let vectors = [
        (
            Argon2Variant::Argon2i,
            2,
            1 << 16,
            1,
            "c1628832147d9720c5bd1cfd61367078729f6dfb6f8fea9ff98158e0d7816ed0",
        ),
        (
            Argon2Variant::Argon2i,
            2,
            1 << 8,
            1,
            "89e9029f4637b295beb027056a7336c414fadd43f6b208645281cb214a56452f",
        ),
        (
            Argon2Variant::Argon2i,
            2,
            1 << 8,
            2,
            "4ff5ce2769a1d7f4c8a491df09d41a9fbe90e5eb02155a13e4c01e20cd4eab61",
        ),
        (
            Argon2Variant::Argon2id,
            2,
            1 << 16,
            1,
            "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7",
        ),
        (
            Argon2Variant::Argon2id,
            2,
            1 << 8,
            1,
            "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe",
        ),
        (
            Argon2Variant::Argon2id,
            2,
            1 << 8,
            2,
            "6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037",
        ),
    ];
    for cpu in Cpu::levels() {
        for (variant, time, memory_kib, lanes, expected) in vectors {
            let mut out = [0; 32];
            derive(cpu, variant, Argon2Cost { time, memory_kib, lanes }, &mut out, 2);
            assert_eq!(hex(&out), expected, "{variant:?} t={time} m={memory_kib} p={lanes} on {cpu}");
        }
    }
}

/// RFC 9106, sections 5.2 and 5.3, use a secret and associated data, which LUKS2 does not support:
/// their H_0 is built here, and everything after it is the code under test.
#[test]
fn rfc_9106_vectors() {
    for (variant, expected) in [
        (Argon2Variant::Argon2i, "c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8"),
        (Argon2Variant::Argon2id, "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"),
    ] {
        let cost = Argon2Cost { time: 3, memory_kib: 32, lanes: 4 };
        let shape = Shape::new(variant, cost);
        let number = |value: u32| value.to_le_bytes();
        let mut seed = [0; 64];
        blake2b(
            [
                &number(4)[..],
                &number(32),
                &number(32),
                &number(3),
                &number(0x13),
                &number(shape.type_number()),
                &number(32),
                &[1; 32],
                &number(16),
                &[2; 16],
                &number(8),
                &[3; 8],
                &number(12),
                &[4; 12],
            ],
            &mut seed,
        );
        for cpu in Cpu::levels() {
            let mut out = [0; 32];
            let matrix = Matrix::new(shape).unwrap();
            derive_from(cpu, matrix, &seed, &mut out, 3, &Stop::new(), &|| ()).unwrap();
            assert_eq!(hex(&out), expected, "{variant:?} on {cpu}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn equals_a_second_implementation(
        independent in any::<bool>(),
        time in 1u32..5,
        lanes in 1u32..7,
        more in 0u32..3000,
        password in prop::collection::vec(any::<u8>(), 0..80),
        salt in prop::collection::vec(any::<u8>(), 8..40),
        len in 4usize..200,
        threads in 1usize..5,
    ) {
        let memory_kib = 8 * lanes + more;
        let cost = Argon2Cost { time, memory_kib, lanes };
        let (variant, algorithm) = if independent {
            (Argon2Variant::Argon2i, Algorithm::Argon2i)
        } else {
            (Argon2Variant::Argon2id, Algorithm::Argon2id)
        };
        let mut expected = vec![0; len];
        let params = Params::new(memory_kib, time, lanes, Some(len)).unwrap();
        Argon2::new(algorithm, Version::V0x13, params).hash_password_into(&password, &salt, &mut expected).unwrap();
        for cpu in Cpu::levels() {
            let mut out = vec![0; len];
            argon2_on(cpu, variant, cost, &password, &salt, &mut out, threads, &Stop::new()).unwrap();
            prop_assert_eq!(&out, &expected, "{:?} {:?} on {}", variant, cost, cpu);
        }
    }
}

#[test]
fn costs_outside_the_rfc_are_refused() {
    let refusal = |time, memory_kib, lanes| {
        let cost = Argon2Cost { time, memory_kib, lanes };
        argon2(Argon2Variant::Argon2id, cost, b"", b"", &mut [0; 32], 1, &Stop::new())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(refusal(0, 1024, 1), "Argon2 needs at least one pass");
    assert_eq!(refusal(1, 1024, 0), "Argon2 takes 1 to 16777215 lanes, not 0");
    assert_eq!(refusal(1, 31, 4), "Argon2 with 4 lanes needs at least 32 KiB, not 31");
    assert_eq!(refusal(1, u32::MAX, u32::MAX), "Argon2 takes 1 to 16777215 lanes, not 4294967295");
}

#[test]
fn stops_within_milliseconds() {
    let cost = Argon2Cost { time: 1000, memory_kib: 1 << 16, lanes: 4 };
    for threads in [1, 4] {
        let stop = Stop::new();
        let started = std::time::Instant::now();
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(30));
                stop.stop();
            });
            argon2(Argon2Variant::Argon2id, cost, b"", b"saltsalt", &mut [0; 32], threads, &stop)
        });
        assert_eq!(result, Err(Error::Stopped));
        assert!(started.elapsed().as_millis() < 2000, "stopped after {:?}", started.elapsed());
    }
}

/// Memory as a boot loader provides it: more than needed, and not zeroed.
#[test]
fn lent_memory_gives_the_same_key() {
    let mut bytes = vec![0x5a; 71 << 10];
    let memory = Block::slice_of(&mut bytes[1..]);
    assert!((70..=71).contains(&memory.len()));
    for (memory_kib, lanes) in [(8, 1), (37, 3), (64, 4)] {
        let cost = Argon2Cost { time: 3, memory_kib, lanes };
        let [mut own, mut lent] = [[0; 33]; 2];
        let stop = Stop::new();
        argon2(Argon2Variant::Argon2id, cost, b"password", &[7; 16], &mut own, 2, &stop).unwrap();
        argon2_in(memory, Argon2Variant::Argon2id, cost, b"password", &[7; 16], &mut lent, &stop).unwrap();
        assert_eq!(own, lent, "{cost:?}");
    }
    let cost = Argon2Cost { time: 1, memory_kib: 72, lanes: 1 };
    let mut out = [0; 32];
    let short = argon2_in(memory, Argon2Variant::Argon2i, cost, b"", &[7; 16], &mut out, &Stop::new());
    assert_eq!(short, Err(Error::NoMemory { kib: 72 }));
}
