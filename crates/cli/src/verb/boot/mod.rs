//! What runs while a machine boots.

pub(crate) mod unlock;
