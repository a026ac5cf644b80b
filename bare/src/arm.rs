//! QEMU's "virt" board for aarch64: entry, console (a PL011 at
//! 0x09000000), free memory, power off (PSCI).

use core::arch::{asm, global_asm};
use core::fmt::{self, Write};
use core::panic::PanicInfo;

// Floating point and NEON are off after reset: CPACR_EL1.FPEN lets them be used.
global_asm!(
    ".section .text.start, \"ax\"",
    ".global _start",
    "_start:",
    "mov x0, #(3 << 20)",
    "msr cpacr_el1, x0",
    "isb",
    "adrp x0, stack_top",
    "mov sp, x0",
    "bl {start}",
    "b .",
    start = sym start,
);

extern "C" fn start() -> ! {
    // SAFETY: QEMU is told to give the board more memory than this, image, stack and device
    // tree end below it, and this function runs once.
    let memory = unsafe { core::slice::from_raw_parts_mut(FREE as *mut u8, FREE_BYTES) };
    crate::main(&mut Console(()), memory);
    power_off()
}

/// The serial port.
pub(crate) struct Console(());

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            // SAFETY: the register takes a byte at any time; QEMU's is never full.
            unsafe { (0x0900_0000 as *mut u8).write_volatile(byte) }
        }
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let _ = writeln!(Console(()), "{info}");
    power_off()
}

fn power_off() -> ! {
    const SYSTEM_OFF: u64 = 0x8400_0008;
    // SAFETY: PSCI's SYSTEM_OFF (Arm DEN 0022, 5.1) does not return.
    unsafe { asm!("hvc #0", "b .", in("x0") SYSTEM_OFF, options(noreturn)) }
}

/// Memory behind image and stack.
const FREE: usize = 0x4400_0000;
const FREE_BYTES: usize = 32 << 20;
