# How ./dev speaks: headings, failures, seconds. Colour on a terminal only.

if [ -t 1 ]; then bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' dim=$'\e[2m' plain=$'\e[0m'
else bold='' red='' green='' dim='' plain=''; fi

say() { echo "$bold$*$plain"; }

fail() {
    echo "${red}./dev: $*$plain" >&2
    exit 1
}

# Seconds since $1, with one decimal. `now` is a point in time for it.
now() { date +%s%N; }
seconds_since() {
    local tenths=$((($(now) - $1) / 100000000))
    echo "$((tenths / 10)).$((tenths % 10))"
}
