//! The kernel's ciphers beside Keyway's, in `keyway bench --compare kernel` and `keyway benchmark`.

use crate::need_machine;
use crate::xray::with;
use keyway_tests::need_that;
use keyway_tests::timeouts;
use keyway_tests::vm::{Machine, wrong_drivers};

/// There is a kernel row for each of Keyway's, with its output checked the same way; a wrong driver
/// has no figure; and the rest runs even if a module is missing.
#[test]
fn the_kernels_ciphers_beside_keyways() {
    need_machine!();
    need_that!(wrong_drivers().is_some(), "the module with wrong drivers could not be built");
    let module = wrong_drivers().expect("just seen");
    let report = Machine::new().processors(2).with_keyway().file("keyway_wrong.ko", module).limit(timeouts::LONG_MACHINE).run(
        "dmesg -n 1
         echo >/proc/sys/kernel/modprobe
         rows() { grep \"\\\"id\\\":\\\"cipher/$1/\" /tmp/json | grep -c \"$2\" || true; }
         # How many rows get figures in a time is up to whatever else this machine's host does. (The default cipher has
         # rows, too.)
         bench() {
             for time in 6 20 60 180; do
                 keyway bench --compare kernel --time $time $2 --json >/tmp/json && echo $1_EXIT=0 || echo $1_EXIT=$?
                 [ $(rows keyway \"$4\") -lt $3 ] || [ $(rows kernel \"$4\") -lt $3 ] || break
             done
         }
         bench XTS '-c aes-xts-plain64 -s 512' 16 '\"result\":\"measured\"'
         echo XTS_OWN=$(rows keyway '\"result\":\"measured\"')
         echo XTS_KERNEL=$(rows kernel '\"result\":\"measured\".*\"code\":\"xts-aes-aesni\"')
         bench ESSIV '-c aes-cbc-essiv:sha256 -s 256 --sector-size 512 --threads 1' 4 'essiv.*\"result\":\"measured\"'
         echo ESSIV_KERNEL=$(rows kernel '\"spec\":\"aes-cbc-essiv:sha256\".*\"result\":\"measured\"')
         bench WIDE '-c xchacha12,aes-adiantum-plain64 -s 256 --sector-size 4096 --threads 1' 4 'adiantum.*\"result\":\"measured\"'
         echo WIDE_KERNEL=$(rows kernel 'adiantum-plain64.*\"result\":\"measured\"')
         bench LMK '-c aes:64-cbc-lmk -s 8192 --sector-size 512 --threads 1' 0
         echo LMK=$(grep -o 'cbc(aes) is only a part of it; dm-crypt does the rest' /tmp/json | sort -u)
         keyway benchmark -c aes-xts-plain64 -s 512 | sed 's/^/COLUMNS /'
         keyway benchmark -c aes:64-cbc-lmk -s 8192 | sed 's/^/ABSENT /'
         keyway benchmark -c serpent-xts-plain64 -s 512 --json | sed 's/^/JSON /'
         insmod /keyway_wrong.ko
         keyway bench --compare kernel --time 10 -c aes-cbc-plain64 -s 256 --sector-size 512 --threads 1 --direction encrypt | sed 's/^/WRONG /'
         rmmod keyway_wrong
         rmmod algif_skcipher
         keyway bench --compare kernel --time 10 -c aes-xts-plain64 -s 512 --sector-size 512 --threads 1 | sed 's/^/NONE /'
         keyway benchmark -c aes-xts-plain64 -s 512 | sed 's/^/NONE /'",
    );
    for suite in ["XTS", "ESSIV", "WIDE", "LMK"] {
        report.has(&format!("{suite}_EXIT"), "0");
    }
    // Two sector sizes, a sector and a run, both directions, on one core and two.
    report.has("XTS_OWN", "16");
    report.has("XTS_KERNEL", "16");
    report.has("ESSIV_KERNEL", "4");
    report.has("WIDE_KERNEL", "4");
    report.has("LMK", "cbc(aes) is only a part of it; dm-crypt does the rest");

    let columns = with(&report, "COLUMNS ");
    assert_eq!(
        columns[2],
        "# Algorithm |       Key |      Encryption |      Decryption |  Kernel encrypt |  Kernel decrypt"
    );
    assert_eq!((columns.len(), columns[3].matches(" MiB/s").count()), (4, 4), "{columns:?}");
    assert_eq!(columns[2].len(), columns[3].len(), "{columns:?}");
    let absent = with(&report, "ABSENT ");
    assert!(
        absent[3].contains(" MiB/s ") && absent[3].ends_with("               N/A               N/A"),
        "{absent:?}"
    );
    let json = with(&report, "JSON ").join("");
    assert!(json.contains("kernel_encrypt_bytes_per_second") && !json.contains("unavailable"), "{json}");

    let wrong = with(&report, "WRONG ").join("\n");
    assert!(
        wrong.contains("WRONG OUTPUT: cipher/kernel/aes-cbc-plain64/key256/sector512/message512/encrypt/"),
        "{wrong}"
    );
    assert!(wrong.contains("byte 17 is ") && wrong.contains("; blacklist keyway_wrong"), "{wrong}");
    assert!(!wrong.contains("aes-cbc-plain64 (kernel)"), "wrong work has no figure\n{wrong}");
    let none = with(&report, "NONE ").join("\n");
    for text in [
        "aes-xts-plain64 512 by kernel:",
        "this kernel has not loaded the module algif_skcipher, and could not load it when asked",
        "# Algorithm |       Key |      Encryption |      Decryption\n",
    ] {
        assert!(none.contains(text), "{text}\n{none}");
    }
    assert!(none.contains("* aes-xts-plain64  "), "the rest goes on\n{none}");
}
