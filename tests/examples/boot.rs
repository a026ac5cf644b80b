//! `./dev bench boot`: what stands between power-on and the root file system beside key derivation: from start to prompt on this machine, and
//! `keyway unlock` beside `keyway open` and `cryptsetup open` under Debian's kernel in QEMU, in turns.
//!
//! The machine in QEMU is emulated: its seconds are not those of hardware, its ratios hold for what the programs do alike.

use keyway_tests::peers::CHEAP_ARGON2;
use keyway_tests::vm::{Machine, is_prepared};
use keyway_tests::{Run, Scratch, Terminal, cryptsetup, keyway, peer};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let prompt = to_prompt();
    if !is_prepared() {
        eprintln!("boot: the machine's kernel is missing (tests/vm/prepare)");
        return ExitCode::FAILURE;
    }
    let unlock = to_node();
    if prompt && unlock { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// From the start of the process, on a terminal of its own, until the prompt is there.
fn to_prompt() -> bool {
    let scratch = Scratch::new();
    let volume = scratch.sized("volume", 20 << 20);
    keyway("luksFormat -q --type luks2").args(CHEAP_ARGON2).arg(&volume).stdin("secret").ok();
    let open = "open --test-passphrase";
    let runs: [(&str, &dyn Fn() -> Run); 3] = [
        ("keyway", &|| keyway(open).arg(&volume)),
        ("cryptsetup", &|| cryptsetup(open).arg(&volume)),
        (NOBODY, &|| peer("printf", "").arg("Enter passphrase")),
    ];
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 0..=PROMPTS {
        for ((name, run), times) in runs.iter().zip(&mut times) {
            let run = run();
            let started = Instant::now();
            let terminal = Terminal::start(&run).expect("Enter passphrase");
            let took = started.elapsed();
            let asks = *name != NOBODY;
            let _ = if asks { terminal.type_secretly("secret").finish() } else { terminal.finish() };
            // The first round counts for nobody.
            if round > 0 {
                times.push(took.as_secs_f64() * 1e3);
            }
        }
    }
    println!("{:<44} {:>8} {:>8}   {PROMPTS} runs, wanted", "from start to prompt, ms", "least", "median");
    for ((name, _), times) in runs.iter().zip(&times) {
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let wanted =
            if *name == "keyway" { verdict(median(times) < PROMPT_MS, "< 20") } else { String::new() };
        println!("{name:<44} {least:>8.1} {:>8.1}   {wanted}", median(times));
    }
    println!("{:<44} {:>17.2}", "keyway / cryptsetup", median(&times[0]) / median(&times[1]));
    median(&times[0]) < PROMPT_MS
}

/// From the command until the device is there.
fn to_node() -> bool {
    let scratch = Scratch::new();
    let machine = Machine::new().with_keyway().file("key", "secret").limit(Duration::from_secs(900));
    let report = machine.disk(&scratch.sized("disk", 32 << 20)).run(&scenario());
    println!(
        "\n{:<36} {:>8} {:>8} {:>11} {:>8} {:>11}",
        "until the device is there, ms", "unlock", "open", "cryptsetup", "/ open", "/ cryptsetup"
    );
    let mut reached = true;
    for (row, (title, _)) in ROWS.iter().enumerate() {
        let times = ["unlock", "open", "cryptsetup"].map(|way| {
            let key = format!("{row} {way} ");
            let lines = report.lines().filter_map(|line| line.strip_prefix(&key)?.parse::<f64>().ok());
            lines.skip(1).map(|microseconds| microseconds / 1e3).collect::<Vec<_>>()
        });
        let [unlock, open, theirs] = &times;
        let ratio =
            |of: &[f64]| median(&unlock.iter().zip(of).map(|(ours, of)| ours / of).collect::<Vec<_>>());
        let (to_open, to_theirs) = (ratio(open), ratio(theirs));
        reached &= to_open <= 1.0;
        let [a, b, c] = times.each_ref().map(|times| median(times));
        let wanted = verdict(to_open <= 1.0, "≤ 1 of open's");
        println!("{title:<36} {a:>8.0} {b:>8.0} {c:>11.0} {to_open:>8.3} {to_theirs:>11.2}   {wanted}");
    }
    reached
}

fn scenario() -> String {
    let mut script = String::from(
        r#"
now() { echo "$EPOCHREALTIME" | tr -d .; }
turn() { key="$1 $2"; shift 2
         started=$(now)
         "$@"
         ended=$(now)
         [ -b /dev/mapper/volume ]
         echo "$key $((ended - started))"
         cryptsetup close volume; }
"#,
    );
    for (row, (_, options)) in ROWS.iter().enumerate() {
        script += &format!("cryptsetup luksFormat -q {options} /dev/vda /key 2>/dev/null\n");
        let unlock = "unlock --cmdline 'cryptdevice=/dev/vda:volume cryptkey=rootfs:/key'";
        let mut turns = [
            format!("turn {row} unlock keyway {unlock}\n"),
            format!("turn {row} open keyway open --key-file /key /dev/vda volume\n"),
            format!("turn {row} cryptsetup cryptsetup open --key-file /key /dev/vda volume\n"),
        ];
        for _ in 0..=ROUNDS {
            script += &turns.concat();
            // Who comes first finds another machine than who comes last.
            turns.rotate_left(1);
        }
    }
    script
}

fn verdict(reached: bool, wanted: &str) -> String {
    format!("{wanted} {}", if reached { "reached" } else { "NOT reached" })
}

fn median(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "a turn said nothing");
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// How a volume is made.
const ROWS: [(&str, &str); 2] = [
    ("LUKS2, PBKDF2 of 1000 iterations", "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000"),
    (
        "LUKS2, Argon2id of 32 MiB",
        "--type luks2 --pbkdf argon2id --pbkdf-memory 32768 --pbkdf-force-iterations 4 --pbkdf-parallel 1",
    ),
];
const NOBODY: &str = "printf (starting anything there)";
const PROMPTS: usize = 51;
const PROMPT_MS: f64 = 20.0;
const ROUNDS: usize = 9;
