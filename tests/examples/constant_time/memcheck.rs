//! The safe side of valgrind's client requests (`sys`): secrets are marked, results are released.

#[path = "sys.rs"]
mod sys;

/// Whether this process runs under valgrind.
pub(crate) fn is_running() -> bool {
    sys::request(sys::RUNNING_ON_VALGRIND, 0, 0) > 0
}

/// How many errors memcheck has reported so far.
pub(crate) fn errors() -> usize {
    sys::request(sys::COUNT_ERRORS, 0, 0)
}

/// Bytes that memcheck takes for uninitialised: a branch or an address made of them is reported.
pub(crate) fn secret<const N: usize>() -> [u8; N] {
    let mut bytes = core::array::from_fn(|index| (index * 37 + 11) as u8);
    hide(&mut bytes);
    bytes
}

/// Marks `bytes` as uninitialised.
pub(crate) fn hide(bytes: &mut [u8]) {
    sys::request(sys::MAKE_MEM_UNDEFINED, bytes.as_mut_ptr() as usize, bytes.len());
}

/// Marks `bytes` as initialised: what is published depends on secrets and may.
pub(crate) fn publish(bytes: &mut [u8]) {
    sys::request(sys::MAKE_MEM_DEFINED, bytes.as_mut_ptr() as usize, bytes.len());
}
