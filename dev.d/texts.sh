# ./dev texts [CRATE…]: the texts that users read, for one reader to review.

texts() { cargo run --quiet --release --package keyway-tests --example texts -- "$@"; }
