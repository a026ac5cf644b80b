//! Tables as crypttab(5) and Debian write them, read and written again.

use super::*;

#[test]
fn lines_are_read_as_crypttab_5_says() {
    let entries = parse(
        b"# name device key options\n\
          \n\
          home UUID=0123-AB none luks,discard,tries=2\n\
          \t swap\\040two /dev/sdb2 /etc/swap.key plain,cipher=aes-xts-plain64,size=256\r\n\
          bare /dev/sdc\n\
          data\t/dev/disk/by-label/a\\040b /keyway/keys/data , too many\n\
          half\n",
    );
    let names: Vec<_> = entries.iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect();
    assert_eq!(names, ["home", "swap two", "bare", "data"]);
    assert_eq!((&*entries[0].device, &entries[0].key_file), ("UUID=0123-AB".as_ref(), &None));
    let option = |name| entries[0].option(name);
    assert_eq!((option("tries"), option("discard"), option("luk")), (Some("2"), Some(""), None));
    assert_eq!(entries[1].key_file.as_deref(), Some("/etc/swap.key".as_ref()));
    assert_eq!(entries[1].option("size"), Some("256"));
    assert_eq!(entries[3].device, "/dev/disk/by-label/a b");
    assert!(entries[2].options.is_empty() && entries[3].options.is_empty());
}

#[test]
fn what_is_written_is_read_again() {
    let odd = Entry {
        name: "#odd \\name".into(),
        device: OsString::from_vec(b"/dev/x\ty\xff\n".to_vec()),
        key_file: Some("/a b:LABEL=k".into()),
        options: vec![("header".into(), "/h h".into()), ("luks".into(), String::new())],
    };
    assert_eq!(
        odd.line(),
        b"\\043odd\\040\\134name /dev/x\\011y\xff\\012 /a\\040b:LABEL=k header=/h\\040h,luks"
    );
    let bare = Entry { name: "a".into(), device: "b".into(), ..Entry::default() };
    assert_eq!(bare.to_string(), "a b none");
    let mut table = odd.line();
    table.push(b'\n');
    table.extend(bare.line());
    assert_eq!(parse(&table), [odd, bare]);
    for list in ["a =,b", "=c", " d = e ,,\u{a0}f"] {
        let options = options_of(list);
        assert_eq!(options_of(&list_of(&options)), options, "{list}");
    }
}

#[test]
fn what_no_program_knows_is_not_known() {
    for option in [
        "luks",
        "x-systemd.device-timeout",
        "x-keyway.require",
        "x-keyway.seal-context-file",
        "tpm2-device",
        "loud",
        "_netdev",
    ] {
        assert!(is_known(option), "{option}");
    }
    for option in ["frobnicate", "discards", "Luks", "", "x-keyway.requires", "x-keyway."] {
        assert!(!is_known(option), "{option}");
    }
}

#[test]
fn a_random_key_is_made_anew() {
    let is_made_anew = |line: &str| parse(line.as_bytes())[0].is_made_anew();
    assert!(is_made_anew("swap /dev/sda7 /dev/urandom swap,cipher=aes-xts-plain64,size=256"));
    assert!(is_made_anew("tmp /dev/sda8 /dev/random tmp=xfs"));
    // A swap that holds what was suspended.
    assert!(!is_made_anew("cryptswap /dev/sda2 none luks,swap") && !is_made_anew("x /dev/sda /key"));
}

#[test]
fn a_demand_in_a_wrong_field_holds() {
    for (line, read) in [
        ("root UUID=U none luks, x-keyway.require=sealed", "root UUID=U none luks,x-keyway.require=sealed"),
        ("root UUID=U none luks ,x-keyway.require=a,tries=1", "root UUID=U none luks,x-keyway.require=a"),
        ("root UUID=U x-keyway.require=sealed", "root UUID=U none x-keyway.require=sealed"),
        ("root UUID=U x-keyway.require=a luks", "root UUID=U none luks,x-keyway.require=a"),
        ("root UUID=U none luks # a X-Keyway.require=b", "root UUID=U none luks,X-Keyway.require=b"),
        ("root UUID=U /x-keyway.key luks discard", "root UUID=U /x-keyway.key luks"),
    ] {
        assert_eq!(parse(line.as_bytes())[0].to_string(), read, "{line}");
    }
}

/// A word of ours that does not exist was perhaps meant as a demand.
#[test]
fn a_mistyped_demand_is_one() {
    for option in
        [REQUIRE, SEAL_CONTEXT, SEAL_CONTEXT_FILE, "x-keyway.requires", "x-keyway.seal-context-files"]
    {
        assert!(is_demand(option), "{option}");
    }
    for option in
        ["x-keyway-require", "x-Keyway.require", "keyway.require", "X-Keyway.Require", "rd.keyway_require"]
    {
        assert!(is_demand(option) && !is_known(option), "{option}");
    }
    assert!(!is_demand("keyway") && !is_demand("x-keywayrequire") && !is_demand("/x-keyway.require"));
    assert!(!is_demand(REKEY) && !is_demand("x-systemd.device-timeout") && !is_demand("luks"));
}

#[test]
fn a_comma_in_a_value_is_escaped() {
    let list = "cipher=xchacha12\\,aes-adiantum-plain64,header=/a\\\\,x=\\040";
    let options = options_of(list);
    let values: Vec<_> = options.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["xchacha12,aes-adiantum-plain64", "/a\\", "\\040"]);
    assert_eq!(options_of(&list_of(&options)), options);
}

#[test]
fn times_as_systemd_writes_them() {
    let seconds = |text| duration(text).map(|time| time.as_secs_f32());
    for (text, is) in [("90", 90.0), ("10s", 10.0), ("1min 30s", 90.0), ("1min30s", 90.0), ("500ms", 0.5)] {
        assert_eq!(seconds(text), Some(is), "{text}");
    }
    assert_eq!((seconds("0"), seconds("infinity"), seconds("2 h")), (Some(0.0), Some(0.0), Some(7200.0)));
    for text in ["", "soon", "10 parsecs", "-1", "99999999999999999999"] {
        assert_eq!(seconds(text), None, "{text}");
    }
}

#[test]
fn escapes_that_are_none_stay() {
    assert_eq!(plain(b"\\x41\\04\\400\\101\\"), "\\x41\\04\\400A\\");
}
