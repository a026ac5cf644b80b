//! The driver that dm-crypt gets from the running kernel for a specification.

use crate::{Algorithm, Missing, System, Xray, af_alg};
use keyway_crypto::CipherSpec;
use std::path::Path;

/// A driver that AF_ALG reaches.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// What dm-crypt asks for.
    pub algorithm: Algorithm,
    /// What it gets; the algorithm's name where /proc/crypto cannot be read.
    pub driver: String,
    /// Its priority.
    pub priority: i64,
    /// How to keep the kernel from using it.
    pub remedy: Option<String>,
}

impl Chosen {
    /// Asks the kernel, so that it loads and makes what it needs, and looks what it has then.
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
