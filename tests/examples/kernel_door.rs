//! `./dev bench kernel-door`: from the command to the first sector read from the mapped device,
//! under Debian's kernel in QEMU, Keyway and cryptsetup in turns.
//!
//! The machine is emulated: its seconds are not those of hardware,
//! its ratios hold for what both programs do alike.

use keyway_tests::Scratch;
use keyway_tests::vm::{Machine, is_prepared};
use std::process::ExitCode;
use std::time::Duration;

/// How a volume is made, and how it is opened.
const ROWS: [(&str, &str); 4] = [
    ("LUKS1, PBKDF2 of 1000 iterations", "--type luks1 --pbkdf-force-iterations 1000"),
    ("LUKS2, PBKDF2 of 1000 iterations", "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000"),
    (
        "LUKS2, Argon2id of 32 MiB",
        "--type luks2 --pbkdf argon2id --pbkdf-memory 32768 --pbkdf-force-iterations 4 --pbkdf-parallel 2",
    ),
    ("LUKS2, PBKDF2 of 100000 iterations", "--type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 100000"),
];

const ROUNDS: usize = 11;

fn main() -> ExitCode {
    if !is_prepared() {
        eprintln!("kernel-door: the machine's kernel is missing (tests/vm/prepare)");
        return ExitCode::FAILURE;
    }
    let scratch = Scratch::new();
    let machine =
        Machine::new().processors(2).with_keyway().file("key", "secret").limit(Duration::from_secs(900));
    let report = machine.disk(&scratch.sized("disk", 32 << 20)).run(&scenario());
    println!(
        "{:<40} {:>10} {:>11} {:>6}  wanted",
        "opening to the first sector, ms", "Keyway", "cryptsetup", "ratio"
    );
    let mut reached = true;
    for (row, (title, _)) in ROWS.iter().enumerate() {
        let [ours, theirs] = ["keyway", "cryptsetup"].map(|program| {
            let key = format!("{row} {program}");
            let lines = report.lines().filter_map(|line| line.strip_prefix(&key)?.trim().parse::<f64>().ok());
            // The first round counts for nobody.
            lines.skip(1).map(|microseconds| microseconds / 1e3).collect::<Vec<_>>()
        });
        let ratio = median(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect());
        let verdict = if ratio <= 1.0 { "reached" } else { "NOT reached" };
        reached &= ratio <= 1.0;
        println!("{title:<40} {:>10.0} {:>11.0} {ratio:>6.2}  ≤ 1 {verdict}", median(ours), median(theirs));
    }
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn scenario() -> String {
    let mut script = String::from(
        r#"
now() { echo "$EPOCHREALTIME" | tr -d .; }
turn() { started=$(now)
         $2 open /dev/vda volume --key-file /key
         dd if=/dev/mapper/volume of=/dev/null bs=4k count=1 2>/dev/null
         echo "$1 $2 $(($(now) - started))"
         cryptsetup close volume; }
"#,
    );
    for (row, (_, options)) in ROWS.iter().enumerate() {
        script += &format!("cryptsetup luksFormat -q {options} /dev/vda /key 2>/dev/null\n");
        for _ in 0..=ROUNDS {
            script += &format!("turn {row} keyway\nturn {row} cryptsetup\n");
        }
    }
    script
}

fn median(mut values: Vec<f64>) -> f64 {
    assert_eq!(values.len(), ROUNDS, "a turn said nothing");
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
