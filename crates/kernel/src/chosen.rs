//! The driver that dm-crypt gets from the running kernel for a specification.

use crate::{Algorithm, Missing, System, Xray, af_alg};
use keyway_crypto::CipherSpec;
use std::path::Path;

/// A driver that is accessible through AF_ALG.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// What dm-crypt requests.
    pub algorithm: Algorithm,
    /// The driver that it gets; the algorithm's name if /proc/crypto cannot be read.
    pub driver: String,
    /// The driver's priority.
    pub priority: i64,
    /// How to prevent the kernel from using the driver.
    pub remedy: Option<String>,
}

impl Chosen {
    /// Requests the algorithm from the kernel, so that it loads and instantiates what it needs, and
    /// then reads what it has.
    pub fn of(spec: &CipherSpec) -> Result<Self, Missing> {
        let algorithm = Algorithm::of_spec(spec);
        af_alg::Algorithm::find(&algorithm.to_string())?;
        let seen =
            System::look(Path::new("/")).ok().map(|system| Xray::of_algorithm(&system, algorithm.clone()));
        let choice = seen.as_ref().and_then(|xray| xray.dm_crypt.as_ref().ok());
        Ok(Self {
            driver: choice.map_or_else(|| algorithm.to_string(), |choice| choice.driver.clone()),
            priority: choice.map_or(0, |choice| choice.priority),
            remedy: seen.as_ref().and_then(Xray::chosen).map(crate::Row::remedy),
            algorithm,
        })
    }
}
