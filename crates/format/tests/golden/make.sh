#!/bin/sh
# Makes the golden headers of this folder with Debian 12's cryptsetup 2.6.1 and qemu-img 7.2: ./make.sh
# Salts are random, so a new run gives other bytes: run it only to add a case, and review what changed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
printf golden >first
printf second >second
uuid=0be2b1c4-6a47-4f0e-8d3f-0f1d1b1a1c
pbkdf2='--pbkdf pbkdf2 --pbkdf-force-iterations 1000'
argon2='--pbkdf-force-iterations 4 --pbkdf-memory 64 --pbkdf-parallel 2'

luks1() { head -c 592 "$1" >"$here/$2.luks1"; }
json() { tail -c +4097 "$1" | head -c 12288 | tr -d '\0' >"$here/$2.json"; }
pretty() { cryptsetup luksDump --dump-json-metadata "$1" >"$here/$2.pretty.json"; }

# LUKS1: two keyslots; a detached header (payload 0); QEMU's (payload 4040).
truncate -s 8M a.img
cryptsetup luksFormat -q --type luks1 -c aes-xts-plain64 -s 512 -h sha512 --pbkdf-force-iterations 1000 --uuid ${uuid}01 a.img first
cryptsetup luksAddKey -q --pbkdf-force-iterations 1500 --key-slot 3 --key-file first a.img second
luks1 a.img aes-xts
truncate -s 4M b.img
truncate -s 2M b.hdr
cryptsetup luksFormat -q --type luks1 --header b.hdr -c aes-cbc-essiv:sha256 -s 128 -h ripemd160 --pbkdf-force-iterations 1000 --uuid ${uuid}02 b.img first
luks1 b.hdr detached
qemu-img create -q -f luks --object secret,id=s,file=first -o key-secret=s,iter-time=10 c.img 1M
luks1 c.img qemu

# LUKS2: bound, unbound, preferred and ignored keyslots, three KDFs, both kinds of token, a keyslot that was replaced.
truncate -s 24M d.img
cryptsetup luksFormat -q --type luks2 $pbkdf2 --label golden --subsystem keyway --uuid ${uuid}03 d.img first
head -c 32768 d.img >"$here/fresh.luks2"
cryptsetup luksAddKey -q --pbkdf argon2id $argon2 --key-file first d.img second
cryptsetup luksAddKey -q --unbound --key-size 256 $pbkdf2 d.img second
cryptsetup luksAddKey -q --pbkdf argon2i $argon2 --key-file first d.img second
cryptsetup luksKillSlot -q --key-file first d.img 1
cryptsetup luksAddKey -q --pbkdf argon2id $argon2 --key-file first d.img second
cryptsetup config --key-slot 0 --priority prefer d.img
cryptsetup config --key-slot 3 --priority ignore d.img
cryptsetup token add --key-description 'some key' --token-id 1 --key-slot 0 d.img
echo '{"type":"foreign","keyslots":["0","1"],"x":"a/b\"\u00e9é\u0001\t\\\u007f","n":1.50,"e":1e5,"nul":null,"b":true,"arr":[],"o":{},"nest":[[1,{"a":2}]]}' |
	cryptsetup token import --token-id 0 d.img
json d.img keyslots
pretty d.img keyslots
cryptsetup token export --token-id 0 d.img >"$here/token.json"

# LUKS2: reencryption that has begun (three segments, two of them backups, a requirement, a keyslot of another type).
cryptsetup reencrypt -q --init-only $pbkdf2 --key-file first --key-slot 0 d.img
json d.img reencrypt
pretty d.img reencrypt

# LUKS2: other sizes, older cipher, small sectors.
truncate -s 24M e.img
cryptsetup luksFormat -q --type luks2 $pbkdf2 --luks2-metadata-size 64k --luks2-keyslots-size 1m -c aes-cbc-essiv:sha256 -s 256 --sector-size 512 --uuid ${uuid}04 e.img first 2>&1
json e.img sizes

# LUKS2: a detached header, data from offset 0.
truncate -s 4M f.img
cryptsetup luksFormat -q --type luks2 $pbkdf2 --header f.hdr --uuid ${uuid}05 f.img first
json f.hdr detached

# LUKS2: encryption in place, begun: segments that run backwards over the device, one of them moved.
truncate -s 64M g.img
cryptsetup reencrypt -q --encrypt --init-only --reduce-device-size 32M $pbkdf2 --key-file first --uuid ${uuid}06 g.img
json g.img encrypt
pretty g.img encrypt

# LUKS2: decryption in place, begun: the header has left the device, "online-reencrypt-v3".
truncate -s 64M h.img
cryptsetup luksFormat -q --type luks2 $pbkdf2 --uuid ${uuid}07 h.img first
cryptsetup reencrypt -q --decrypt --init-only --force-offline-reencrypt --key-file first --header h.hdr h.img
json h.hdr decrypt
pretty h.hdr decrypt
