//! `./dev bench boot`: what stands between power-on and the root file system beside key derivation:
//! from start to prompt on this machine, and `keyway unlock` beside `keyway open` and `cryptsetup
//! open` under Debian's kernel in QEMU, in turns.
//!
//! The machine in QEMU counts instructions instead of seconds, 500 million of them to one:
//! what else this computer does changes nothing, but its milliseconds are not those of
//! hardware, and one processor does what two would do side by side. `open` takes two turns
//! a round, whose ratio is what chance makes of two like things. `--only TEXT` takes the
//! rows with that text, `--rounds N` as many turns.

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
    let given = |option: &str| std::env::args().skip_while(|word| word != option).nth(1);
    let (only, rounds) =
        (given("--only").unwrap_or_default(), given("--rounds").and_then(|n| n.parse().ok()));
    let mut rows: Vec<Row> = ROWS.into_iter().filter(|row| row.title.contains(&only)).collect();
    for row in &mut rows {
        row.rounds = rounds.unwrap_or(row.rounds);
    }
    let scratch = Scratch::new();
    let machine = Machine::new()
        .counting_instructions()
        .with_keyway()
        .file("key", "secret")
        .limit(Duration::from_secs(1800));
    let report = machine.disk(&scratch.sized("disk", 32 << 20)).run(&scenario(&rows));
    println!(
        "\n{:<36} {:>8} {:>8} {:>11}",
        "to the device, 500,000 instructions", "unlock", "open", "cryptsetup"
    );
    let mut reached = true;
    for (number, row) in rows.iter().enumerate() {
        let times = WAYS.map(|way| {
            let key = format!("{number} {way} ");
            let lines = report.lines().filter_map(|line| line.strip_prefix(&key)?.parse::<f64>().ok());
            lines.skip(1).map(|microseconds| microseconds / 1e3).collect::<Vec<_>>()
        });
        let [unlock, open, again, theirs] = &times;
        let [a, b, c] = [unlock, open, theirs].map(|times| median(times));
        println!("{:<36} {a:>8.1} {b:>8.1} {c:>11.1}   {} rounds", row.title, row.rounds);
        let unrest = Ratio::of(again, open);
        println!("  open / open                        {unrest}");
        let ratio = Ratio::of(unlock, open);
        let no_more = ratio.median <= 1.0;
        println!("  unlock / open                      {ratio}   {}", verdict(no_more, "≤ 1"));
        println!("  unlock / cryptsetup                {}", Ratio::of(unlock, theirs));
        reached &= no_more;
    }
    reached
}

/// Of two turns in the same round: the middle, and the middle half.
struct Ratio {
    low: f64,
    median: f64,
    high: f64,
}

impl Ratio {
    fn of(ours: &[f64], theirs: &[f64]) -> Self {
        let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |part: usize| ratios[ratios.len() * part / 4];
        Self { low: at(1), median: at(2), high: at(3) }
    }
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} ({:.3} to {:.3})", self.median, self.low, self.high)
    }
}

fn scenario(rows: &[Row]) -> String {
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
    for (number, row) in rows.iter().enumerate() {
        script += &format!("cryptsetup luksFormat -q {} /dev/vda /key 2>/dev/null\n", row.options);
        let unlock = "keyway unlock --cmdline 'cryptdevice=/dev/vda:volume cryptkey=rootfs:/key'";
        let [ours, theirs] =
            ["keyway", "cryptsetup"].map(|who| format!("{who} open --key-file /key /dev/vda volume"));
        let commands = [unlock, &ours, &ours, &theirs];
        let mut turns: Vec<String> = WAYS
            .iter()
            .zip(commands)
            .map(|(way, command)| format!("turn {number} {way} {command}\n"))
            .collect();
        for _ in 0..=row.rounds {
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

/// How a volume is made, and how often it is opened each way.
struct Row {
    title: &'static str,
    options: &'static str,
    rounds: usize,
}

const ROWS: [Row; 2] = [
    Row {
        title: "LUKS2, PBKDF2 of 1000 iterations",
        options: "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000",
        rounds: 40,
    },
    Row {
        title: "LUKS2, Argon2id of 32 MiB",
        options: "--type luks2 --pbkdf argon2id --pbkdf-memory 32768 --pbkdf-force-iterations 4 --pbkdf-parallel 1",
        rounds: 40,
    },
];
const WAYS: [&str; 4] = ["unlock", "open", "again", "cryptsetup"];
const NOBODY: &str = "printf (starting anything there)";
const PROMPTS: usize = 51;
const PROMPT_MS: f64 = 20.0;
