//! Edits of a header in place. Whatever the byte at which a write stops, the header then opens with the old or the
//! new keys.

pub mod config;
pub mod keyslots;
pub mod tokens;

pub use config::{set_label, set_persistent_flags, set_priority, set_uuid};
pub use keyslots::{AddKey, add_key, add_unbound_key, change_key, convert_key, erase, kill_slot};
pub use tokens::{token_add_keyring, token_assign, token_export, token_import, token_remove, token_unassign};
