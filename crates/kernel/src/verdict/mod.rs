//! What the findings mean, in words.

use crate::pick::User;
use crate::xray::{Row, Xray};
use crate::{Checked, SelfTests, Speed, System, accelerators};
use std::fmt::Write;

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

/// The CPU on which all this runs.
#[derive(Debug, Clone, Copy)]
pub struct CpuFacts<'a> {
    /// "x86_64".
    pub architecture: &'a str,
    /// The features, as named in /proc/cpuinfo.
    pub features: &'a [String],
}

/// The verdict on `xray`, the worst last. `adiantum` describes Adiantum on the same machine, for
/// comparison.
pub fn verdict(xray: &Xray, adiantum: Option<&Xray>, system: &System, cpu: CpuFacts<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut say = |severity, text: String| lines.push(Line { severity, text });
    choice(xray, &mut say);
    higher(xray, system, &mut say);
    unused_instructions(xray, system, cpu, &mut say);
    if let Some(adiantum) = adiantum {
        beside_adiantum(xray, adiantum, &mut say);
    }
    if let SelfTests::Off(why) = &system.self_tests {
        say(
            Severity::Note,
            format!(
                "this kernel does not test drivers before it uses them ({why}): \"passed\" in /proc/crypto \
                means nothing"
            ),
        );
    }
    outputs(xray, &mut say);
    lines.sort_by_key(|line| line.severity);
    lines
}

type Say<'a> = &'a mut dyn FnMut(Severity, String);

/// What dm-crypt and fscrypt get.
fn choice(xray: &Xray, say: Say<'_>) {
    let spec = &xray.spec;
    match (&xray.dm_crypt, xray.chosen()) {
        (Ok(_), Some(row)) => {
            let (severity, what) = match row.engine {
                Some(engine) => (
                    Severity::Warning,
                    format!(", which is the {} engine ({}), not the CPU", engine.name, engine.maker),
                ),
                None => (Severity::Good, String::new()),
            };
            let speed = row.rate().map(|rate| format!(", at {}", in_words(rate))).unwrap_or_default();
            say(severity, format!("{spec} will run on {}{what}{speed}", row.driver.driver));
        }
        (Ok(choice), None) => say(
            Severity::Note,
            format!(
                "{spec} would run on {}, made of what is loaded now; a module that is loaded first can change that",
                choice.driver
            ),
        ),
        (Err(missing), _) => say(
            Severity::Note,
            format!(
                "no driver of {spec} is in use, and nothing loaded now implements {}",
                missing.join(", ")
            ),
        ),
    }
    if let (Ok(dm_crypt), Some(Ok(fscrypt))) = (&xray.dm_crypt, &xray.fscrypt)
        && dm_crypt.driver != fscrypt.driver
    {
        say(Severity::Note, format!("fscrypt would take {} instead", fscrypt.driver));
    }
}

/// Drivers with a higher priority than the one in use, and engines in use instead of the CPU.
fn higher(xray: &Xray, system: &System, say: Say<'_>) {
    let Some(chosen) = xray.chosen() else { return };
    for row in xray.rows.iter().take_while(|row| row.driver.driver != chosen.driver.driver) {
        let name = match row.engine {
            Some(engine) => format!("the {} engine ({})", engine.name, row.driver.driver),
            None => row.driver.driver.clone(),
        };
        let (refused, since) = User::DmCrypt.refuses(system.registry.version);
        let mut text = format!("{name} has a higher priority ({})", row.driver.priority);
        match (row.rate(), chosen.rate()) {
            (Some(its), Some(ours)) if ours > its => {
                let _ = write!(text, " and is {} slower", times(ours / its));
            }
            (Some(its), Some(ours)) => {
                let _ = write!(text, " and is {} faster", times(its / ours));
            }
            _ => {}
        }
        if row.flags.has_any(refused) {
            let _ = write!(text, "; dm-crypt skips it ({} {since}), others do not", row.flags.and(refused));
        } else if row.driver.selftest != "passed" {
            let _ = write!(text, "; its self-test has not passed");
        }
        if row.engine.is_some() {
            let _ = write!(text, ": {}", row.remedy());
        }
        say(Severity::Warning, text);
    }
    let of_the_cpu = xray.rows.iter().filter(|row| row.engine.is_none());
    let best = of_the_cpu
        .filter(|row| row.rate().is_some())
        .max_by(|a, b| a.rate().unwrap_or(0.0).total_cmp(&b.rate().unwrap_or(0.0)));
    match (best, chosen.rate()) {
        (Some(best), Some(its)) if best.rate().is_some_and(|rate| rate > NOISE * its) => {
            let factor = times(best.rate().unwrap_or(its) / its);
            let remedy =
                if chosen.engine.is_some() { format!(": {}", chosen.remedy()) } else { String::new() };
            say(
                Severity::Warning,
                format!(
                    "{} would be {factor} faster than {}{remedy}",
                    best.driver.driver, chosen.driver.driver
                ),
            );
        }
        (_, None) if chosen.engine.is_some() => say(
            Severity::Warning,
            format!(
                "engines were measured 4 to 55 times slower than the CPU on such requests: {}",
                chosen.remedy()
            ),
        ),
        _ => {}
    }
}

