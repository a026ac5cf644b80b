//! What to expect of an encrypted disk: a byte passes through the disk at d bytes per second and
//! then through the cipher at c. Together that takes 1/d + 1/c, so the throughput is c·d/(c+d). If
//! disk and cipher work in parallel, it can be higher, up to the slower of the two; if the path
//! itself has a cost, it is lower. What encryption does cost is measured, not modelled
//! ([`super::cost`]): the model only says what of it the cipher would explain.

use super::path::is_plain_of;
use crate::results::{By, Case, CipherCase, Direction, DiskCase, Pattern, Row, Unit};
use crate::stats::Summary;
use keyway_crypto::CipherSpec;
use keyway_kernel::Algorithm;
use std::fmt;

/// The expectation for a row. All figures are in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Model {
    /// The same requests without encryption, in the same run.
    pub disk: f64,
    /// The cipher in memory, in the same run, on as many cores as there are requests at once.
    pub cipher: f64,
    /// Whose implementation of the cipher that is.
    pub whose: Whose,
    /// What was measured.
    pub measured: f64,
}

/// Whose implementation of the cipher was measured in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Keyway's, with one call per request.
    Keyway,
    /// The kernel's driver that dm-crypt gets, through AF_ALG.
    Kernel,
}

impl Model {
    /// c·d/(c+d).
    pub fn expected(&self) -> f64 {
        self.cipher * self.disk / (self.cipher + self.disk)
    }

    /// The part of the disk's speed that this leaves out: 0.1 is ten percent.
    pub fn cost(&self) -> f64 {
        self.disk / (self.cipher + self.disk)
    }
}

impl fmt::Display for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keyway => "Keyway's cipher",
            Self::Kernel => "the kernel's cipher",
        })
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [expected, cipher, disk] =
            [self.expected(), self.cipher, self.disk].map(|speed| speed / f64::from(1 << 20));
        let whose = self.whose;
        let off = 100.0 * (self.measured / self.expected() - 1.0);
        write!(
            f,
            "c·d/(c+d) = {expected:.1} MiB/s of c = {cipher:.1} ({whose} in memory) and d = {disk:.1} (plain): \
             the measured rate is off by {off:+.0} %"
        )
    }
}

/// The expectation for an encrypted row, from the plain row and the cipher's rows of the
/// same run; `None` where one of them is missing.
pub fn beside(rows: &[Row], cpus: u32, row: &Row) -> Option<Model> {
    let Case::Disk(case) = &row.case else { return None };
    let encrypted = case.spec.is_some();
    let plain = rows.iter().find(|other| is_plain(other, case, true));
    let plain = plain.or_else(|| rows.iter().find(|other| is_plain(other, case, false)));
    let (cipher, whose) = cipher(rows, case)?;
    let model = Model {
        disk: bytes_per_second(plain?)?,
        cipher: cipher * f64::from(case.depth.min(cpus.max(1))),
        whose,
        measured: bytes_per_second(row)?,
    };
    encrypted.then_some(model)
}

/// Whether `other` is the same case without encryption.
fn is_plain(other: &Row, case: &DiskCase, same_engine: bool) -> bool {
    let Case::Disk(plain) = &other.case else { return false };
    let engine = if same_engine { &case.engine } else { &plain.engine };
    is_plain_of(plain, &DiskCase { engine: engine.clone(), ..case.clone() })
}

/// The cipher in memory, on one core: for dm-crypt the kernel's, if it was measured; otherwise
/// Keyway's over requests of that size.
fn cipher(rows: &[Row], case: &DiskCase) -> Option<(f64, Whose)> {
    let speed =
        |is_it: &dyn Fn(&Case) -> bool| rows.iter().filter(|row| is_it(&row.case)).find_map(bytes_per_second);
    let spec = case.spec.as_ref().filter(|_| case.by == By::DmCrypt);
    let spec = spec.and_then(|spec| CipherSpec::parse(spec).ok());
    let algorithm = spec.map(|spec| Algorithm::of_spec(&spec).to_string());
    let of_kernel = |direction| {
        let wanted = (algorithm.as_ref(), case.key_bits, direction);
        speed(
            &|other| matches!(other, Case::Driver(it) if (Some(&it.algorithm), Some(it.key_bits), it.direction) == wanted),
        )
    };
    let of_keyway = |direction| {
        speed(&|other| matches!(other, Case::Cipher(cipher) if is_cipher(cipher, case, direction)))
    };
    let kernel = either_way(case.pattern, of_kernel).map(|speed| (speed, Whose::Kernel));
    kernel.or_else(|| Some((either_way(case.pattern, of_keyway)?, Whose::Keyway)))
}

/// Combines encryption and decryption speed according to the requests' directions.
fn either_way(pattern: Pattern, speed: impl Fn(Direction) -> Option<f64>) -> Option<f64> {
    match pattern {
        Pattern::SequentialRead | Pattern::RandomRead => speed(Direction::Decrypt),
        Pattern::SequentialWrite | Pattern::RandomWrite => speed(Direction::Encrypt),
        Pattern::RandomMixed => {
            Some(1.0 / (0.7 / speed(Direction::Decrypt)? + 0.3 / speed(Direction::Encrypt)?))
        }
    }
}

fn is_cipher(cipher: &CipherCase, case: &DiskCase, direction: Direction) -> bool {
    cipher.by == By::Keyway
        && cipher.threads == 1
        && cipher.direction == direction
        && cipher.message == case.block
        && Some(&cipher.spec) == case.spec.as_ref()
        && (Some(cipher.key_bits), Some(cipher.sector_size)) == (case.key_bits, case.sector_size)
}

/// The row's median.
fn bytes_per_second(row: &Row) -> Option<f64> {
    let measured = row.measured()?;
    let median = Summary::of(measured)?.median;
    match (measured.unit, &row.case) {
        (Unit::RequestsPerSecond, Case::Disk(case)) => Some(median * f64::from(case.block)),
        (Unit::BytesPerSecond, _) => Some(median),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
