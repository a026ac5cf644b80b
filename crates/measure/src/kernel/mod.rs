//! The kernel's crypto API: which drivers it has, which one it picks, how fast they are and whether they are right.
