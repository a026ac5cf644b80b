//! Help, man pages and completions: generated from the tables, and fast.

use keyway_tests::{Scratch, Terminal, keyway, need, peer, programs};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::OnceLock;

/// All verbs that the program has a man page of: no list of them stands here.
pub(crate) fn verbs() -> &'static [String] {
    static VERBS: OnceLock<Vec<String>> = OnceLock::new();
    VERBS.get_or_init(|| {
        let scratch = Scratch::new();
        keyway("man --output").arg(scratch.root()).ok();
        let pages = std::fs::read_dir(scratch.root()).unwrap().map(|page| page.unwrap().file_name());
        let names = pages.filter_map(|page| {
            let page = page.to_str()?.strip_prefix("keyway-")?.strip_suffix(".8")?;
            Some(page.to_owned())
        });
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        assert!(names.len() > 50, "{names:?}");
        names
    })
}

#[test]
fn the_overview_names_every_verb_and_fits_a_screen() {
    let text = keyway("--help").ok().quiet().text();
    for verb in verbs() {
        assert!(text.contains(verb), "{verb} is missing in\n{text}");
    }
    assert!(text.lines().count() < 40, "{text}");
    assert_eq!(keyway("-h").ok().text(), text);
    assert_eq!(keyway("-?").ok().text(), text);
    assert_eq!(keyway("help").ok().text(), text);
}

/// Without arguments: on the smallest terminal, with the prompt below it. It shows some commands, and where all are.
#[test]
fn the_first_screen_fits_and_its_example_works_as_typed() {
    need!("setsid", "truncate");
    let bare = keyway("").fails(1);
    assert_eq!(bare.text(), "");
    let screen = bare.errors();
    assert!(screen.lines().count() < 24, "{screen}");
    assert!(screen.contains("\n  inspect ") && screen.contains("\"keyway --help\""), "{screen}");
    // By a path, as in a fresh checkout.
    let scratch = Scratch::new();
    symlink(std::fs::canonicalize(keyway_tests::peers::program()).unwrap(), scratch.path("keyway")).unwrap();
    let screen = peer("sh", "-c").arg("./keyway").directory(scratch.root()).fails(1).errors();
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    let example = screen.split("Example: ").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap();
    let lines: Vec<&str> = example.lines().skip(1).map(str::trim).collect();
    let [make, open, close] = lines[..] else { panic!("{example}") };
    assert!(close.starts_with("./keyway close "), "{example}");
    // Not beside the program, whose name is that of the directory for sockets: they would go where all tests see them.
    let runtime = scratch.path("run");
    std::fs::create_dir(&runtime).unwrap();
    let at = |line: &str| {
        let runtime = runtime.display();
        let run = peer("env", "").arg(format!("XDG_RUNTIME_DIR={runtime}")).args("sh -c").arg(line);
        run.directory(scratch.root())
    };
    let typed = Terminal::start(&at(make)).expect("Are you sure").type_line("YES");
    let typed =
        typed.expect("Enter passphrase").type_secretly("secret").expect("Verify").type_secretly("secret");
    let ending = typed.finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    let ending = Terminal::start(&at(open)).expect("Enter passphrase").type_secretly("secret").finish();
    assert_eq!(ending.code, Some(0), "{}", ending.screen);
    assert!(ending.screen.contains("v is open"), "{}", ending.screen);
    at(close).ok();
}

