//! The command line: what is typed, what is said, and the exit code;
//! the same as cryptsetup wherever scripts look.

mod arguments;
mod ciphers;
mod control_groups;
mod differential;
mod help;
mod init;
mod json;
mod key_input;
mod kill_slot;
mod limits;
mod mappings;
mod plain;
mod prompts;
mod streams;
