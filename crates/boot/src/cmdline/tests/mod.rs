//! Command lines as people have them, each with its origin, and the lines of crypttab that they mean here.

mod lines;
mod page;

use super::*;
use crate::crypttab;
use crate::plan::Plan;
use lines::LINES;

const A: &str = "477e9f69-b3a3-4ae7-b62c-53577e62fa50";
const B: &str = "0a1b2c3d-0000-4000-8000-0123456789ab";

#[test]
fn command_lines_of_the_world() {
    let with = |text: &str| text.replace("$A", A).replace("$B", B);
    for (origin, line, entries, undone) in LINES {
        let found = CommandLine::parse(&with(line));
        let plan = Plan::new(found.clone(), Vec::new(), None);
        let shown: Vec<_> = plan.entries.iter().map(Entry::to_string).collect();
        assert_eq!(shown.join(" | "), with(entries), "{origin}: {line}");
        let undone: Vec<_> = undone.iter().map(|text| with(text)).collect();
        assert_eq!(found.undone, undone, "{origin}: {line}");
        assert!(found.unknown.is_empty(), "{origin}: {line}");
    }
    assert!(LINES.len() >= 60, "{}", LINES.len());
}

#[test]
fn what_is_said_of_all_volumes() {
    let of = CommandLine::parse;
    assert!(of("rd.luks=0").off && of("luks=no").off && !of("rd.luks=1").off && of("rd_NO_LUKS").off);
    assert!(of("rd.luks.crypttab=0").without_crypttab && of("cryptopts=").without_crypttab);
    assert!(!of("quiet").without_crypttab);
    let found = of("keyway.wait=7 keyway.shell rd.timeout=0");
    assert_eq!((found.wait, found.shell, found.forgets), (Some(Duration::from_secs(7)), true, false));
    assert!(of("keyway.cache=no").forgets && !of("keyway.cache=yes").forgets);
    let policies = ["/p", "sealed"].map(|policy| (crypttab::REQUIRE.to_owned(), policy.to_owned()));
    assert_eq!(of("keyway.require=/p keyway.require=sealed").demands, policies);
    let rekey = |text| of(text).rekey;
    assert_eq!((rekey("quiet"), rekey("keyway.rekey=no keyway.rekey=after")), (None, Some("after".into())));
}

#[test]
fn which_arrays_are_assembled() {
    let md = |line| CommandLine::parse(line).md;
    assert!(md("rd.md=0").off && md("rd_NO_MD").off && !md("rd.md").off && !md("rd.md=1 md=0,/dev/sda1").off);
    let named =
        md("rd.md.uuid=6bee949e:ef9f5620:d78733c5:9285f88e rd_MD_UUID=6BEE949E-ef9f-5620-d787-33c59285f88f");
    let named: Vec<_> = named.arrays.iter().flatten().map(ToString::to_string).collect();
    assert_eq!(named, ["6bee949e:ef9f5620:d78733c5:9285f88e", "6bee949e:ef9f5620:d78733c5:9285f88f"]);
}

#[test]
fn the_keyboards_map_is_named_in_five_ways() {
    for (line, map) in [
        ("rd.vconsole.keymap=de", Some("de")),
        ("vconsole.keymap=us vconsole.keymap=de-latin1", Some("de-latin1")),
        ("keymap=fr", Some("fr")),
        ("KEYTABLE=it", Some("it")),
        ("rd.vconsole.keymap=de rd.vconsole.keymap=", None),
        ("vconsole.font=x", None),
    ] {
        assert_eq!(CommandLine::parse(line).keymap.as_deref(), map, "{line}");
    }
}

#[test]
fn waits_of_others_are_minimums() {
    let wait = |text| CommandLine::parse(text).wait.map(|time| time.as_secs());
    assert_eq!(
        (wait("rd.timeout=90"), wait("rd.timeout=5"), wait("rd.retry=180")),
        (Some(90), None, Some(180))
    );
    assert_eq!(wait("rd.timeout=0"), Some(u64::MAX));
}

#[test]
fn words_of_ours_that_do_not_exist_are_kept_apart() {
    let found = CommandLine::parse("keyway.requires=sealed keyway.wiat=3 keyway.device=/dev/sda");
    assert_eq!(found.unknown, ["keyway.requires=sealed", "keyway.wiat=3"]);
}

