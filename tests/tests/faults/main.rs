//! Every header operation, stopped at every write and every flush: what is
//! then on storage must open with the keys that were promised to live, in
//! Keyway, and at a sample of the stops in cryptsetup.

mod cut;
mod luks1;
mod luks2;
mod whole;
