//! Comparisons that report where the difference is instead of printing megabytes.

/// Asserts equal text, line for line; shows the first line that differs.
#[track_caller]
pub fn assert_same_lines(left_name: &str, left: &str, right_name: &str, right: &str) {
    if left == right {
        return;
    }
    let (mut a, mut b) = (left.split('\n'), right.split('\n'));
    for line in 1.. {
        let (x, y) = (a.next(), b.next());
        assert!(
            x == y && x.is_some(),
            "line {line} differs\n{left_name}: {x:?}\n{right_name}: {y:?}\n--- {left_name}\n{left}\n--- {right_name}\n{right}"
        );
    }
}

/// Asserts equal bytes; shows the first offset that differs and 16 bytes of both.
#[track_caller]
pub fn assert_same_bytes(left_name: &str, left: &[u8], right_name: &str, right: &[u8]) {
    if left == right {
        return;
    }
    let offset = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let window = |bytes: &[u8]| bytes[offset..bytes.len().min(offset + 16)].to_vec();
    panic!(
        "bytes differ from offset {offset} (sector {})\n{left_name} ({} bytes): {:02x?}\n{right_name} ({} bytes): {:02x?}",
        offset / 512,
        left.len(),
        window(left),
        right.len(),
        window(right),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "offset 600 (sector 1)")]
    fn a_changed_byte_is_found() {
        let mut other = vec![1; 1024];
        other[600] = 2;
        assert_same_bytes("a", &[1; 1024], "b", &other);
    }

    #[test]
    #[should_panic(expected = "line 2 differs")]
    fn a_missing_line_is_found() {
        assert_same_lines("a", "one\ntwo", "b", "one");
    }
}