/// Every page, of commands and of their verbs. (cryptsetup's own help is wider.)
#[test]
fn help_fits_eighty_columns() {
    let check = |line: &str, page: &str| {
        let long: Vec<&str> = page.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{line}: {long:#?}");
    };
    let of_verbs = [
        "boot initramfs",
        "boot fit",
        "boot script",
        "boot uki",
        "boot check",
        "bench kdf",
        "bench disk",
        "bench diff",
        "bench merge",
    ];
    for verb in verbs().iter().map(String::as_str).chain(of_verbs) {
        for option in ["--help", "--help-all", "--usage"] {
            check(verb, &keyway(verb).args(option).ok().text());
        }
    }
    check("--help", &keyway("--help").ok().text());
    check("help exit-codes", &keyway("help exit-codes").ok().text());
}

#[test]
fn the_page_of_features_names_every_verb() {
    let page = include_str!("../../../docs/FEATURES.md");
    let row = page.lines().find_map(|line| line.strip_prefix("| Commands | ")).expect("the row of commands");
    let row = row.trim_end_matches(" |").replace("; and without a counterpart: ", ", ");
    let mut named: Vec<&str> = row.split(", ").collect();
    named.sort_unstable();
    assert_eq!(named, *verbs());
}

#[test]
fn every_verb_has_help_and_a_man_page() {
    let scratch = Scratch::new();
    let pages = scratch.path("made/on/the/way");
    keyway("man --output").arg(&pages).ok();
    assert!(pages.join("keyway.8").exists());
    for verb in verbs() {
        let help = keyway(verb).args("--help").ok().quiet().text();
        assert!(help.contains(&format!("Usage: keyway {verb} [OPTION...]")), "{help}");
        assert_eq!(keyway("help").arg(verb).ok().text(), help);
        assert!(help.lines().count() <= 40, "{help}");
        let all = keyway(verb).args("--help-all").ok().quiet().text();
        assert!(all.contains("--test-args") && !help.contains("--test-args"), "{help}");
        let shown = keyway("man").arg(verb).ok().quiet().text();
        assert!(shown.starts_with(&format!("KEYWAY-{}\n\nNAME\n", verb.to_uppercase())), "{shown}");
        assert!(keyway(verb).args("--usage").ok().text().starts_with(&format!("Usage: keyway {verb}")));
        let page = std::fs::read_to_string(pages.join(format!("keyway-{verb}.8"))).unwrap();
        assert!(page.starts_with(".TH \"KEYWAY"), "{page}");
        for section in
            [".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH \"COMMON OPTIONS\"", ".SH EXIT STATUS"]
        {
            assert!(page.contains(section), "keyway-{verb}.8 lacks {section}");
        }
    }
}

#[test]
fn man_pages_render_without_a_warning() {
    need!("groff");
    let scratch = Scratch::new();
    keyway("man --output").arg(scratch.root()).ok();
    for entry in std::fs::read_dir(scratch.root()).unwrap() {
        let path = entry.unwrap().path();
        peer("groff", "-man -Tascii -ww -z").arg(&path).ok().quiet();
    }
}

/// What is refused in cryptsetup's words is behind `--help-all` and in the man page, and called as
/// cryptsetup help is as long as ever.
#[test]
fn refused_options_are_not_what_help_shows_first() {
    for option in
        ["--integrity SPEC", "--hw-opal", "--hw-opal-only", "--integrity-inline", "--integrity-no-wipe"]
    {
        let all = keyway("luksFormat --help-all").ok().text();
        let line = all.lines().find(|line| line.contains(&format!("{option} "))).expect(option);
        assert!(line.contains("Refused"), "{line}");
        assert!(!keyway("luksFormat --help").ok().text().contains(option), "{option}");
        let name = option.split(' ').next().unwrap();
        assert!(keyway("man luksFormat").ok().text().contains(name), "{name}");
    }
    let scratch = Scratch::new();
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    let help = peer(link.to_str().unwrap(), "open --help").ok().text();
    for option in ["--keyfile-offset", "--perf-no_read_workqueue", "--test-args", "--debug-json"] {
        assert!(help.contains(option), "{option}: {help}");
    }
    assert!(!help.contains("--help-all") && !help.contains("--password-command"), "{help}");
    peer(link.to_str().unwrap(), "open --help-all").fails(1).says("--help-all: unknown option");
}

#[test]
fn a_verb_of_a_verb_has_help_of_its_own() {
    let check = keyway("boot check --help").ok().text();
    assert!(check.contains("Usage: keyway boot check [OPTION...] VOLUME\n"), "{check}");
    assert!(check.contains("--grub-version") && !check.contains("--extract"), "{check}");
    assert_eq!(keyway("help boot check").ok().text(), check);
    // What the other verbs take is refused, and on no page of check's.
    let all = keyway("boot check --help-all").ok().text();
    for option in ["--output", "--list", "--ramdisk", "--dtb", "--arch", "--force", "--volume", "--hash"] {
        assert!(!all.contains(&format!("{option} ")), "{option}: {all}");
    }
    assert_eq!(keyway("boot --help check").ok().text(), check);
    assert!(keyway("boot check --help-all").ok().text().contains("--memory-budget"));
    // Nothing is opened there: what it limits is a sample.
    for (verb, page, is_sample) in
        [("boot check", "boot", true), ("passport", "passport", true), ("open", "open", false)]
    {
        let help = keyway(&format!("{verb} --help-all")).ok().text();
        let page = keyway(&format!("man {page}")).ok().text();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(help.contains("Memory limit for the sample (256M)."), is_sample, "{help}");
        assert_eq!(page.contains("The default is 256 MiB."), is_sample, "{page}");
        assert_eq!(page.contains("default is half of the available memory"), !is_sample, "{page}");
    }
    let boot = keyway("boot --help").ok().text();
    assert!(boot.contains("  check VOLUME ") && boot.contains("keyway boot initramfs --help"), "{boot}");
    assert!(keyway("bench diff --help").ok().text().contains("--threshold PERCENT"));
    assert!(!keyway("bench disk --help").ok().text().contains("--threshold"));
}

#[test]
fn man_shows_a_page_in_a_pager_on_a_terminal_and_as_text_elsewhere() {
    let text = keyway("man").ok().quiet().text();
    assert!(
        text.starts_with("KEYWAY\n\nNAME\n       keyway - Linux disk encryption without root\n"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80 || !line.contains("  ")), "{text}");
    assert_eq!(keyway("man keyway").ok().text(), text);
    let page = keyway("man luksFormat").ok().text();
    assert_eq!(keyway("man keyway-luksFormat").ok().text(), page);
    assert_eq!(keyway("man luksOpen").ok().text(), keyway("man open").ok().text());
    assert!(page.contains("\n       -c, --cipher SPEC\n              Cipher, mode and IV"), "{page}");
    // Nothing appears in the directory where it is typed.
    let scratch = Scratch::new();
    keyway("man luksFormat").directory(scratch.root()).ok();
    assert_eq!(std::fs::read_dir(scratch.root()).unwrap().count(), 0);
    // Without man(1) a terminal gets the pager.
    let bin = scratch.path("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["sh", "sed", "env", "setsid"] {
        symlink(format!("/usr/bin/{program}"), bin.join(program)).unwrap();
    }
    let run = keyway("man close").env("PATH", &bin).env("PAGER", "/bin/sed 's/^/PAGED /'");
    let ending = Terminal::start(&run).expect("PAGED KEYWAY-CLOSE").finish();
    assert_eq!(ending.code, Some(0));
    // With it, man gets the page.
    let man = bin.join("man");
    programs::script(&man, "#!/bin/sh\necho \"ASKED $*\"\nexec /bin/sed -n 1p\n");
    let run = keyway("man close").env("PATH", &bin);
    let ending = Terminal::start(&run).expect("ASKED -l -").expect(".TH \"KEYWAY").finish();
    assert_eq!(ending.code, Some(0));
}

/// Scripts read the second word of cryptsetup's version.
#[test]
fn called_as_cryptsetup_it_says_so() {
    let scratch = Scratch::new();
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    let run = |line: &str| Command::new(&link).args(line.split_whitespace()).output().unwrap();
    let version = String::from_utf8(run("--version").stdout).unwrap();
    assert!(version.starts_with("cryptsetup 2.8.8 flags: UDEV BLKID KEYRING (keyway "), "{version}");
    let refused = String::from_utf8(run("luksUUID --sector-size 512 x").stderr).unwrap();
    let last = refused.lines().last().unwrap();
    assert!(
        last.starts_with("cryptsetup: Option --sector-size is not allowed with luksUUID action"),
        "{last}"
    );
    let page = String::from_utf8(run("help luksDump").stdout).unwrap();
    assert!(page.contains("Usage: cryptsetup luksDump"), "{page}");
}

/// Scripts search its help for options and actions, and read the last line of an error.
#[test]
fn called_as_cryptsetup_its_help_and_usage_are_cryptsetups() {
    need!("cryptsetup");
    let scratch = Scratch::new();
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    let ours = |line: &str| keyway_tests::Run::new(&link, line);
    let theirs = |line: &str| keyway_tests::cryptsetup(line);
    let (help, known) = (ours("--help").ok().text(), theirs("--help").ok().text());
    for line in ["luksFormat --help", "-? close", "help"] {
        assert_eq!(ours(line).ok().text(), help, "{line}");
    }
    let names = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.starts_with("  -") || line.starts_with("      --"));
        // The first 40 columns: behind them are words about the option.
        let names = rows.map(|row| row.get(..40).unwrap_or(row));
        let names = names.flat_map(|row| row.split([' ', '=', ',']).filter(|word| word.starts_with('-')));
        names.map(str::to_owned).collect()
    };
    let listed = names(&help);
    // These were taken out after 2.6.
    let gone = ["-B", "-N", "--block-size", "--new", "--use-directio", "--use-fsync", "--write-log", "-"];
    for name in names(&known).iter().filter(|name| !gone.contains(&name.as_str())) {
        assert!(listed.contains(name), "{name}\n{help}");
    }
    let actions = |text: &str| -> Vec<String> {
        let rows = text.lines().filter_map(|line| line.strip_prefix('\t').filter(|row| row.contains(" - ")));
        rows.map(|row| row.split(" - ").next().unwrap_or_default().to_owned()).collect()
    };
    for action in actions(&known).iter().filter(|action| !action.starts_with("benchmark")) {
        assert!(actions(&help).contains(action), "{action}\n{help}");
    }
    for line in [
        "",
        "bogus",
        "luksFormat",
        "status",
        "luksOpen",
        "luksFormat --bogus x",
        "luksUUID --sector-size 512 x",
    ] {
        let (ours, theirs) = (ours(line).fails(1), theirs(line).fails(1));
        let (our_errors, their_errors) = (ours.errors(), theirs.errors());
        let (our_lines, their_lines) = (our_errors.lines().count(), their_errors.lines().count());
        assert!(our_errors.starts_with("Usage: cryptsetup [-"), "{ours}");
        assert!(
            our_lines >= their_lines && our_lines < 2 * their_lines,
            "{our_lines} lines, not {their_lines}"
        );
        let last = |text: &str| text.lines().last().unwrap_or_default().to_owned();
        let (our_last, their_last) = (last(&our_errors), last(&their_errors));
        let their_last = their_last.replace("/usr/sbin/", "");
        assert!(our_last.starts_with(their_last.trim_end_matches('.')), "{our_last}, not {their_last}");
        assert!(our_errors.contains("\n        [OPTION...] <action> <action-specific>\n"), "{ours}");
    }
}

