//! Valgrind's client requests (valgrind.h and memcheck.h of valgrind 3.19: an instruction sequence
//! that does nothing on a processor and that valgrind recognises).

/// Answers 0 outside valgrind.
pub(super) const RUNNING_ON_VALGRIND: usize = 0x1001;
/// Answers the number of errors reported so far.
pub(super) const COUNT_ERRORS: usize = 0x1201;
/// Memcheck's own requests count from its two letters.
pub(super) const MAKE_MEM_UNDEFINED: usize = MEMCHECK + 1;
pub(super) const MAKE_MEM_DEFINED: usize = MEMCHECK + 2;

const MEMCHECK: usize = (b'M' as usize) << 24 | (b'C' as usize) << 16;

/// Sends one request with two arguments; outside valgrind the answer is 0.
#[cfg(target_arch = "x86_64")]
pub(super) fn request(code: usize, first: usize, second: usize) -> usize {
    let block = [code, first, second, 0, 0, 0];
    let mut answer = 0_usize;
    // SAFETY: on a processor the four rotations add up to 128 bits and the exchange is of a
    // register with itself: nothing changes. Under valgrind rdx becomes the answer; memcheck reads
    // `block` and marks memory without touching its bytes.
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") block.as_ptr(),
            inout("rdx") answer,
            out("rdi") _,
        );
    }
    answer
}

/// Other processors have other sequences: nothing runs there.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn request(_code: usize, _first: usize, _second: usize) -> usize {
    0
}
