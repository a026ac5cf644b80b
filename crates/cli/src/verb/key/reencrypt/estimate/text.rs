//! The estimate as text.

use super::{Estimate, NewFile};
use crate::output::figures::{grouped, span};
use crate::output::paint::{Paint, printable};
use crate::output::size::human;
use keyway::estimate::WRITE_SHARE;
use keyway_format::interval::Interval;
use keyway_format::luks2::reencryption::{Mode, MovedResilience, Resilience};
use std::fmt::Write;

pub(super) fn show(estimate: &Estimate, paint: Paint) -> String {
    let mut page = String::new();
    let what = match (estimate.measured.plan.mode(), estimate.is_under_way) {
        _ if estimate.header.is_some() => "to become LUKS2",
        (Mode::Reencrypt, false) => "to be reencrypted",
        (Mode::Encrypt, false) => "to be encrypted",
        (Mode::Decrypt, false) => "to be decrypted",
        (Mode::Reencrypt, true) => "being reencrypted",
        (Mode::Encrypt, true) => "being encrypted",
        (Mode::Decrypt, true) => "being decrypted",
    };
    let _ = writeln!(page, "{}  {what}", paint.strong(&printable(&estimate.device)));
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(page, "  {}{value}", paint.faint(&format!("{name:<11}")));
    };
    let amounts = &estimate.measured.amounts;
    row("Time", &paint.strong(&span(estimate.measured.seconds)));
    let (done, len) = estimate.measured.plan.progress();
    match done {
        0 => row("Data", &human(len)),
        done => row("Data", &format!("{} of {}, {} are done", human(amounts.left), human(len), human(done))),
    }
    row("Read", &human(amounts.read));
    let protection = match amounts.protection {
        0 => String::new(),
        bytes => format!(" and {} {}", human(bytes), kept(&estimate.measured.plan.what().resilience)),
    };
    row("Written", &format!("{}{protection}; {} of headers", human(amounts.written), human(amounts.headers)));
    row(
        "Hot zone",
        &format!(
            "about {} at a time, {}; at most {}",
            human(estimate.measured.zone),
            if amounts.zones == 1 { "once".to_owned() } else { format!("{} times", grouped(amounts.zones)) },
            human(estimate.measured.plan.zones().1)
        ),
    );
    row("A crash", &crash(estimate));
    let rates = &estimate.measured.rates;
    let mut measured = format!("read {} of this device at {}", human(rates.sampled), rate(rates.read));
    for (name, speed) in [&rates.old, &rates.new, &rates.hash].into_iter().flatten() {
        let _ = write!(measured, "; {} at {}", printable(name), rate(*speed));
    }
    row("Measured", &format!("{measured} a core, {} cores", rates.cores));
    row(
        "Assumed",
        &format!(
            "it writes at {} to {} % of that, likely {}: nothing was written to try",
            percent(WRITE_SHARE.low),
            percent(WRITE_SHARE.high),
            percent(WRITE_SHARE.likely)
        ),
    );
    if let Some((part, rest)) = estimate.given_up {
        let lost = format!("{} behind byte {part}: the volume cannot read them afterwards", human(rest));
        row("Given up", &paint.bad(&lost));
    }
    if let Some(limit) = estimate.limit {
        row("Limit", &format!("{}/s", human(limit)));
    }
    if let Some(backup) = &estimate.backup {
        row("Backup", &of_file(backup, paint));
    }
    if let Some(header) = &estimate.header {
        row("Header", &of_file(header, paint));
    }
    if estimate.measured.plan.may_be().len() > 1 {
        row("Unknown", UNKNOWN);
    }
    page
}

/// What protects the hot zone, in words.
fn kept(resilience: &Resilience) -> &'static str {
    match resilience {
        Resilience::Journal | Resilience::DataShift { moved: MovedResilience::Journal, .. } => "of copies",
        _ => "of hashes",
    }
}

/// What a crash can cost.
pub(super) fn crash(estimate: &Estimate) -> String {
    let what = estimate.measured.plan.what();
    if let (Resilience::None, Some(lost)) = (&what.resilience, estimate.measured.plan.hot_zone()) {
        return format!("has cost bytes {} to {}: they cannot be recovered", lost.start, lost.end);
    }
    match &what.resilience {
        Resilience::None => {
            format!(
                "costs the hot zone that is being written: up to {}",
                human(estimate.measured.plan.zones().1)
            )
        }
        resilience => match resilience.checksum() {
            Some(checksum) => {
                format!("costs nothing, if the device writes {} bytes atomically", checksum.block)
            }
            None => "costs nothing".to_owned(),
        },
    }
}

fn of_file(new: &NewFile, paint: Paint) -> String {
    let file = printable(&new.path.display().to_string());
    let name = format!("{} of the header to {file}", human(new.bytes));
    match (new.exists, new.free) {
        (true, _) => paint.bad(&format!("{file} already exists: the command would be refused")),
        (false, Some(free)) if new.fits() => format!("{name}: fits, {} are free", human(free)),
        (false, Some(free)) => paint
            .bad(&format!("{name}: does not fit, {} are free: the command would be refused", human(free))),
        (false, None) => {
            paint.bad(&format!("{name}: there is no such directory: the command would be refused"))
        }
    }
}

/// What only the passphrase tells of a volume of another kind.
const UNKNOWN: &str = "the cipher, which only the passphrase reveals: a chain of ciphers would be refused";

fn rate(rate: Interval) -> String {
    format!("{}/s", human(rate.likely as u64))
}

fn percent(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}
