//! Every header operation, stopped at every write and every flush: the resulting storage must open
//! with the keys that must survive, in Keyway at every stop and in cryptsetup at a sample of them.

mod cut;
mod luks1;
mod luks2;
mod whole;
