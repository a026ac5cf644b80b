//! The findings as text: a table of drivers, what is missing, and the verdict in words.

use super::kernel::{Cipher, Findings, is_wrong};
use super::place::Place;
use super::subject::Subject;
use crate::output::paint::{Paint, printable};
use crate::output::sentence::cannot_map;
use keyway_kernel::modules::Found;
use keyway_kernel::{Checked, Line, Row, Severity, Speed, System, User, in_words};
use std::fmt::Write;

/// The whole page.
pub(super) fn show(subject: &Subject, findings: &Findings, paint: Paint) -> String {
    let mut page = String::new();
    if let Some(volume) = &subject.volume {
        let specs: Vec<String> = subject.specs.iter().map(|spec| printable(&spec.to_string())).collect();
        let _ = writeln!(page, "{}  {}", paint.strong(&printable(volume)), paint.strong(&specs.join(", ")));
    }
    if let Some(system) = &findings.system {
        head(&mut page, system, findings, paint);
    }
    match &findings.ciphers[..] {
        ciphers if ciphers.iter().all(|cipher| cipher.verdict.is_empty()) => every(&mut page, ciphers, paint),
        ciphers => ciphers.iter().for_each(|cipher| one(&mut page, cipher, paint)),
    }
    for place in &findings.places {
        modules(&mut page, place, paint);
    }
    page
}

fn head(page: &mut String, system: &System, findings: &Findings, paint: Paint) {
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(page, "  {}{value}", paint.faint(&format!("{name:<9}")));
    };
    if !system.release.is_empty() {
        let version = system.registry.version.map(|version| version.to_string()).unwrap_or_default();
        let beside =
            if system.release.starts_with(&version) { String::new() } else { format!(" ({version})") };
        row("Kernel", &format!("Linux {}{beside}", printable(&system.release)));
    }
    if let Some(machine) = &findings.machine {
        let features: Vec<&str> = machine
            .features
            .iter()
            .map(String::as_str)
            .filter(|feature| SHOWN_FEATURES.contains(feature))
            .collect();
        let features =
            if features.is_empty() { "no instructions for ciphers".to_owned() } else { features.join(" ") };
        row("CPU", &format!("{}: {features}", printable(&machine.cpu)));
    }
    if let Err(missing) = &system.flags {
        row("Flags", &format!("not reported by the kernel: {missing}; the table of engines is used"));
    }
}

fn one(page: &mut String, cipher: &Cipher, paint: Paint) {
    let xray = &cipher.xray;
    let algorithm = xray.algorithm.to_string();
    let _ = writeln!(page, "\n  {} is {} to the kernel", paint.strong(&xray.spec), paint.strong(&algorithm));
    let chosen = xray.dm_crypt.as_ref().ok().map(|choice| &choice.driver);
    let mut rows: Vec<Cells> = xray
        .rows
        .iter()
        .map(|row| {
            let mark = if chosen == Some(&row.driver.driver) { ">" } else { " " };
            let name = format!("{mark} {}", printable(&row.driver.driver));
            let [large, small] = [4096, 512].map(|bytes| speed(row, bytes));
            let cells = [name, row.driver.priority.to_string(), what(row), large, small, output(row)];
            Cells { cells, is_bad: is_wrong(row) }
        })
        .collect();
    if let Some((speed, code)) = &xray.keyway {
        let pair = format!("{} / {}", in_words(speed.encrypt), in_words(speed.decrypt));
        let runs = format!("  Keyway, {code}");
        let cells = [runs, String::new(), "CPU".into(), pair, String::new(), "the reference".into()];
        rows.push(Cells { cells, is_bad: false });
    }
    table(page, ["  Driver", "Priority", "Runs on", "4096 bytes", "512 bytes", "Output"], &rows, paint);
    if let Some(missing) = &xray.unmeasured {
        let _ = writeln!(page, "  {} Nothing was measured: {missing}.", paint.faint("·"));
        let _ = writeln!(page, "  {} {}", paint.faint("·"), without_af_alg(&xray.spec));
    }
    page.push('\n');
    for line in &cipher.verdict {
        let _ = writeln!(page, "  {} {}.", mark(line, paint), painted(line, paint));
    }
}

/// More and more kernels keep AF_ALG from everybody: what can be known all the same, and what not.
fn without_af_alg(spec: &str) -> String {
    format!(
        "Keyway itself needs none of it. As root, \"keyway bench disk --cipher {} /dev/ram0\" (after modprobe brd)\n    measures \
         the driver that dm-crypt takes, and checks its output; the others cannot be tried.",
        printable(spec)
    )
}

/// `--all`: one line each.
fn every(page: &mut String, ciphers: &[Cipher], paint: Paint) {
    let mut rows = Vec::new();
    for row in ciphers.iter().flat_map(|cipher| &cipher.xray.rows) {
        let (name, driver) = (printable(&row.driver.name), printable(&row.driver.driver));
        let priority = row.driver.priority.to_string();
        let cells = [name, driver, priority, what(row), output(row), String::new()];
        rows.push(Cells { cells, is_bad: is_wrong(row) });
    }
    if !rows.is_empty() {
        page.push('\n');
        table(page, ["Algorithm", "Driver", "Priority", "Runs on", "Output", ""], &rows, paint);
    }
}

/// The CPU or an accelerator, and the users that do not accept it.
fn what(row: &Row) -> String {
    let runs_on = row.engine.map_or("CPU", |engine| engine.name);
    let refused: Vec<&str> = row.refused_by.iter().map(|user: &User| user.name()).collect();
    match refused.is_empty() {
        true => runs_on.to_owned(),
        false => format!("{runs_on} (not for {})", refused.join(", ")),
    }
}

