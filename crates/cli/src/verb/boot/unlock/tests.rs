//! Which volumes a command line names, and why one is not opened.

use super::*;
use keyway_boot::crypttab;

#[test]
fn a_name_that_cannot_be_opened_is_said_to_be_unknown_or_left() {
    let plan = Plan {
        command_line: String::new(),
        entries: crypttab::parse(b"home /dev/a\n"),
        demanding: Vec::new(),
        waits: Waits::new(None, "", USUAL_WAIT),
        shell: false,
        forgets: false,
        lvm: Lvm::Off,
        md: None,
        listed: cmdline::Lvm::default(),
        left: vec!["swap".into()],
    };
    let why = |name: &str| match plan.named(&[name.into()]) {
        Ok(found) => found[0].name.to_string_lossy().into_owned(),
        Err(failure) => failure.message().to_owned(),
    };
    assert_eq!(why("home"), "home");
    assert_eq!(why("swap"), "swap: it is left to the system that starts, with a random key each time.");
    assert!(why("other").starts_with("other: neither the kernel's command line nor /etc/crypttab"));
}