/// Debian 12's cryptsetup has other defaults for plain volumes, and other figures in `status`.
#[test]
fn debian_12s_defaults_can_be_asked_for() {
    let scratch = Scratch::new();
    let (disk, key) = (scratch.sized("disk", 1 << 20), "secret\n");
    let old = |line: &str| keyway(line).directory(scratch.root()).env("CRYPTSETUP_COMPAT", "2.6");
    let told = old("read --type plain disk").stdin(key).ok();
    assert_eq!(told.errors(), "", "{told}");
    let named = keyway("read --type plain -c aes-cbc-essiv:sha256 -s 256 -h ripemd160").arg(&disk);
    assert!(named.stdin(key).ok().stdout == told.stdout);
    let new = keyway("read --type plain").arg(&disk).stdin(key).ok();
    assert!(new.stdout != told.stdout);
    new.says("WARNING: Using default options for cipher (aes-xts-plain64, key size 256 bits)");
    let wrong = keyway("status x").env("CRYPTSETUP_COMPAT", "2.5").fails(1);
    assert_eq!(wrong.errors(), "CRYPTSETUP_COMPAT=2.5: 2.6 or 2.8 is needed.\n");
    let link = scratch.path("cryptsetup");
    symlink(keyway_tests::peers::program(), &link).unwrap();
    let version = keyway_tests::Run::new(&link, "--version").env("CRYPTSETUP_COMPAT", "2.6").ok().text();
    assert!(version.starts_with("cryptsetup 2.6.1 flags: UDEV BLKID KEYRING (keyway "), "{version}");
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    need!("sh");
    let line = format!(
        "{} completions bash | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}",
        keyway_tests::peers::program().display()
    );
    let outcome = peer("bash", "-c").arg(line).ok().quiet();
    assert!(["0\n", "1\n"].contains(&outcome.text().as_str()), "{outcome}");
    peer("sh", "-c")
        .arg(format!("{} --help >/dev/full", keyway_tests::peers::program().display()))
        .fails(1)
        .says("Cannot write to standard output");
}