fn speed(row: &Row, bytes: usize) -> String {
    let speeds = row.speeds.as_deref().unwrap_or_default();
    match speeds.iter().find(|speed| speed.bytes == bytes) {
        Some(Speed { encrypt, decrypt, .. }) => format!("{} / {}", in_words(*encrypt), in_words(*decrypt)),
        None => "-".to_owned(),
    }
}

fn output(row: &Row) -> String {
    match &row.checked {
        Some(Checked::Right(times)) => format!("right ({times} checks)"),
        Some(Checked::Wrong(wrong)) => format!("WRONG from byte {}: {}", wrong.at, wrong.during),
        Some(Checked::Failed(why)) => format!("FAILED: {why}"),
        Some(Checked::NotChecked(missing)) => format!("not checked: {missing}"),
        None => match &row.driver.selftest[..] {
            "passed" | "" => "not checked".to_owned(),
            state => format!("self-test {state}"),
        },
    }
}

fn modules(page: &mut String, place: &Place, paint: Paint) {
    let release = match place.release.is_empty() {
        true => String::new(),
        false => format!(", Linux {}", printable(&place.release)),
    };
    let _ =
        writeln!(page, "\n  {}{release}: {} modules", paint.strong(&printable(&place.name)), place.modules);
    for (need, found) in &place.needs {
        let (state, words) = match found {
            Found::BuiltIn(module) if *module == need.name => (paint.good("ok     "), "built in".to_owned()),
            Found::BuiltIn(module) => (paint.good("ok     "), format!("built in, {module}")),
            Found::Module(module) if *module == need.name => (paint.good("ok     "), "module".to_owned()),
            Found::Module(module) => (paint.good("ok     "), format!("module {module}")),
            Found::Loaded => (paint.good("ok     "), "loaded".to_owned()),
            Found::Incomplete { module, without } => (
                paint.bad("MISSING"),
                format!("{module} is there, but {without}, which it depends on, is not"),
            ),
            Found::Missing => (paint.bad("MISSING"), "neither a module nor built in".to_owned()),
            Found::Unknown => (paint.warning("unknown"), "no module; it may be built in".to_owned()),
        };
        let _ = writeln!(
            page,
            "  {state} {:<12} {words}  {}",
            printable(&need.name),
            paint.faint(&format!("({})", need.why))
        );
    }
    let lacking =
        place.needs.iter().filter(|(_, found)| matches!(found, Found::Missing | Found::Incomplete { .. }));
    let lacking: Vec<&str> = lacking.map(|(need, _)| &need.name[..]).collect();
    page.push('\n');
    let unknown = place.needs.iter().any(|(_, found)| *found == Found::Unknown);
    let verdict = match (lacking.is_empty(), unknown) {
        (false, _) => paint.bad(&cannot_map(&listed(&lacking))),
        (true, true) => paint.warning("Nothing is known to be missing, but not everything could be checked."),
        (true, false) => paint.good("It has everything that this needs."),
    };
    let _ = writeln!(page, "  {verdict}");
    for note in &place.notes {
        let _ = writeln!(page, "  {} {}", paint.warning("!"), printable(note));
    }
}

/// "a is", "a and b are".
fn listed(names: &[&str]) -> String {
    match names {
        [] => "nothing is".into(),
        [one] => format!("{one} is"),
        [most @ .., last] => format!("{} and {last} are", most.join(", ")),
    }
}

fn mark(line: &Line, paint: Paint) -> String {
    match line.severity {
        Severity::Good => paint.good("+"),
        Severity::Note => paint.faint("·"),
        Severity::Warning => paint.warning("!"),
        Severity::Bad => paint.bad("X"),
    }
}

/// A sentence starts with a capital; names of ciphers and drivers stay as they are.
fn painted(line: &Line, paint: Paint) -> String {
    let mut text = printable(&line.text);
    let first_word = text.split(' ').next().unwrap_or_default();
    if first_word.chars().all(|c| c.is_ascii_lowercase())
        && let Some(first) = text.get(..1)
    {
        let capital = first.to_ascii_uppercase();
        text.replace_range(..1, &capital);
    }
    if line.severity == Severity::Bad { paint.bad(&text) } else { text }
}

/// A line of a table.
struct Cells {
    cells: [String; 6],
    is_bad: bool,
}

/// Columns as wide as their widest entry.
fn table(page: &mut String, head: [&str; 6], rows: &[Cells], paint: Paint) {
    if rows.is_empty() {
        return;
    }
    let width = |column: usize| {
        let widest = rows.iter().map(|row| row.cells[column].chars().count()).max().unwrap_or(0);
        if widest == 0 { 0 } else { widest.max(head[column].chars().count()) }
    };
    let widths: Vec<usize> = (0..6).map(width).collect();
    let line = |cells: &[&str]| {
        let cells = cells.iter().zip(&widths).filter(|(_, width)| **width > 0);
        let cells: Vec<String> =
            cells.map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let _ = writeln!(page, "  {}", paint.faint(&line(&head)));
    for row in rows {
        let text = line(&row.cells.each_ref().map(String::as_str));
        let text = if row.is_bad { paint.bad(&text) } else { text };
        let _ = writeln!(page, "  {text}");
    }
}

/// The features that matter to ciphers, as /proc/cpuinfo names them on x86 and Arm.
const SHOWN_FEATURES: &[&str] = &[
    "aes",
    "vaes",
    "pclmulqdq",
    "vpclmulqdq",
    "gfni",
    "sha_ni",
    "ssse3",
    "avx",
    "avx2",
    "avx512f",
    "avx512vl",
    "pmull",
    "sha1",
    "sha2",
    "sha3",
    "sha512",
    "asimd",
    "neon",
    "sve",
    "sve2",
    "sm4",
    "zkne",
    "zvkned",
];
