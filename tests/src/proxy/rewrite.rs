//! Answers that carry brokers' addresses (Metadata, FindCoordinator, DescribeCluster) get the proxy's ports instead.

use std::collections::HashMap;

use anyhow::Result;
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{
    ApiKey, DescribeClusterResponse, FindCoordinatorResponse, MetadataResponse, ResponseHeader,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};

use super::Request;

/// Brokers' ports and the proxy's ports that lead to them.
#[derive(Debug, Default)]
pub(super) struct AddressBook {
    ports: HashMap<i32, i32>,
}

impl AddressBook {
    pub(super) fn insert(&mut self, broker: u16, proxy: u16) {
        self.ports.insert(broker.into(), proxy.into());
    }

    /// The answer with the proxy's addresses in place of the brokers'.
    pub(super) fn rewrite(&self, request: &Request, frame: Vec<u8>) -> Result<Vec<u8>> {
        match request.api {
            Some(ApiKey::Metadata) => rewritten(request, frame, |body: &mut MetadataResponse| {
                for broker in &mut body.brokers {
                    self.redirect(&mut broker.host, &mut broker.port);
                }
            }),
            Some(ApiKey::FindCoordinator) => {
                rewritten(request, frame, |body: &mut FindCoordinatorResponse| {
                    self.redirect(&mut body.host, &mut body.port);
                    for coordinator in &mut body.coordinators {
                        self.redirect(&mut coordinator.host, &mut coordinator.port);
                    }
                })
            }
            Some(ApiKey::DescribeCluster) => {
                rewritten(request, frame, |body: &mut DescribeClusterResponse| {
                    for broker in &mut body.brokers {
                        self.redirect(&mut broker.host, &mut broker.port);
                    }
                })
            }
            _ => Ok(frame),
        }
    }

    fn redirect(&self, host: &mut StrBytes, port: &mut i32) {
        if let Some(proxy) = self.ports.get(port) {
            *host = StrBytes::from_static_str("127.0.0.1");
            *port = *proxy;
        }
    }
}

fn rewritten<T: Decodable + Encodable>(
    request: &Request,
    frame: Vec<u8>,
    change: impl FnOnce(&mut T),
) -> Result<Vec<u8>> {
    let Some(api) = request.api else { return Ok(frame) };
    let header_version = api.response_header_version(request.version);
    let mut bytes = Bytes::from(frame);
    let header = ResponseHeader::decode(&mut bytes, header_version)?;
    let mut body = T::decode(&mut bytes, request.version)?;
    anyhow::ensure!(
        !bytes.has_remaining(),
        "bytes are left over behind an answer to {api:?}"
    );
    change(&mut body);
    let mut out = BytesMut::new();
    header.encode(&mut out, header_version)?;
    body.encode(&mut out, request.version)?;
    Ok(out.to_vec())
}
