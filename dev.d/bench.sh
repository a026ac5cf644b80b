# ./dev bench: measurements beside other people's code.

bench() { fail "not yet"; }
