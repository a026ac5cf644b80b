//! Runs one AES instruction, asking nobody whether there is one: what
//! `./dev test aarch64` knows its emulated cores by.

fn main() {
    // SAFETY: the instruction changes one register, which is named;
    // without the extension the process is ended.
    unsafe { std::arch::asm!(".arch_extension aes", "aese v0.16b, v1.16b", out("v0") _) }
}
