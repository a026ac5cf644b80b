//! What cryptsetup 2.6's bitlkDump prints, with times in UTC (lib/bitlk, `BITLK_dump`; src/cryptsetup.c,
//! `bitlkDump_with_volume_key`). cryptsetup looks at the first copy of the metadata only, and checks no checksum.

use super::Header;
use super::time::unix_time;
use crate::kind::key_text::with_key;
use keyway_crypto::Secret;
use keyway_format::bitlk::{METADATA_LEN, Protection, Version};
use keyway_format::text::Shown;
use std::fmt::Write;

/// The header's text. `device` is what the user calls it; times are in UTC.
pub fn header(header: &Header, device: &str) -> String {
    let (boot, metadata) = (&header.boot, &header.metadata);
    let encryption = metadata.encryption;
    let to_go = if boot.version == Version::ToGo { " To Go" } else { "" };
    let mut text = String::new();
    let mut line = |line: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{line}");
    };
    line(format_args!("Info for BITLK{to_go} device {device}."));
    line(format_args!("Version:      \t{}", metadata.version));
    line(format_args!("GUID:         \t{}", metadata.guid));
    line(format_args!("Sector size:  \t{} [bytes]", boot.sector_size.0));
    line(format_args!("Volume size:  \t{} [bytes]", metadata.state.encrypted.0));
    line(format_args!("Created:      \t{}", ctime(unix_time(metadata.created))));
    line(format_args!("Description:  \t{}", Shown(metadata.description.as_deref().unwrap_or("(null)"))));
    line(format_args!("Cipher name:  \t{}", encryption.cipher()));
    line(format_args!("Cipher mode:  \t{}", encryption.mode()));
    line(format_args!("Cipher key:   \t{} bits\n", encryption.key_bits()));
    line(format_args!("Keyslots:"));
    for (number, protector) in metadata.protectors.iter().enumerate() {
        line(format_args!(" {number}: VMK"));
        if let Some(name) = &protector.name {
            line(format_args!("\tName:       \t{}", Shown(name)));
        }
        line(format_args!("\tGUID:       \t{}", protector.guid));
        line(format_args!("\tProtection: \t{}", protection(protector.protection)));
        line(format_args!("\tSalt:       \t{}", hex(&protector.salt)));
        for wrapped in &protector.wrapped {
            line(format_args!("\tKey data size:\t{} [bytes]", wrapped.len()));
        }
    }
    line(format_args!(" {}: FVEK", metadata.protectors.len()));
    line(format_args!("\tKey data size:\t{} [bytes]\n", metadata.volume_key.len()));
    line(format_args!("Metadata segments:"));
    for (number, (at, _)) in header.copies.iter().enumerate() {
        line(format_args!(" {number}: FVE metadata area"));
        line(format_args!("\tOffset: \t{} [bytes]", at.0));
        line(format_args!("\tSize:   \t{METADATA_LEN} [bytes]"));
    }
    let (offset, len) = metadata.boot_sectors.map_or((0, 0), |moved| (moved.offset.0, moved.len.0));
    line(format_args!(" 3: Volume header"));
    line(format_args!("\tOffset: \t{offset} [bytes]"));
    line(format_args!("\tSize:   \t{len} [bytes]"));
    line(format_args!("\tCipher: \t{}-{}", encryption.cipher(), encryption.mode()));
    text
}

/// The text of `--dump-volume-key`, which holds the key: a secret itself.
pub fn with_volume_key(header: &Header, device: &str, volume_key: &Secret) -> Secret {
    let head = format!("{}MK dump:\t", with_key_size(header, device, volume_key));
    with_key(&head, volume_key, 16)
}

/// The same without the key, which has gone to a file.
pub fn with_key_size(header: &Header, device: &str, volume_key: &Secret) -> String {
    let encryption = header.metadata.encryption;
    format!(
        "BITLK header information for {device}\nCipher name:   \t{}\nCipher mode:   \t{}\nUUID:          \t{}\n\
         MK bits:       \t{}\n",
        encryption.cipher(),
        encryption.mode(),
        header.metadata.guid,
        8 * volume_key.len(),
    )
}

/// cryptsetup's words, which know fewer protections than there are.
fn protection(protection: Protection) -> &'static str {
    match protection {
        Protection::ClearKey => "VMK protected with clear key",
        Protection::Tpm => "VMK protected with TPM",
        Protection::StartupKey => "VMK protected with startup key",
        Protection::TpmPin => "VMK protected with TPM and PIN",
        Protection::Passphrase => "VMK protected with passphrase",
        Protection::RecoveryPassword => "VMK protected with recovery passphrase",
        Protection::SmartCard => "VMK protected with smart card",
        Protection::TpmStartupKey | Protection::TpmPinStartupKey | Protection::Unknown(_) => {
            "VMK with unknown protection"
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// As C's ctime prints it, without the newline: the civil calendar, from days since 1970.
fn ctime(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86400), seconds.rem_euclid(86400));
    let weekday = WEEKDAYS[(days + 4).rem_euclid(7) as usize];
    // Years begin in March here, so that a leap day is the last of its year.
    let from_march = days + 719_468;
    let (era, day) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let year = 400 * era + year + i64::from(month >= 10);
    let day = day - (153 * month + 2) / 5 + 1;
    let month = MONTHS[((month + 2) % 12) as usize];
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday} {month}{day:3} {hour:02}:{minute:02}:{second:02} {year}")
}

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    /// GNU date's answers.
    #[test]
    fn times_as_ctime_prints_them() {
        for (seconds, expected) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (951_868_799, "Tue Feb 29 23:59:59 2000"),
            (951_868_800, "Wed Mar  1 00:00:00 2000"),
            (1_562_222_278, "Thu Jul  4 06:37:58 2019"),
            (4_107_542_399, "Sun Feb 28 23:59:59 2100"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100"),
            (1_735_689_599, "Tue Dec 31 23:59:59 2024"),
        ] {
            assert_eq!(ctime(seconds), expected);
        }
    }
}
