//! Tokens of a LUKS2 header, which lead to a passphrase without a prompt.
//!
//! | Module    | What                                              |
//! |-----------|---------------------------------------------------|
//! | `asking`  | which tokens are asked, and what becomes of it    |
//! | `table`   | the types that are known                          |
//! | `keyring` | one of them, "luks2-keyring"                      |
//! | `types`   | what a type is                                    |

#[cfg(feature = "keyring")]
mod asking;
mod keyring;
mod table;
mod types;

#[cfg(feature = "keyring")]
pub use asking::Token;
#[cfg(all(feature = "keyring", feature = "parts"))]
pub use asking::Watch;
pub(crate) use keyring::Keyring;
pub(crate) use table::{check, details};