#[test]
fn words_of_ours_are_known_in_every_spelling() {
    for word in [
        "Keyway.require=sealed",
        "keyway-require=sealed",
        "keyway_require=sealed",
        "rd.keyway.require=sealed",
        "x-keyway.require=sealed",
        "rd.luks.option=x-keyway.require=sealed",
        "rd.luks.serial=S,x-keyway.require=sealed",
        "cryptopts=target=r,x-keyway.require=sealed",
        "rd.luks.options=11111111=x-keyway.require=sealed",
        "rd.luks.options=discard=X-Keyway-require",
    ] {
        let found = CommandLine::parse(&format!("keyway.device=/dev/sda {word}"));
        assert_eq!((&found.unknown[..], found.undone.len()), (&[word.to_owned()][..], 0), "{word}");
    }
    assert!(CommandLine::parse("rd.luks.key=/x-keyway.key keywayfarer=1").unknown.is_empty());
    // Where a key is named: a table would read a demand there, too.
    for (word, unknown) in [
        ("crypt_root=/dev/a root_key=/k,x-keyway.require=sealed", "/k,x-keyway.require=sealed"),
        ("keyway.device=/dev/a keyway.key=x-keyway.require=sealed", "x-keyway.require=sealed"),
        ("rd.luks.key=/k,x-keyway.require=sealed", "rd.luks.key=/k,x-keyway.require=sealed"),
    ] {
        assert_eq!(CommandLine::parse(word).unknown, [unknown], "{word}");
    }
}

