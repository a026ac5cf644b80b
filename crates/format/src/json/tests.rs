//! Valid JSON, invalid JSON, and the limits.

use super::parse::{MAX_DEPTH, MAX_VALUES};
use super::*;
use alloc::format;

fn why(text: &[u8]) -> String {
    parse(text).map_or_else(|error| error.to_string(), |value| format!("accepted: {}", value.to_compact()))
}

#[test]
fn order_and_number_text_survive() {
    let text = r#"{"z":1,"a":{"y":-0,"b":1.50},"n":[1E+5,18446744073709551616,0.1e-7]}"#;
    assert_eq!(parse(text.as_bytes()).unwrap().to_compact(), text);
}

#[test]
fn white_space_goes_and_escapes_resolve() {
    assert_eq!(
        why(b" { \"a\" :\t[ true , false,null ] ,\r\n\"\\u0062\\/\":\"\\ud83d\\ude00\"} "),
        "accepted: {\"a\":[true,false,null],\"b/\":\"\u{1f600}\"}"
    );
    // A lone surrogate becomes the replacement character, as in json-c.
    assert_eq!(
        why(br#"["\ud83dx","\ude00","\ud83d\u0041"]"#),
        "accepted: [\"\u{fffd}x\",\"\u{fffd}\",\"\u{fffd}A\"]"
    );
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "text ends too early at byte 0"),
        (b"{", "text ends too early at byte 1"),
        (b"{}x", "text after the end of the document at byte 2"),
        (b"{}{}", "text after the end of the document at byte 2"),
        (b"[1,]", "unexpected byte 0x5d at byte 3"),
        (b"[1 2]", "unexpected byte 0x32 at byte 3"),
        (b"{\"a\":1,}", "unexpected byte 0x7d at byte 7"),
        (b"{a:1}", "unexpected byte 0x61 at byte 1"),
        (b"{'a':1}", "unexpected byte 0x27 at byte 1"),
        (b"{\"a\" 1}", "unexpected byte 0x31 at byte 5"),
        (b"/**/1", "unexpected byte 0x2f at byte 0"),
        (b"01", "text after the end of the document at byte 1"),
        (b"+1", "unexpected byte 0x2b at byte 0"),
        (b"1.", "text ends too early at byte 2"),
        (b".5", "unexpected byte 0x2e at byte 0"),
        (b"1e", "text ends too early at byte 2"),
        (b"-", "text ends too early at byte 1"),
        (b"NaN", "unexpected byte 0x4e at byte 0"),
        (b"tru", "text ends too early at byte 3"),
        (b"True", "unexpected byte 0x54 at byte 0"),
        (b"\"a", "text ends too early at byte 2"),
        (b"\"a\n\"", "unexpected byte 0x0a at byte 2"),
        (b"\"\\x\"", "bad escape in a string at byte 2"),
        (b"\"\\u12g4\"", "bad escape in a string at byte 5"),
        (b"\"\\", "text ends too early at byte 2"),
        (b"\"ab\xff\"", "a string is not UTF-8 at byte 3"),
        (b"\"\xed\xa0\x80\"", "a string is not UTF-8 at byte 1"),
        (b"{\"a\":{\"b\":1,\"c\":2,\"\\u0062\":3}}", "member \"b\" occurs twice at byte 18"),
    ];
    for (text, message) in cases {
        assert_eq!(why(text), *message, "{:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn the_limits_hold() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    assert_eq!(why(nested(MAX_DEPTH + 1).as_bytes()), "nested deeper than 32 levels at byte 32");
    assert_eq!(why("[".repeat(4 << 20).as_bytes()), "nested deeper than 32 levels at byte 32");
    let wide = |values: usize| format!("[{}0]", "0,".repeat(values - 2));
    assert!(parse(wide(MAX_VALUES).as_bytes()).is_ok());
    assert_eq!(why(wide(MAX_VALUES + 1).as_bytes()), "more than 100000 values at byte 199999");
}

#[test]
fn members_are_replaced_in_place_and_removed_in_order() {
    let mut object = Object::new().with("a", 1).with("b", "two").with("c", Object::new());
    object.set("b", 22);
    object.set("d", Vec::new());
    assert_eq!(object.remove("a"), Some(Value::Number("1".into())));
    assert_eq!(object.remove("a"), None);
    assert_eq!(Value::from(object.clone()).to_compact(), r#"{"b":22,"c":{},"d":[]}"#);
    object.retain(|name, _| name != "c");
    assert_eq!(object.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["b", "d"]);
    assert_eq!((object.len(), object.is_empty()), (2, false));
}
