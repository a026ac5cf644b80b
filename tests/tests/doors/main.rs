//! The doors, used by other people's programs: NBD clients, FUSE's
//! users, several processes and several users.

mod block_device;
mod broken_storage;
mod children;
mod claims;
mod core_file;
mod elsewhere;
mod fio;
mod fuse;
mod in_use;
mod killed;
mod memory;
mod mounted;
mod nbd;
mod nbd_client;
mod nbd_slow;
mod open;
mod options;
mod remote;
mod serve;
mod served;
mod session;
mod session_changes;
mod stores;
mod strangers;
mod tls;
mod umount;
mod users;
