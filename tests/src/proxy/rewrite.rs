//! Answers that carry brokers' addresses (Metadata, FindCoordinator, DescribeCluster) get the proxy's ports instead, and ApiVersions
//! offers no version of them, or of the transaction path, that the proxy cannot read.

use std::collections::HashMap;

use anyhow::Result;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, DescribeClusterResponse, FindCoordinatorResponse, MetadataResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::Request;
use super::frame::changed;

/// What the proxy has to read.
const READ: [ApiKey; 10] = [
    ApiKey::Metadata,
    ApiKey::FindCoordinator,
    ApiKey::DescribeCluster,
    ApiKey::InitProducerId,
    ApiKey::AddPartitionsToTxn,
    ApiKey::AddOffsetsToTxn,
    ApiKey::TxnOffsetCommit,
    ApiKey::Produce,
    ApiKey::EndTxn,
    ApiKey::ApiVersions,
];

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
            Some(ApiKey::Metadata) => changed(request, frame, |body: &mut MetadataResponse| {
                for broker in &mut body.brokers {
                    self.redirect(&mut broker.host, &mut broker.port);
                }
            }),
            Some(ApiKey::FindCoordinator) => changed(request, frame, |body: &mut FindCoordinatorResponse| {
                self.redirect(&mut body.host, &mut body.port);
                for coordinator in &mut body.coordinators {
                    self.redirect(&mut coordinator.host, &mut coordinator.port);
                }
            }),
            Some(ApiKey::DescribeCluster) => changed(request, frame, |body: &mut DescribeClusterResponse| {
                for broker in &mut body.brokers {
                    self.redirect(&mut broker.host, &mut broker.port);
                }
            }),
            // A version that is newer than the proxy is answered with an error in version 0, and asked again.
            Some(ApiKey::ApiVersions) if request.version <= ApiKey::ApiVersions.valid_versions().max => {
                let plain = frame.clone();
                Ok(changed(request, frame, limit_versions).unwrap_or(plain))
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

fn limit_versions(body: &mut ApiVersionsResponse) {
    for offered in &mut body.api_keys {
        if let Some(api) = READ.iter().find(|api| **api as i16 == offered.api_key) {
            offered.max_version = offered.max_version.min(api.valid_versions().max);
        }
    }
}
