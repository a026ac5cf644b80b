//! One specification on one kernel: every driver that could run it, and the results of trying it.

use crate::pick::{Choice, User};
use crate::speed::of_driver;
use crate::{Algorithm, Checked, Driver, Engine, Flags, Missing, Speed, System, af_alg, check, of_keyway};
use keyway_crypto::CipherSpec;
use std::path::Path;

/// All findings.
#[derive(Debug, Clone)]
pub struct Xray {
    /// The specification, as it was written.
    pub spec: String,
    /// What dm-crypt requests from the crypto API.
    pub algorithm: Algorithm,
    /// The drivers, the highest priority first.
    pub rows: Vec<Row>,
    /// What dm-crypt would get, or the parts for which there is no driver.
    pub dm_crypt: Result<Choice, Vec<String>>,
    /// The same for fscrypt; `None` if it never requests this algorithm.
    pub fscrypt: Option<Result<Choice, Vec<String>>>,
    /// Why nothing could be measured.
    pub unmeasured: Option<Missing>,
    /// The speed of Keyway's own code on this CPU, with the code's name.
    pub keyway: Option<(Speed, &'static str)>,
}

/// One driver.
#[derive(Debug, Clone)]
pub struct Row {
    /// The driver, as listed in /proc/crypto.
    pub driver: Driver,
    /// The engine outside the CPU to which the driver belongs.
    pub engine: Option<&'static Engine>,
    /// The driver's flags; if the kernel does not report them, from the table of engines and
    /// /proc/crypto.
    pub flags: Flags,
    /// Users that would refuse the driver even if its priority were the highest.
    pub refused_by: Vec<User>,
    /// The result of comparing its output; `None` if it was not tried.
    pub checked: Option<Checked>,
    /// Its speed, if its output was right.
    pub speeds: Result<Vec<Speed>, Missing>,
}

impl Xray {
    /// Examines the drivers without trying any.
    pub fn look(system: &System, spec: &CipherSpec) -> Self {
        Self { spec: spec.to_string(), ..Self::of_algorithm(system, Algorithm::of_spec(spec)) }
    }

    /// The same for an algorithm by the kernel's name.
    pub fn of_algorithm(system: &System, algorithm: Algorithm) -> Self {
        let registry = &system.registry;
        let row = |driver: &Driver| {
            let flags = driver.known_flags();
            let refuses =
                |user: &User| user.uses(&algorithm) && flags.has_any(user.refuses(registry.version).0);
            let refused_by = [User::DmCrypt, User::Fscrypt].into_iter().filter(refuses).collect();
            let (engine, speeds) = (Engine::of(&driver.driver), Err(Missing::new("not measured")));
            Row { driver: driver.clone(), engine, flags, refused_by, checked: None, speeds }
        };
        Self {
            spec: algorithm.to_string(),
            rows: registry.candidates(&algorithm).into_iter().map(row).collect(),
            dm_crypt: registry.choice(User::DmCrypt, &algorithm),
            fscrypt: User::Fscrypt.uses(&algorithm).then(|| registry.choice(User::Fscrypt, &algorithm)),
            unmeasured: None,
            keyway: None,
            algorithm,
        }
    }

    /// Requests the specification from the running kernel, so that it loads and instantiates what
    /// it needs; then examines the drivers and tries each one: first its output, then its speed.
    pub fn measure(system: &mut System, spec: &CipherSpec) -> Self {
        let asked = ask(system, &Algorithm::of_spec(spec));
        let mut xray = Self::look(system, spec);
        let reached = xray.try_drivers(true);
        xray.unmeasured = asked.err().filter(|_| !reached);
        let key_bits = spec.key_bits().last().copied().unwrap_or_default();
        xray.keyway = of_keyway(spec, key_bits);
        xray
    }

    /// Tries each driver. Returns whether any could be accessed.
    pub fn try_drivers(&mut self, with_speed: bool) -> bool {
        let mut reached = false;
        for row in &mut self.rows {
            let driver = &row.driver;
            let checked = check(&driver.driver, &self.algorithm, (driver.min_key, driver.max_key));
            reached |= !matches!(checked, Checked::NotChecked(_));
            row.speeds = match &checked {
                Checked::Right(_) if with_speed => of_driver(&driver.driver, &self.algorithm, driver.max_key),
                Checked::Right(_) => Err(Missing::new("not measured")),
                Checked::NotChecked(missing) => Err(missing.clone()),
                Checked::Wrong(_) => Err(Missing::new("not measured: the result is wrong")),
                Checked::Failed(why) => Err(Missing::new(why.clone())),
            };
            row.checked = Some(checked);
        }
        reached
    }

    /// The row of the driver that dm-crypt would use.
    pub fn chosen(&self) -> Option<&Row> {
        let choice = self.dm_crypt.as_ref().ok()?;
        self.rows.iter().find(|row| row.driver.driver == choice.driver)
    }
}

impl Row {
    /// The encryption speed in bytes per second, with requests of 4096 bytes.
    pub fn rate(&self) -> Option<f64> {
        let speeds = self.speeds.as_ref().ok()?;
        speeds.iter().find(|speed| speed.bytes == 4096).map(|speed| speed.encrypt)
    }

    /// How to prevent the kernel from using this driver.
    pub fn remedy(&self) -> String {
        let module = &self.driver.module;
        let is_built_in = module == "kernel" || module.is_empty();
        match self.engine {
            Some(engine) if is_built_in => format!(
                "it is built into the kernel: disable the device in the device tree, or build without CONFIG_{}",
                engine.config
            ),
            Some(engine) if engine.modules.len() > 2 => {
                format!("blacklist the module of its device ({})", engine.modules.join(", "))
            }
            None if is_built_in => {
                "it is built into the kernel: report it, and use another kernel".to_owned()
            }
            _ => format!("blacklist {module}"),
        }
    }
}

/// Requests an algorithm, and examines again what the kernel has.
fn ask(system: &mut System, algorithm: &Algorithm) -> Result<(), Missing> {
    af_alg::Algorithm::find(&algorithm.to_string())?;
    if let Ok(now) = System::look(Path::new("/")) {
        *system = now;
    }
    Ok(())
}
