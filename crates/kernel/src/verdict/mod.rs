//! What the findings mean, in words.

mod adiantum;
mod library;

use crate::pick::{Choice, User};
use crate::xray::{Row, Xray};
use crate::{Checked, Flags, SelfTests, System, accelerators};
use library::{LIBRARY, is_library};

/// One sentence, and how bad it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The severity.
    pub severity: Severity,
    /// The sentence, without its full stop.
    pub text: String,
}

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// As expected.
    Good,
    /// Worth knowing.
    Note,
    /// Slow or uncertain.
    Warning,
    /// Wrong data.
    Bad,
}

/// The CPU on which all this runs; empty if it is another machine's, of which only /proc/crypto is
/// known.
#[derive(Debug, Clone, Copy)]
pub struct CpuFacts<'a> {
    /// "x86_64".
    pub architecture: &'a str,
    /// The features, as named in /proc/cpuinfo.
    pub features: &'a [String],
}

impl CpuFacts<'_> {
    /// Whether the CPU has AES instructions, if its features are known.
    fn has_aes(&self) -> Option<bool> {
        let has = |name: &str| self.features.iter().any(|feature| feature == name);
        (!self.features.is_empty()).then(|| has("aes") || has("zvkned"))
    }
}

/// The verdict on `xray`, the worst last. `adiantum` describes Adiantum on the same machine, for
/// comparison.
pub fn verdict(xray: &Xray, adiantum: Option<&Xray>, system: &System, cpu: CpuFacts<'_>) -> Vec<Line> {
    let mut lines = Lines(Vec::new());
    lines.choice(xray, system, cpu);
    lines.higher(xray, system);
    lines.unused_instructions(xray, system, cpu);
    lines.library(xray, system, cpu);
    if let Some(adiantum) = adiantum {
        lines.beside_adiantum(xray, adiantum, system, cpu);
    }
    if let SelfTests::Off(why) = &system.self_tests {
        lines.note(format!(
            "this kernel does not test drivers before it uses them ({why}): \"passed\" in /proc/crypto means nothing"
        ));
    }
    lines.outputs(xray);
    lines.0.sort_by_key(|line| line.severity);
    lines.0
}

/// What there is to say.
struct Lines(Vec<Line>);

impl Lines {
    fn say(&mut self, severity: Severity, text: String) {
        self.0.push(Line { severity, text });
    }

    fn note(&mut self, text: String) {
        self.say(Severity::Note, text);
    }

    fn warn(&mut self, text: String) {
        self.say(Severity::Warning, text);
    }

    /// What dm-crypt and fscrypt get.
    fn choice(&mut self, xray: &Xray, system: &System, cpu: CpuFacts<'_>) {
        let spec = &xray.spec;
        match (&xray.dm_crypt, xray.chosen()) {
            (Ok(_), Some(row)) => {
                let speed = row.rate().map(|rate| format!(", at {}", in_words(rate))).unwrap_or_default();
                let (severity, what) = row.engine.map_or((Severity::Good, String::new()), |engine| {
                    let what = format!(", which is the {} engine ({}), not the CPU", engine.name, engine.maker);
                    (Severity::Warning, what)
                });
                let what = if is_library(&row.driver.driver) { LIBRARY } else { &what };
                self.say(severity, format!("{spec} will run on {}{what}{speed}", row.driver.driver));
            }
            (Ok(Choice { driver, .. }), None) => self.note(format!(
                "{spec} would run on {driver}, made of what is loaded now; loading another module first can change that"
            )),
            (Err(missing), _) => {
                let modprobe = match spec.contains("-adiantum-") {
                    true => format!(": {} if the kernel has them", system.modules_of_adiantum(cpu)),
                    false => String::new(),
                };
                self.note(format!(
                    "no driver of {spec} is in use, and nothing loaded now implements {}{modprobe}",
                    missing.join(", ")
                ));
            }
        }
        if let (Ok(dm_crypt), Some(Ok(fscrypt))) = (&xray.dm_crypt, &xray.fscrypt)
            && dm_crypt.driver != fscrypt.driver
        {
            self.note(format!("fscrypt would take {} instead", fscrypt.driver));
        }
    }

    /// Drivers with a higher priority than the one in use, and engines in use instead of the CPU.
    fn higher(&mut self, xray: &Xray, system: &System) {
        let Some(chosen) = xray.chosen() else { return };
        let name = &chosen.driver.driver;
        for row in xray.rows.iter().take_while(|row| row.driver.driver != *name) {
            self.warn(passed_over(row, chosen, system));
        }
        let of_the_cpu = xray.rows.iter().filter(|row| row.engine.is_none());
        let rates = of_the_cpu.filter_map(|row| Some((row.rate()?, &row.driver.driver)));
        let best = rates.max_by(|a, b| a.0.total_cmp(&b.0));
        let remedy = chosen.engine.map(|_| format!(": {}", chosen.remedy()));
        match (best, chosen.rate(), remedy) {
            (Some((rate, best)), Some(its), remedy) if rate > NOISE * its => {
                let (factor, remedy) = (times(rate / its), remedy.unwrap_or_default());
                self.warn(format!("{best} would be {factor} faster than {name}{remedy}"));
            }
            (_, None, Some(remedy)) => self.warn(format!(
                "engines were measured 4 to 55 times slower than the CPU on such requests{remedy}"
            )),
            _ => {}
        }
    }

