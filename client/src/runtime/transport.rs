//! The byte stream to a broker: TCP now; encrypted streams join here as further variants.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::config::Address;
use crate::error::{Error, ErrorKind};

/// An open byte stream.
#[derive(Debug)]
pub(crate) struct Transport {
    stream: TcpStream,
}

impl Transport {
    /// Resolves the name and connects to the first of its addresses that accepts.
    pub(crate) async fn connect(address: &Address) -> Result<Self, Error> {
        let resolved: Vec<_> = tokio::net::lookup_host((&*address.host, address.port))
            .await
            .map_err(|error| unresolved(address, &error.to_string()))?
            .collect();
        if resolved.is_empty() {
            return Err(unresolved(address, "it has no addresses"));
        }
        let stream = TcpStream::connect(&*resolved)
            .await
            .map_err(|error| refused(&error))?;
        // Requests are written as a whole, so waiting for more to fill a packet would only cost latency.
        stream.set_nodelay(true).map_err(|error| refused(&error))?;
        Ok(Self { stream })
    }

    /// Both directions at once.
    pub(crate) fn split(&mut self) -> (impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send) {
        self.stream.split()
    }
}

fn unresolved(address: &Address, why: &str) -> Error {
    Error::new(
        ErrorKind::Unreachable,
        format!("the host name {:?} cannot be resolved: {why}", &*address.host),
    )
}

fn refused(error: &io::Error) -> Error {
    let why = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused: nothing listens there".to_owned(),
        _ => error.to_string(),
    };
    Error::new(ErrorKind::Unreachable, format!("cannot connect: {why}"))
}
