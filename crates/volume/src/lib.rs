//! LUKS volumes on storage: unlock, read, write, edit, create.
#![forbid(unsafe_code)]
