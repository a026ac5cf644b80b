# ./dev vm: Debian's kernel with Keyway's volumes.

vm() { fail "not yet"; }