/// Generic code in use although the CPU has instructions, and there is a module, for the cipher.
fn unused_instructions(xray: &Xray, system: &System, cpu: CpuFacts<'_>, say: Say<'_>) {
    let Ok(choice) = &xray.dm_crypt else { return };
    let is_generic = GENERIC.iter().any(|name| choice.driver.contains(name));
    let names = xray.algorithm.names();
    let has = |feature: &str| cpu.features.iter().any(|known| known == feature);
    let faster: Vec<&str> = names
        .iter()
        .filter(|name| choice.driver.contains(&format!("{name}-")))
        .flat_map(|name| accelerators(name, cpu.architecture, has))
        .filter(|module| !system.running.modules.contains(*module))
        .collect();
    if is_generic && let Some(module) = faster.first() {
        say(
            Severity::Warning,
            format!(
                "{} uses no special instructions of this CPU, which has some: modprobe {module} if the kernel has it, and put it into the initramfs",
                choice.driver
            ),
        );
    }
}

fn beside_adiantum(xray: &Xray, adiantum: &Xray, say: Say<'_>) {
    let compare = |ours: f64, its: f64, whose: &str| {
        let (word, factor) = if its > ours { ("faster", its / ours) } else { ("slower", ours / its) };
        let (ours, its) = (in_words(ours), in_words(its));
        match factor < NOISE {
            true => format!("Adiantum would be as fast here ({its} beside {ours}, {whose})"),
            false => {
                format!("Adiantum would be {} {word} here ({its} beside {ours}, {whose})", times(factor))
            }
        }
    };
    if let (Some(ours), Some(its)) =
        (xray.chosen().and_then(Row::rate), adiantum.chosen().and_then(Row::rate))
    {
        let severity = if its > NOISE * ours { Severity::Warning } else { Severity::Note };
        say(severity, compare(ours, its, "the kernel's drivers"));
    }
    if let (Some((ours, _)), Some((its, _))) = (&xray.keyway, &adiantum.keyway) {
        say(Severity::Note, compare(slower(ours), slower(its), "Keyway's code on this CPU, one thread"));
    }
}

/// Drivers whose output is wrong, or that fail.
fn outputs(xray: &Xray, say: Say<'_>) {
    for row in &xray.rows {
        let driver = &row.driver.driver;
        match &row.checked {
            Some(Checked::Wrong(wrong)) => {
                let used = match xray.chosen() {
                    Some(chosen) if chosen.driver.driver == *driver => {
                        ". dm-crypt would use it: what is written through it cannot be read anywhere else"
                    }
                    _ => "",
                };
                say(
                    Severity::Bad,
                    format!(
                        "{driver} is wrong: byte {} is {} and should be {}, {}: {}{used}",
                        wrong.at,
                        byte(&wrong.found),
                        byte(&wrong.expected),
                        wrong.during,
                        row.remedy()
                    ),
                );
            }
            Some(Checked::Failed(why)) => {
                say(Severity::Bad, format!("{driver} fails: {why}: {}", row.remedy()));
            }
            _ => {}
        }
    }
}

fn byte(hexadecimal: &str) -> &str {
    hexadecimal.get(..2).unwrap_or("missing")
}

fn slower(speed: &Speed) -> f64 {
    speed.encrypt.min(speed.decrypt)
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
const GENERIC: &[&str] = &["-generic", "-fixed-time", "-asm", "-lib"];

#[cfg(test)]
mod tests;