/// Command line, crypttab, what is opened.
type Demanded = (&'static str, &'static str, &'static str);

/// $D is the demand; where the device must be looked at, it is among those that are resolved then.
#[test]
fn no_demand_of_the_line_is_lost() {
    const D: &str = "x-keyway.require=sealed";
    let with = |text: &str| text.replace("$A", A).replace("$B", B).replace("$D", D);
    for (line, table, entries) in DEMANDED {
        let tables = vec![crypttab::parse(with(table).as_bytes()), Vec::new()];
        let plan = Plan::new(CommandLine::parse(&with(line)), tables, None);
        let shown: Vec<_> = plan.entries.iter().map(Entry::to_string).collect();
        assert_eq!(shown.join(" | "), with(entries), "{line}, {table}");
        let resolved = |tag: &str| {
            let device = format!("{tag}={A}");
            plan.demanding.iter().any(|entry| entry.device == *device && entry.demands().next().is_some())
        };
        let later = line.contains("=$A=$D");
        assert_eq!((resolved("UUID"), resolved("PARTUUID")), (later, later), "{line}");
        assert!(plan.unknown.is_empty() && plan.undone.is_empty(), "{line}: {:?}", plan.undone);
    }
}

#[test]
fn what_demands_nothing_is_no_demand() {
    for options in ["discard", "discard,x-keyway.rekey=no", "", "x-other.require=sealed"] {
        let found = CommandLine::parse(&format!("rd.luks.options={A}={options} rd.luks.options={options}"));
        assert!(found.demanding.is_empty() && found.demands.is_empty(), "{options}");
    }
}

#[rustfmt::skip]
const DEMANDED: &[Demanded] = &[
    ("rd.luks.uuid=$A rd.luks.options=$D rd.luks.options=discard", "", "luks-$A UUID=$A none discard,$D"),
    ("rd.luks.uuid=$A rd.luks.options=$D rd.luks.options=$A=discard", "", "luks-$A UUID=$A none discard,$D"),
    ("rd.luks.uuid=477e9f69 rd.luks.options=$A=$D", "", "luks-477e9f69 UUID=477e9f69* none $D"),
    ("keyway.device=/dev/sda2 rd.luks.options=$A=$D", "", "root /dev/sda2 none"),
    ("rd.luks.options=$A=$D", "root /dev/sda2 none luks", "root /dev/sda2 none luks"),
    ("rd.luks.options=$A=$D", "root UUID=$A none luks\nb UUID=$B", "root UUID=$A none luks,$D | b UUID=$B none"),
    ("rd.luks.partuuid=$A rd.luks.options=$A=$D", "", "luks-$A PARTUUID=$A none $D"),
    ("rd.luks.options=$D", "root UUID=$A none luks", "root UUID=$A none luks,$D"),
    ("rd.luks.options=x-keyway.seal-context=c", "a /dev/a\nb /dev/b", "a /dev/a none x-keyway.seal-context=c | b /dev/b none x-keyway.seal-context=c"),
    ("rd.luks.uuid=$A rd.luks.data=$A=/dev/sdx rd.luks.options=$A=header=/h rd.luks.options=$A=$D", "", "luks-$A /dev/sdx none header=/h,$D"),
    ("keyway.options=$D", "root /dev/a none luks", "root /dev/a none luks,$D"),
    ("keyway.options=$D rd.luks.uuid=$A", "", "luks-$A UUID=$A none $D"),
];

#[test]
fn a_plain_volume_in_five_fields() {
    let shown = |crypto| plain_options(crypto).map(|options| crypttab::list_of(&options));
    for (crypto, options) in [
        (
            "sha512:twofish-xts-plain64:512:0:",
            "plain,hash=sha512,cipher=twofish-xts-plain64,size=512,offset=0",
        ),
        (":aes-xts-plain64:512:0:7", "plain,cipher=aes-xts-plain64,size=512,offset=0,skip=7"),
        ("sha256:aes-cbc-essiv:sha256:256::", "plain,hash=sha256,cipher=aes-cbc-essiv:sha256,size=256"),
    ] {
        assert_eq!(shown(crypto).as_deref(), Some(options), "{crypto}");
    }
    assert_eq!((shown("sha512:aes"), shown("a:b:c:d:e:f:g"), shown("")), (None, None, None));
}

#[test]
fn ours_without_a_device_is_said() {
    let found = CommandLine::parse(
        "keyway.name=n keyway.key=/k keyway.header=/h keyway.options=tries=1,x-keyway.require=p",
    );
    let why = "it needs a keyway.device=.";
    let words = ["keyway.name=n", "keyway.key=/k", "keyway.header=/h", "keyway.options=tries=1"];
    assert_eq!(found.undone, words.map(|word| format!("{word}: {why}")));
    assert!(found.entries.is_empty() && found.unknown.is_empty());
    assert_eq!(found.demands, [("x-keyway.require".to_owned(), "p".to_owned())]);
}

#[test]
fn the_key_in_the_image_is_for_whom_its_maker_meant() {
    let given = |text: &str| {
        let mut line = CommandLine::parse(text);
        line.give_usual_key();
        line.entries.iter().map(Entry::to_string).collect::<Vec<_>>()
    };
    assert_eq!(given("cryptdevice=/dev/sda2:r"), ["r /dev/sda2 /crypto_keyfile.bin"]);
    assert_eq!(given("cryptdevice=/dev/sda2:r cryptkey=rootfs:/k"), ["r /dev/sda2 /k"]);
    assert_eq!(given("cryptroot=/dev/sda2 cryptkey"), ["root /dev/sda2 /crypto_keyfile.bin"]);
    assert_eq!(given("cryptroot=/dev/sda2"), ["root /dev/sda2 none"]);
    assert_eq!(given("keyway.device=/dev/sda2"), ["root /dev/sda2 none"]);
}

#[test]
fn a_uuid_on_the_line_completes_a_table() {
    let planned = |text: &str, table: &[u8]| {
        let tables = vec![crypttab::parse(table), Vec::new()];
        let plan = Plan::new(CommandLine::parse(text), tables, None);
        plan.entries.iter().map(Entry::to_string).collect::<Vec<_>>()
    };
    let table = b"home UUID=477e9f69-b3a3-4ae7-b62c-53577e62fa50 none luks,tries=3\n";
    assert_eq!(
        planned(&format!("rd.luks.options={A}=tries=1,discard rd.luks.key={A}=/k"), table),
        [format!("home UUID={A} /k luks,tries=1,discard")]
    );
    // For all that no table has.
    assert_eq!(planned("rd.luks.options=discard", table), [format!("home UUID={A} none luks,tries=3")]);
    assert_eq!(planned(&format!("rd.luks.uuid={A}"), table), [format!("home UUID={A} none luks,tries=3")]);
    assert!(planned("rd.luks.crypttab=0", table).is_empty());
    // A beginning is enough, and finds the name and the key.
    let root = format!("root UUID={A} /k luks,discard\n");
    assert_eq!(
        planned("rd.luks.uuid=477e9f69-b3a3", root.as_bytes()),
        ["root UUID=477e9f69-b3a3* /k luks,discard"]
    );
}

/// Origin, command line, crypttab, the image's own table, what is opened, what is for nobody.
type Behind = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

/// What the command line says of all volumes goes behind what a table says of one.
#[test]
fn what_is_said_of_all_goes_behind_a_tables_line() {
    let with = |text: &str| text.replace("$A", A).replace("$B", B);
    for (origin, line, crypttab, own, entries, undone) in BEHIND {
        let tables = [crypttab, own].map(|table| crypttab::parse(with(table).as_bytes())).to_vec();
        let plan = Plan::new(CommandLine::parse(&with(line)), tables, None);
        let shown: Vec<_> = plan.entries.iter().map(Entry::to_string).collect();
        assert_eq!(shown.join(" | "), with(entries), "{origin}: {line}");
        assert_eq!(plan.undone.join(" | "), with(undone), "{origin}: {line}");
    }
}

#[rustfmt::skip]
const BEHIND: &[Behind] = &[
    ("systemd(8): without an entry in /etc/crypttab", "rd.luks.uuid=$A rd.luks.options=discard,tries=1", "r UUID=$A none tries=5", "",
        "r UUID=$A none tries=5", "rd.luks.options=discard,tries=1: applies to no volume."),
    ("systemd(8): one of two", "rd.luks.uuid=$A rd.luks.uuid=$B rd.luks.options=discard", "r UUID=$A none tries=5", "",
        "r UUID=$A none tries=5 | luks-$B UUID=$B none discard", ""),
    ("systemd(8): for one, in its place", "rd.luks.uuid=$A rd.luks.options=$A=tries=1 rd.luks.options=discard", "r UUID=$A none tries=5,luks", "",
        "r UUID=$A none tries=1,luks", "rd.luks.options=discard: applies to no volume."),
    ("systemd's generator: crypttab's key", "rd.luks.uuid=$A rd.luks.key=/all", "r UUID=$A /own", "", "r UUID=$A /own", ""),
    ("dracut(7): a key for all, crypttab has none", "rd.luks.uuid=$A rd.luks.key=/all", "r UUID=$A", "", "r UUID=$A /all", ""),
    ("systemd(8): the key of the UUID, else the one for all", "rd.luks.uuid=$A rd.luks.uuid=$B rd.luks.key=/all rd.luks.key=$A=/a", "r UUID=$A /own", "",
        "r UUID=$A /a | luks-$B UUID=$B /all", ""),
    ("systemd(8): none for one", "rd.luks.uuid=$A rd.luks.uuid=$B rd.luks.key=$A=none rd.luks.key=/all", "", "", "luks-$A UUID=$A none | luks-$B UUID=$B /all", ""),
    ("dracut(7): TRIM and timeout for all", "rd.luks.uuid=$A rd.luks.allow-discards rd.luks.timeout=60", "r UUID=$A none timeout=5", "",
        "r UUID=$A none timeout=5,discard", ""),
    ("booster(1), an image for one volume", "rd.luks.uuid=$A rd.luks.options=discard,tries=1 rd.luks.key=/all", "", "r UUID=$A /own tries=5",
        "r UUID=$A /own tries=5,discard", ""),
    ("systemd(8): crypttab off", "rd.luks.crypttab=0 rd.luks.uuid=$A rd.luks.options=discard", "r UUID=$A none tries=5", "", "luks-$A UUID=$A none discard", ""),
    ("mkinitcpio's encrypt beside a general key", "cryptdevice=UUID=$A:r:discard rd.luks.options=tries=1", "x UUID=$A none luks", "",
        "r UUID=$A none discard,luks", "rd.luks.options=tries=1: applies to no volume."),
    ("demands of a list for all hold all the same", "rd.luks.uuid=$A rd.luks.options=x-keyway.require=sealed,discard", "r UUID=$A none tries=5", "",
        "r UUID=$A none tries=5,x-keyway.require=sealed", "rd.luks.options=x-keyway.require=sealed,discard: applies to no volume."),
];

#[test]
fn what_dracut_gives_all_volumes_a_tables_get_too() {
    let planned = |text: &str, table: &str| {
        let tables = vec![crypttab::parse(table.replace("$A", A).as_bytes()), Vec::new()];
        let plan = Plan::new(CommandLine::parse(&text.replace("$A", A)), tables, None);
        let shown: Vec<_> = plan.entries.iter().map(|entry| entry.to_string().replace(A, "$A")).collect();
        (shown.join(" | "), plan.undone.join(" | ").replace(A, "$A"))
    };
    for (line, table, entries, undone) in [
        ("rd.luks.allow-discards", "r /dev/a none luks", "r /dev/a none luks,discard", ""),
        ("rd.luks.allow-discards=luks-477e", "r UUID=$A", "r UUID=$A none discard", ""),
        (
            "rd.luks.timeout=60",
            "r /dev/a none timeout=5\ns /dev/b",
            "r /dev/a none timeout=5 | s /dev/b none timeout=60",
            "",
        ),
        ("rd.luks.key=/k:LABEL=x", "r /dev/a\ns /dev/b /own", "r /dev/a /k:LABEL=x | s /dev/b /own", ""),
        ("rd.luks.key=/k:LABEL=x:UUID=477e", "r UUID=$A /own", "r UUID=$A /k:LABEL=x", ""),
        ("rd.luks.key=none", "r /dev/a", "r /dev/a none", ""),
        (
            "rd.luks.allow-discards=0a1b",
            "r UUID=$A",
            "r UUID=$A none",
            "rd.luks.allow-discards=0a1b: applies to no volume.",
        ),
        (
            "rd.luks.timeout=60 rd.luks.allow-discards",
            "",
            "",
            "rd.luks.timeout=60: applies to no volume. | rd.luks.allow-discards: applies to no volume.",
        ),
        ("rd.luks=0 rd.luks.timeout=60", "", "", ""),
        ("rd.luks.options=", "", "", "rd.luks.options=: applies to no volume."),
        (
            "rd.luks.options=discard",
            "r /dev/a",
            "r /dev/a none",
            "rd.luks.options=discard: applies to no volume.",
        ),
        (
            "rd.luks.options=$A=discard",
            "r /dev/a",
            "r /dev/a none",
            "rd.luks.options=$A=discard: applies to no volume.",
        ),
    ] {
        assert_eq!(planned(line, table), (entries.to_owned(), undone.to_owned()), "{line}, {table}");
    }
}

#[test]
fn options_are_what_a_table_would_have() {
    let line = CommandLine::parse("cryptdevice=/dev/sda2:r crypto=sha256:aes:256:0:\u{b}");
    let [entry] = &line.entries[..] else { panic!("{:?}", line.entries) };
    assert_eq!(crypttab::parse(&entry.line())[0], *entry);
    assert_eq!(entry.option("crypto"), Some("sha256:aes:256:0:"));
    let line = CommandLine::parse("cryptdevice=/dev/sda2:r cryptkey=rootfs:");
    assert_eq!(line.entries[0].key_file, None);
}

#[test]
fn words_may_be_quoted_and_the_last_counts() {
    assert_eq!(words("a=\"b c\"  d\n"), ["a=b c", "d"]);
    assert_eq!(parameter("root=/dev/sda root=/dev/sdb ro", "root").as_deref(), Some("/dev/sdb"));
    assert_eq!(parameter("ro quiet", "ro").as_deref(), Some(""));
    assert_eq!(parameter("rootwait", "root"), None);
}

#[test]
fn a_parameter_has_one_row_and_a_source() {
    for (number, parameter) in table::PARAMETERS.iter().enumerate() {
        let first = table::PARAMETERS.iter().position(|other| other.name == parameter.name);
        assert_eq!(first, Some(number), "{}", parameter.name);
    }
}

/// docs/BOOTING.md has the table as it is here; `KEYWAY_RENEW=1` writes it.
#[test]
fn the_documentation_has_the_table() {
    const BEGIN: &str = "<!-- parameters: generated by crates/boot/src/cmdline -->\n";
    const END: &str = "<!-- end of parameters -->\n";
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/BOOTING.md");
    let text = std::fs::read_to_string(file).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the beginning of the table");
    let (_, after) = rest.split_once(END).expect("the end of the table");
    let now = format!("{before}{BEGIN}{}{END}{after}", page::markdown());
    if std::env::var_os("KEYWAY_RENEW").is_some() {
        std::fs::write(file, &now).unwrap();
    } else {
        assert!(
            text == now,
            "docs/BOOTING.md is old: KEYWAY_RENEW=1 cargo test --release -p keyway-boot cmdline renews it"
        );
    }
}
