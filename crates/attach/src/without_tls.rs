//! Replaces `tls` when the program is built without that feature: its types cannot be constructed,
//! so its methods are never called.

use crate::{Error, Refusal, Result};
use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::path::Path;

pub use crate::socket::Socket;

/// Cannot be constructed.
#[derive(Debug)]
pub struct Client(Infallible);

/// Cannot be constructed.
#[derive(Debug)]
pub struct Server(Infallible);

/// Cannot be constructed.
#[derive(Debug)]
pub struct Stream<S>(Infallible, PhantomData<S>);

impl Client {
    /// Always fails.
    ///
    /// # Errors
    /// [`Refusal::WithoutTls`], always.
    pub fn from_directory(_: Option<&Path>, _: Option<&str>, _: bool) -> Result<Self> {
        Err(refused())
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn connect<S: Socket>(&self, _: S) -> io::Result<Stream<S>> {
        match self.0 {}
    }
}

impl Server {
    /// Always fails.
    ///
    /// # Errors
    /// [`Refusal::WithoutTls`], always.
    pub fn from_directory(_: &Path, _: bool) -> Result<Self> {
        Err(refused())
    }

    /// Cannot be called.
    pub fn verifies_clients(&self) -> bool {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn accept<S: Socket>(&self, _: S) -> io::Result<Stream<S>> {
        match self.0 {}
    }
}

impl<S: Socket> Stream<S> {
    /// Cannot be called.
    pub fn socket(&self) -> &S {
        match self.0 {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn close(&self) -> io::Result<()> {
        match self.0 {}
    }
}

impl<S: Socket> Read for &Stream<S> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match self.0 {}
    }
}

impl<S: Socket> Write for &Stream<S> {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match self.0 {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0 {}
    }
}

fn refused() -> Error {
    Refusal::WithoutTls
        .because("This keyway was built without the feature \"tls\": it cannot make encrypted connections")
}
