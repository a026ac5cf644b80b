//! `keyway xray` of other machines' /proc/crypto, and by short names. (Of a real kernel: tests/vm.)

use keyway_tests::{Scratch, keyway};

/// A Raspberry Pi 3's drivers before anything has loaded Adiantum.
const PI_3: &str = "name : aes\ndriver : aes-arm64\nmodule : aes_arm64\npriority : 200\ntype : cipher\nselftest : passed\n\n\
                    name : aes\ndriver : aes-generic\nmodule : kernel\npriority : 100\ntype : cipher\nselftest : passed\n";

#[test]
fn a_board_s_drivers_say_whether_adiantum_suits_it() {
    let scratch = Scratch::new();
    let board = scratch.file("board.txt", PI_3);
    let shown = keyway("xray --proc-crypto").arg(&board).ok().text();
    for words in [
        "AES runs on xts(ecb(aes-arm64))",
        "modprobe adiantum chacha_neon nhpoly1305_neon",
        "--sector-size 4096",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("Keyway's code"), "{shown}");
    let json = keyway("xray --json --proc-crypto").arg(&board).ok().text();
    assert!(json.contains("luksFormat --cipher xchacha20,aes-adiantum-plain64"), "{json}");
}

#[test]
fn short_names_are_understood() {
    let scratch = Scratch::new();
    let board = scratch.file("board.txt", PI_3);
    for line in ["xray -c adiantum --proc-crypto", "xray adiantum --proc-crypto"] {
        let shown = keyway(line).arg(&board).ok().text();
        for rounds in ["xchacha12", "xchacha20"] {
            assert!(
                shown.contains(&format!("{rounds},aes-adiantum-plain64 is adiantum({rounds},aes)")),
                "{shown}"
            );
        }
    }
    keyway("xray -c aes-xts --no-measure").ok().says("aes-xts-plain64 is xts(aes) to the kernel");
    keyway("xray -c adiantm").fails(1).says("unknown cipher \"adiantm\"");
    keyway("xray -c adiantum aes-xts-plain64").fails(1).says("--cipher names what to examine");
}
