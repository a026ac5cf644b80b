//! Volumes of other formats, made by their own programs or from their specifications: beside those programs, and
//! through ours: read, written, opened, shown and refused.

mod bitlk;
mod copy;
mod copy_described;
mod cryptsetup;
mod fvault2;
mod hidden;
mod limits;
mod loopaes;
mod passport;
mod tcplay;
mod tcrypt;
mod tcrypt_backups;
mod tcrypt_headers;
mod to_luks;
mod to_luks_estimate;
mod to_veracrypt;
mod untyped;
mod veracrypt;
mod volume_keys;
