//! From a passphrase, a file or a token to the volume key, and what that costs.
//!
//! ```text
//! unlock       passphrase → volume key: candidate keyslots side by side, within limits
//! tokens       which tokens are asked, and which keyslots their passphrases are tried on
//! key_file     passphrases and volume keys from files and pipes
//! material area_cipher digest   key material in its area, its cipher, the digest that verifies a key
//! derivation   the key derivations that opening each keyslot takes
//! kdf_cost     what a new keyslot should cost; unlock_time: how long an existing one takes here
//! kdf_rate memory   how fast this machine derives keys, and the memory it has for that
//! ```

pub(crate) mod area_cipher;
pub mod derivation;
pub(crate) mod digest;
pub mod kdf_cost;
pub mod kdf_rate;
pub mod key_file;
pub(crate) mod material;
pub(crate) mod memory;
pub mod tokens;
pub mod unlock;
pub mod unlock_time;
