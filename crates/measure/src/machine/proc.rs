//! /proc's files, parsed (proc(5)); aarch64 and ARM name their CPUs by numbers.

/// The CPU's name for itself.
pub(super) fn cpu(cpuinfo: &str) -> String {
    let found = ["model name", "Model", "Processor", "cpu model"].iter().find_map(|key| field(cpuinfo, key));
    let arm = || Some(arm(field(cpuinfo, "CPU implementer")?, field(cpuinfo, "CPU part")?));
    found.map(str::to_owned).or_else(arm).unwrap_or_else(|| "unknown".to_owned())
}

/// The cores most relevant to disk encryption; others keep their numbers (Arm's MIDR_EL1, Linux's
/// cputype.h).
fn arm(implementer: &str, part: &str) -> String {
    let known = PARTS.iter().find(|(number, _)| implementer == "0x41" && *number == part);
    known.map_or_else(
        || format!("ARM implementer {implementer} part {part}"),
        |(_, name)| format!("ARM {name}"),
    )
}

const PARTS: [(&str, &str); 13] = [
    ("0xd03", "Cortex-A53"),
    ("0xd04", "Cortex-A35"),
    ("0xd05", "Cortex-A55"),
    ("0xd07", "Cortex-A57"),
    ("0xd08", "Cortex-A72"),
    ("0xd09", "Cortex-A73"),
    ("0xd0a", "Cortex-A75"),
    ("0xd0b", "Cortex-A76"),
    ("0xd0c", "Neoverse N1"),
    ("0xd40", "Neoverse V1"),
    ("0xd49", "Neoverse N2"),
    ("0xc09", "Cortex-A9"),
    ("0xc07", "Cortex-A7"),
];

/// The flags in /proc/cpuinfo that matter for ciphers and hashes, in file order.
pub(super) fn features(cpuinfo: &str) -> Vec<String> {
    let flags = field(cpuinfo, "flags").or_else(|| field(cpuinfo, "Features")).unwrap_or_default();
    let known = |flag: &&str| FEATURES.split(' ').any(|known| known == *flag);
    flags.split_whitespace().filter(known).map(str::to_owned).collect()
}

/// Clock frequencies in MHz, one per CPU.
pub(super) fn frequencies(cpuinfo: &str) -> Vec<f64> {
    cpuinfo.lines().filter_map(|line| value(line, "cpu MHz")).filter_map(|mhz| mhz.parse().ok()).collect()
}

/// Whether a hypervisor reports its presence.
pub(super) fn is_guest(cpuinfo: &str) -> bool {
    field(cpuinfo, "flags").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

pub(super) fn load(loadavg: &str) -> [f64; 3] {
    let mut numbers = loadavg.split_whitespace().map(|number| number.parse().unwrap_or(0.0));
    [(); 3].map(|()| numbers.next().unwrap_or(0.0))
}

pub(super) fn memory_mib(meminfo: &str) -> u64 {
    let kib =
        field(meminfo, "MemTotal").and_then(|total| total.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

/// "Linux 6.1.0-18-amd64 #1 SMP …", without the builder and the compiler.
pub(super) fn kernel(version: &str) -> String {
    let version = version.trim();
    let mut words = version.split_whitespace();
    let release = words.nth(2).unwrap_or_default();
    let build = version.find('#').map_or("", |at| &version[at..]);
    format!("Linux {release} {build}").trim().to_owned()
}

pub(super) fn system(os_release: &str) -> Option<String> {
    let line = os_release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| value(line, key))
}

fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (name, value) = line.split_once(':')?;
    (name.trim() == key).then(|| value.trim())
}

const FEATURES: &str = "sse2 ssse3 sse4_1 pclmulqdq aes avx avx2 bmi2 sha_ni gfni vaes vpclmulqdq avx512f avx512bw \
                        avx512vl avx512_vbmi neon asimd pmull sha1 sha2 sha512 sha3 sm4 sve sve2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_named() {
        let x86 = "processor\t: 0\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 2445.404\nflags\t\t: fpu sse2 aes hypervisor vaes\n";
        assert_eq!(cpu(x86), "AMD EPYC");
        assert_eq!(features(x86), ["sse2", "aes", "vaes"]);
        assert_eq!(frequencies(x86), [2445.404]);
        assert!(is_guest(x86));
        // A Raspberry Pi 3 with a 64-bit kernel.
        let pi = "processor\t: 0\nBogoMIPS\t: 38.40\nFeatures\t: fp asimd evtstrm crc32 cpuid\nCPU implementer\t: 0x41\n\
                  CPU part\t: 0xd03\n";
        assert_eq!(cpu(pi), "ARM Cortex-A53");
        assert_eq!(features(pi), ["asimd"]);
        assert!(!is_guest(pi));
        assert_eq!(cpu(""), "unknown");
    }

    #[test]
    fn the_rest_of_proc() {
        assert_eq!(load("0.52 1.10 0.98 2/310 12345\n"), [0.52, 1.10, 0.98]);
        assert_eq!(load(""), [0.0; 3]);
        assert_eq!(memory_mib("MemTotal:       24567890 kB\n"), 23_992);
        let version = "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) (gcc-12 …) #1 SMP PREEMPT_DYNAMIC \
                       Debian 6.1.76-1 (2024-02-01)\n";
        assert_eq!(
            kernel(version),
            "Linux 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01)"
        );
        assert_eq!(
            system("NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n"),
            Some("Debian GNU/Linux 12".into())
        );
    }
}
