//! Adiantum beside AES, on what the kernel would run of both: by measured speed, otherwise by the
//! code that the drivers' names tell.
//!
//! Figures of other machines are those of the article "raspi3 luks - aes-xts vs
//! xchacha,aes-adiantum": a Raspberry Pi 3, whose Cortex-A53 has no AES instructions.

use super::{CpuFacts, Lines, NOISE, Severity, in_words, times};
use crate::pick::Choice;
use crate::xray::{Row, Xray};
use crate::{Code, System, accelerators};

impl Lines {
    /// What Adiantum would be here, if the specification is one of AES.
    pub(super) fn beside_adiantum(
        &mut self,
        xray: &Xray,
        adiantum: &Xray,
        system: &System,
        cpu: CpuFacts<'_>,
    ) {
        let rates = xray.chosen().and_then(Row::rate).zip(adiantum.chosen().and_then(Row::rate));
        if let Some((ours, its)) = rates {
            return self.measured(ours, its);
        }
        let (Ok(own), true) = (&xray.dm_crypt, xray.spec.starts_with("aes-")) else { return };
        let code = Code::of(&own.driver);
        let of_cpu = cpu.has_aes();
        if crate::Engine::of(&own.driver).is_some() {
            return;
        }
        match (code, of_cpu) {
            (Code::Instructions, _) => {
                self.note(format!("Adiantum would be slower: {} uses AES instructions", own.driver));
            }
            (Code::Library, Some(true)) => self.note(format!(
                "Adiantum would be slower: {}, the kernel's library, uses AES instructions",
                own.driver
            )),
            (_, Some(true)) => self.note(
                "Adiantum is for CPUs without AES instructions: with the module for them, AES is faster"
                    .to_owned(),
            ),
            _ => self.without_instructions(own, adiantum, system, cpu),
        }
    }

    fn measured(&mut self, ours: f64, its: f64) {
        let severity = if its > NOISE * ours { Severity::Warning } else { Severity::Note };
        let (word, factor) = if its > ours { ("faster", its / ours) } else { ("slower", ours / its) };
        let figures = format!("{} beside {}, the kernel's drivers", in_words(its), in_words(ours));
        let text = match factor < NOISE {
            true => format!("Adiantum would be as fast here ({figures})"),
            false => format!("Adiantum would be {} {word} here ({figures})", times(factor)),
        };
        self.say(severity, text);
    }

    /// AES runs without instructions for it.
    fn without_instructions(&mut self, own: &Choice, adiantum: &Xray, system: &System, cpu: CpuFacts<'_>) {
        let unless = match cpu.has_aes() {
            Some(_) => "this CPU has no AES instructions".to_owned(),
            None if Code::of(&own.driver) == Code::Library => {
                "the kernel's library, which uses AES instructions if /proc/cpuinfo there lists \"aes\""
                    .to_owned()
            }
            None => {
                let module = if system.is_arm() { "aes_ce_blk" } else { "aesni_intel" };
                format!(
                    "nothing loaded uses AES instructions (if /proc/cpuinfo there lists \"aes\", modprobe {module} instead)"
                )
            }
        };
        let (severity, would) = match &adiantum.dm_crypt {
            Ok(Choice { driver, .. }) if stream(driver, system) >= Code::Vector => {
                (Severity::Warning, format!("Adiantum would run on {driver}, with vector instructions"))
            }
            Ok(Choice { driver, .. }) if stream(driver, system) == Code::Library => (
                Severity::Warning,
                format!("Adiantum would run on {driver}, the kernel's library with its vector code"),
            ),
            Ok(Choice { driver, .. }) => {
                let faster = system.faster_parts(cpu);
                let modprobe = match faster.is_empty() {
                    true => String::new(),
                    false => format!("; modprobe {} if the kernel has them", faster.join(" ")),
                };
                (Severity::Note, format!("Adiantum would run on {driver}, portable code too{modprobe}"))
            }
            Err(missing) => (
                Severity::Warning,
                format!(
                    "Adiantum would run there if the kernel has it (not loaded: {}; {})",
                    missing.join(", "),
                    system.modules_of_adiantum(cpu)
                ),
            ),
        };
        self.say(
            severity,
            format!(
                "{would}, while AES runs on {}: {unless}. On a Raspberry Pi 3, Adiantum makes 122 MiB/s where \
                 AES-256-XTS makes 26. To compare: \"cryptsetup benchmark -c xchacha20,aes-adiantum\". To use it: \"cryptsetup \
                 luksFormat --cipher xchacha20,aes-adiantum-plain64 --key-size 256 --sector-size 4096 DEVICE\"",
                own.driver
            ),
        );
    }
}

/// The code of Adiantum's stream cipher, which does most of the work. The library's is portable
/// where the kernel has it beside drivers of the architecture (to Linux 6.18), at a low priority.
fn stream(driver: &str, system: &System) -> Code {
    let stream = driver.trim_start_matches("adiantum(").split(',').next().unwrap_or_default();
    match Code::of(stream) {
        Code::Library => {
            let listed = system.registry.drivers.iter().find(|known| known.driver == stream);
            if listed.is_some_and(|known| known.priority < VECTORS) { Code::Portable } else { Code::Library }
        }
        code => code,
    }
}

/// The priority of ChaCha by vector instructions (Linux, crypto/chacha.c).
const VECTORS: i64 = 300;

impl System {
    /// What to load for Adiantum, of which something is missing.
    pub(super) fn modules_of_adiantum(&self, cpu: CpuFacts<'_>) -> String {
        let faster = self.faster_parts(cpu).iter().map(|module| format!(" {module}")).collect::<String>();
        format!("modprobe adiantum{faster}")
    }

    /// Whether its drivers are those of an Arm CPU.
    fn is_arm(&self) -> bool {
        self.registry
            .drivers
            .iter()
            .any(|driver| ["-arm64", "-neon", "-arm", "-ce"].iter().any(|end| driver.driver.ends_with(end)))
    }

    /// Modules with vector code for Adiantum's parts.
    fn faster_parts(&self, cpu: CpuFacts<'_>) -> Vec<&'static str> {
        let architecture = if self.is_arm() { "aarch64" } else { "x86_64" };
        let has = |name: &str| cpu.features.is_empty() || cpu.features.iter().any(|feature| feature == name);
        let first = |part: &&str| accelerators(part, architecture, has).into_iter().next();
        let modules = ["xchacha12", "nhpoly1305"].iter().filter_map(first);
        modules.filter(|module| !self.running.modules.contains(*module)).collect()
    }
}
