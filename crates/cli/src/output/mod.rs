//! What the program prints: lines, colours of tables, progress, questions, and how a command fails.

#[macro_use]
pub(crate) mod stdio;

pub(crate) mod cure;
pub(crate) mod document;
pub(crate) mod ending;
pub(crate) mod failure;
pub(crate) mod figures;
pub(crate) mod manner;
pub(crate) mod paint;
pub(crate) mod progress;
pub(crate) mod question;
pub(crate) mod sentence;
pub(crate) mod shell;
pub(crate) mod size;
pub(crate) mod transfer;
