//! What a process of this program hands to one that it starts: its request, as bytes on a pipe.
//! Both run the same program, so the bytes need no version and no field names.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

/// A value that can be handed on.
pub(crate) trait Encoded: Sized {
    /// Appends its bytes to `to`.
    fn put(&self, to: &mut Vec<u8>);

    /// Takes what [`Encoded::put`] wrote from the front of `from`; `None` if it is not there.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

/// Implements [`Encoded`] for a structure by its fields, or for an enumeration without data by its
/// variants, in the order of their declaration.
macro_rules! encoded {
    ($name:ty { $($field:ident),+ $(,)? }) => {
        impl $crate::process::encoding::Encoded for $name {
            fn put(&self, to: &mut Vec<u8>) {
                let Self { $($field),+ } = self;
                $($crate::process::encoding::Encoded::put($field, to);)+
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::process::encoding::Encoded::take(from)?),+ })
            }
        }
    };
    ($name:ty: $($variant:ident),+) => {
        impl $crate::process::encoding::Encoded for $name {
            fn put(&self, to: &mut Vec<u8>) {
                to.push(*self as u8);
            }

            fn take(from: &mut &[u8]) -> Option<Self> {
                let number: u8 = $crate::process::encoding::Encoded::take(from)?;
                [$(Self::$variant),+].into_iter().find(|variant| *variant as u8 == number)
            }
        }
    };
}
pub(crate) use encoded;

impl Encoded for u8 {
    fn put(&self, to: &mut Vec<u8>) {
        to.push(*self);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        from.split_off_first().copied()
    }
}

impl Encoded for bool {
    fn put(&self, to: &mut Vec<u8>) {
        u8::from(*self).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        match u8::take(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Encoded for u64 {
    fn put(&self, to: &mut Vec<u8>) {
        to.extend(self.to_le_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        from.split_off(..8)?.try_into().ok().map(Self::from_le_bytes)
    }
}

impl Encoded for u32 {
    fn put(&self, to: &mut Vec<u8>) {
        u64::from(*self).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from)?.try_into().ok()
    }
}

impl Encoded for usize {
    fn put(&self, to: &mut Vec<u8>) {
        (*self as u64).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from)?.try_into().ok()
    }
}

impl Encoded for OsString {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        to.extend(self.as_bytes());
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let len = usize::take(from)?;
        from.split_off(..len).map(|bytes| Self::from_vec(bytes.to_vec()))
    }
}

impl Encoded for PathBuf {
    fn put(&self, to: &mut Vec<u8>) {
        self.clone().into_os_string().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        OsString::take(from).map(Self::from)
    }
}

impl Encoded for String {
    fn put(&self, to: &mut Vec<u8>) {
        OsString::from(self).put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        OsString::take(from)?.into_string().ok()
    }
}

impl Encoded for Duration {
    fn put(&self, to: &mut Vec<u8>) {
        self.as_secs().put(to);
        self.subsec_nanos().put(to);
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let (seconds, nanos) = (u64::take(from)?, u32::take(from)?);
        (nanos < 1_000_000_000).then(|| Self::new(seconds, nanos))
    }
}

impl<T: Encoded> Encoded for Option<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.is_some().put(to);
        self.iter().for_each(|it| it.put(to));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        if bool::take(from)? { T::take(from).map(Some) } else { Some(None) }
    }
}

impl<T: Encoded> Encoded for Vec<T> {
    fn put(&self, to: &mut Vec<u8>) {
        self.len().put(to);
        self.iter().for_each(|it| it.put(to));
    }

    fn take(from: &mut &[u8]) -> Option<Self> {
        let len = usize::take(from)?;
        (0..len).map(|_| T::take(from)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Side {
        Left,
        Right,
    }

    #[derive(Debug, PartialEq, Eq)]
    struct Sample {
        names: Vec<OsString>,
        text: Option<String>,
        wait: Option<Duration>,
        number: u32,
        side: Side,
    }

    encoded!(Side: Left, Right);
    encoded!(Sample { names, text, wait, number, side });

    #[test]
    fn what_is_handed_on_arrives() {
        let sample = Sample {
            names: vec!["a".into(), OsString::from_vec(vec![0xff, b'\n', 0])],
            text: Some("ü".into()),
            wait: Some(Duration::from_millis(1500)),
            number: u32::MAX,
            side: Side::Right,
        };
        let mut bytes = Vec::new();
        sample.put(&mut bytes);
        assert_eq!(Sample::take(&mut &bytes[..]), Some(sample));
        for end in 0..bytes.len() {
            assert_eq!(Sample::take(&mut &bytes[..end]), None, "{end}");
        }
        assert_eq!(Vec::<u64>::take(&mut &[0xff; 9][..]), None, "more than there is");
    }
}
