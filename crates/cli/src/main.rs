//! `keyway`: Linux disk encryption without root.

fn main() {}
