# ./dev demo: the main job from end to end.

demo() { fail "not yet"; }
