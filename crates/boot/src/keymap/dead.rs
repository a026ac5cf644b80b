//! What dead keys and Compose make of the character that follows: the kernel's own table (drivers/tty/vt/defkeymap.map), since
//! binary maps have none. (k_dead, k_dead2, handle_diacr in drivers/tty/vt/keyboard.c; newer kernels compose more.)

/// The accent that a key with this value puts on the next character.
pub(super) fn accent(value: u16) -> Option<char> {
    let number = value & 0xff;
    match value >> 8 {
        DEAD => ACCENTS.chars().nth(number.into()),
        DEAD2 => char::from_u32(number.into()),
        _ => None,
    }
}

/// The pairs of an accent and a character that make this one. A space makes the accent itself.
pub(super) fn pairs(character: char) -> impl Iterator<Item = (char, char)> {
    let of_accent = move |(accent, bases, results): &(char, &'static str, &'static str)| {
        let accent = *accent;
        let made = bases.chars().zip(results.chars()).filter(move |(_, result)| *result == character);
        made.map(move |(base, _)| (accent, base))
    };
    COMPOSED.iter().flat_map(of_accent).chain([(character, ' ')])
}

/// `K_COMPOSE`: the next two characters are a pair.
pub(super) const COMPOSE: u16 = 0x20e;
/// KT_DEAD and KT_DEAD2 (include/uapi/linux/keyboard.h).
const DEAD: u16 = 4;
const DEAD2: u16 = 13;
/// By the numbers of KT_DEAD.
const ACCENTS: &str = "`'^~\",_U.*=cki#o!?+-)(:n;$@";
/// Accents, the characters that follow, and what becomes of them.
const COMPOSED: &[(char, &str, &str)] = &[
    ('`', "AaEeIiOoUu", "ÀàÈèÌìÒòÙù"),
    ('\'', "AaEeIiOoUuYy", "ÁáÉéÍíÓóÚúÝý"),
    ('^', "AaEeIiOoUu", "ÂâÊêÎîÔôÛû"),
    ('~', "AaNnOo", "ÃãÑñÕõ"),
    ('"', "AaEeIiOoUuy", "ÄäËëÏïÖöÜüÿ"),
    (',', "Cc", "Çç"),
    ('-', "Dd", "Ðð"),
    ('/', "Oo", "Øø"),
    ('0', "Aa", "Åå"),
    ('O', "A", "Å"),
    ('o', "a", "å"),
    ('A', "AE", "ÅÆ"),
    ('a', "ae", "åæ"),
    ('T', "H", "Þ"),
    ('t', "h", "þ"),
    ('s', "sz", "ßß"),
    ('i', "j", "ÿ"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_are_the_kernels() {
        for (value, expected) in [
            (0x400, Some('`')),
            (0x401, Some('\'')),
            (0x405, Some(',')),
            (0x409, Some('*')),
            (0x41a, Some('@')),
            (0x41b, None),
            (0xd00 | u16::from(b'"'), Some('"')),
            (0xb61, None),
            (0x501, None),
            (COMPOSE, None),
        ] {
            assert_eq!(accent(value), expected, "{value:x}");
        }
    }

    #[test]
    fn pairs_are_the_kernels() {
        let of = |character| pairs(character).collect::<Vec<_>>();
        assert_eq!(of('é'), [('\'', 'e'), ('é', ' ')]);
        assert_eq!(of('å'), [('0', 'a'), ('o', 'a'), ('a', 'a'), ('å', ' ')]);
        assert_eq!(of('^'), [('^', ' ')]);
        assert_eq!(of('ż'), [('ż', ' ')]);
        assert!(COMPOSED.iter().all(|(_, bases, results)| bases.len() == results.chars().count()));
        assert_eq!(COMPOSED.iter().map(|(_, bases, _)| bases.len()).sum::<usize>(), 68);
    }
}
