//! The libraries' C interfaces, each behind a safe type. The only
//! `unsafe` code of the benchmark's peers.

pub(super) mod argon2;
pub(super) mod botan;
pub(super) mod crates_io;
pub(super) mod gcrypt;
pub(super) mod openssl;

/// A struct of a library's functions under their own names, and the way to find them all.
macro_rules! functions {
    ($name:ident { $($function:ident: fn($($argument:ty),*) $(-> $result:ty)?,)* }) => {
        #[allow(non_snake_case)] // C's names.
        struct $name {
            $($function: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $name {
            /// The library stays loaded as long as the program runs. `None` when it or
            /// one of its functions is not there.
            fn load(path: &std::path::Path) -> Option<Self> {
                // SAFETY: these libraries' initialisers do what initialisers do.
                let library = Box::leak(Box::new(unsafe { libloading::Library::new(path) }.ok()?));
                Some(Self {
                    // SAFETY: the types are those of the library's headers.
                    $($function: unsafe { *library.get(concat!(stringify!($function), "\0").as_bytes()).ok()? },)*
                })
            }
        }
    };
}
use functions;
