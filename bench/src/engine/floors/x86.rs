//! How many instructions of each kind this CPU completes in a second,
//! found by running nothing else.
//!
//! Loops of twelve independent chains on registers; 512-bit vectors where the CPU has AVX-512.

use super::Op;
use crate::samples::thread_seconds;
use std::arch::asm;
use std::arch::is_x86_feature_detected as has;

/// Instructions a second; `None` when this CPU lacks them.
pub(super) fn rate(op: Op) -> Option<f64> {
    let vectors = has!("avx512f") && has!("avx512bw") && has!("vaes") && has!("vpclmulqdq") && has!("gfni");
    let there = match op {
        Op::Sha1 | Op::Sha256 => has!("sha"),
        Op::Alu | Op::Turn | Op::Load => has!("bmi2"),
        _ => vectors && has!("avx512vbmi"),
    };
    there.then(|| (0..5).map(|_| once(op)).fold(0.0, f64::max))
}

fn once(op: Op) -> f64 {
    let seconds = thread_seconds(|| run(op));
    (LOOPS * REPEATS * CHAINS) as f64 / seconds
}

/// A loop around `$instruction` on each of twelve registers `\r`.
macro_rules! chains {
    ($registers:literal, $instruction:literal) => {
        // SAFETY: only the registers named are written, the stack's last word is read at
        // most; `rate` looked for the instructions.
        unsafe {
            asm!(
                "2:", ".rept 8", concat!(".irp r, ", $registers), $instruction, ".endr", ".endr",
                "dec {count}", "jnz 2b",
                count = inout(reg) LOOPS => _,
                out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                out("rax") _, out("rcx") _, out("rdx") _, out("rsi") _, out("rdi") _, out("r8") _,
                out("r9") _, out("r10") _, out("r11") _, out("r12") _, out("r13") _, out("r14") _,
                options(nostack, readonly),
            );
        }
    };
}

macro_rules! vectors {
    ($instruction:literal) => {
        chains!("0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11", $instruction)
    };
}

macro_rules! registers {
    ($instruction:literal) => {
        chains!("rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14", $instruction)
    };
}

fn run(op: Op) {
    match op {
        Op::Aes => vectors!("vaesenc zmm\\r, zmm\\r, zmm12"),
        Op::Logic => vectors!("vpternlogd zmm\\r, zmm\\r, zmm12, 0x96"),
        Op::Rotate => vectors!("vprold zmm\\r, zmm\\r, 7"),
        Op::Shuffle => vectors!("vpshufb zmm\\r, zmm\\r, zmm12"),
        Op::Permute => vectors!("vpermb zmm\\r, zmm\\r, zmm12"),
        Op::Affine => vectors!("vgf2p8affineqb zmm\\r, zmm\\r, zmm12, 1"),
        Op::Multiply => vectors!("vpmuludq zmm\\r, zmm\\r, zmm12"),
        Op::Carryless => vectors!("vpclmulqdq zmm\\r, zmm\\r, zmm12, 0"),
        // The two rounds' constants are the implicit xmm0, so its own chain stands for the others.
        Op::Sha256 => vectors!("sha256rnds2 xmm\\r, xmm12"),
        Op::Sha1 => vectors!("sha1rnds4 xmm\\r, xmm12, 1"),
        Op::Alu => registers!("add \\r, \\r"),
        Op::Turn => registers!("rorx \\r, \\r, 9"),
        Op::Load => registers!("mov \\r, [rsp]"),
    }
}

const LOOPS: usize = 4000;
const REPEATS: usize = 8;
const CHAINS: usize = 12;