    /// Generic code in use although the CPU has instructions for the cipher, and there is a module.
    fn unused_instructions(&mut self, xray: &Xray, system: &System, cpu: CpuFacts<'_>) {
        let Ok(Choice { driver, .. }) = &xray.dm_crypt else { return };
        if GENERIC.iter().any(|name| driver.contains(name))
            && let Some(module) = faster_module(xray, driver, system, cpu)
        {
            self.warn(format!(
                "{driver} ignores this CPU's special instructions: modprobe {module} if the kernel has it, \
                 and put it into the initramfs"
            ));
        }
    }

    /// Drivers whose output is wrong, or that fail.
    fn outputs(&mut self, xray: &Xray) {
        let used = xray.chosen().map(|chosen| &chosen.driver.driver);
        for row in &xray.rows {
            let (driver, remedy) = (&row.driver.driver, row.remedy());
            let what = match &row.checked {
                Some(Checked::Wrong(wrong)) => {
                    let (at, found, expected) = (wrong.at, byte(&wrong.found), byte(&wrong.expected));
                    let during = &wrong.during;
                    let used = match used == Some(driver) {
                        true => {
                            ". dm-crypt would use it: data written through it cannot be read anywhere else"
                        }
                        false => "",
                    };
                    format!(
                        "is wrong: byte {at} is {found} and should be {expected}, {during}: {remedy}{used}"
                    )
                }
                Some(Checked::Failed(why)) => format!("fails: {why}: {remedy}"),
                _ => continue,
            };
            self.say(Severity::Bad, format!("{driver} {what}"));
        }
    }
}

/// A module that is not loaded and has code for this CPU, faster than this driver's.
fn faster_module(xray: &Xray, driver: &str, system: &System, cpu: CpuFacts<'_>) -> Option<&'static str> {
    let has = |feature: &str| cpu.features.iter().any(|known| known == feature);
    let names = xray.algorithm.names().into_iter().filter(|name| driver.contains(&format!("{name}-")));
    let mut faster = names.flat_map(|name| accelerators(name, cpu.architecture, has));
    faster.find(|module| !system.running.modules.contains(*module))
}

/// A driver with a higher priority than the chosen one, and why it is not in use.
fn passed_over(row: &Row, chosen: &Row, system: &System) -> String {
    let driver = &row.driver;
    let name = match row.engine {
        Some(engine) => format!("the {} engine ({})", engine.name, driver.driver),
        None => driver.driver.clone(),
    };
    let (refused, since) = User::DmCrypt.refuses(system.registry.version);
    let speed = row.rate().zip(chosen.rate()).map_or_else(String::new, |(its, ours)| match ours > its {
        true => format!(" and is {} slower", times(ours / its)),
        false => format!(" and is {} faster", times(its / ours)),
    });
    let why = match row.flags.and(refused) {
        flags if flags != Flags::NONE => format!("; dm-crypt skips it ({flags} {since}), others do not"),
        _ if driver.selftest != "passed" => "; its self-test has not passed".to_owned(),
        _ => String::new(),
    };
    let remedy = row.engine.map_or_else(String::new, |_| format!(": {}", row.remedy()));
    format!("{name} has a higher priority ({}){speed}{why}{remedy}", driver.priority)
}

fn byte(hexadecimal: &str) -> &str {
    hexadecimal.get(..2).unwrap_or("missing")
}

/// "30×", "1.4×".
fn times(factor: f64) -> String {
    if factor >= 9.95 { format!("{factor:.0}×") } else { format!("{factor:.1}×") }
}

/// "1.2 GB/s", "23 MB/s".
pub fn in_words(rate: f64) -> String {
    match rate {
        rate if rate >= 9.95e9 => format!("{:.0} GB/s", rate / 1e9),
        rate if rate >= 9.95e8 => format!("{:.1} GB/s", rate / 1e9),
        rate if rate >= 9.95e6 => format!("{:.0} MB/s", rate / 1e6),
        rate => format!("{:.1} MB/s", rate / 1e6),
    }
}

/// A smaller difference is measurement noise.
const NOISE: f64 = 1.15;
/// Suffixes of the names of portable code.
const GENERIC: &[&str] = &["-generic", "-fixed-time", "-asm"];

#[cfg(test)]
mod tests;
