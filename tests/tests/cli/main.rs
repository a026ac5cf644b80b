//! The command line: arguments, messages and exit codes; the same as cryptsetup's wherever scripts
//! depend on them.

mod arguments;
mod calibration;
mod ciphers;
mod completion;
mod control_groups;
mod differential;
mod distributions;
mod exit_codes;
mod help;
mod in_cryptsetups_place;
mod init;
mod json;
mod key_input;
mod kill_slot;
mod limits;
mod luks1;
mod mappings;
mod new_secrets;
mod options;
mod password_command;
mod plain;
mod printed_lines;
mod prompts;
mod readme;
mod reencrypt_in_its_place;
mod schemas;
mod slow_kdf;
mod streams;
mod tables;
mod upstream;
