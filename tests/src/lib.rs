//! What every proof shares: scratch directories, peers, skips by name.
