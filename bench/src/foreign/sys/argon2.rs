//! Debian's libargon2 (argon2.h), the code that Debian's cryptsetup runs.

use super::functions;
use crate::foreign::Secret;
use std::ffi::{c_int, c_void};
use std::sync::LazyLock;

functions!(Functions {
    argon2id_hash_raw: fn(u32, u32, u32, *const c_void, usize, *const c_void, usize, *mut c_void, usize) -> c_int,
});

static LIBRARY: LazyLock<Option<Functions>> = LazyLock::new(|| Functions::load("libargon2.so.1".as_ref()));

/// Argon2id with passes, KiB and lanes, each lane a thread; false when the library is not there.
pub(crate) fn argon2id([passes, memory_kib, lanes]: [u32; 3], secret: Secret<'_>, out: &mut [u8]) -> bool {
    let Some(library) = &*LIBRARY else { return false };
    // SAFETY: all pointers come with their lengths; libargon2 keeps none of them.
    let result = unsafe {
        (library.argon2id_hash_raw)(
            passes,
            memory_kib,
            lanes,
            secret.password.as_ptr().cast(),
            secret.password.len(),
            secret.salt.as_ptr().cast(),
            secret.salt.len(),
            out.as_mut_ptr().cast(),
            out.len(),
        )
    };
    assert_eq!(result, 0, "libargon2");
    true
}
