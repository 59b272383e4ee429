//! DescribeCluster: what Metadata (API key 3) tells of the brokers.

use sealwax_protocol::ids::NodeId;

use crate::admin::Admin;
use crate::error::Result;
use crate::machine::admin::items::out_of_time;
use crate::machine::admin::{Verdict, describe_topics};
use crate::machine::metadata::merge;

/// The cluster as it knows itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterDescription {
    /// The cluster's id, if it has one.
    pub cluster_id: Option<String>,
    /// The broker that takes requests for the controller, if there is one at the moment.
    pub controller: Option<NodeId>,
    /// The brokers that are alive, by id.
    pub nodes: Vec<Node>,
}

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// The host that it advertises.
    pub host: String,
    /// The port that it advertises.
    pub port: u16,
    /// Its rack, if set.
    pub rack: Option<String>,
}

impl Admin {
    /// Describes the cluster.
    ///
    /// # Errors
    /// If no answer was had in `default.api.timeout.ms`.
    ///
    /// *Cancel safety*: reads only.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription> {
        let mut patience = self.patience();
        loop {
            let reason = match self.describe(&patience, describe_topics::request(&[])).await? {
                Verdict::Done(response) => {
                    let mut nodes: Vec<Node> = merge::brokers(&response)
                        .into_values()
                        .map(|broker| Node {
                            id: broker.id,
                            host: broker.host.to_string(),
                            port: broker.port,
                            rack: broker.rack.map(|rack| rack.to_string()),
                        })
                        .collect();
                    nodes.sort_by_key(|node| node.id);
                    return Ok(ClusterDescription {
                        cluster_id: response.cluster_id.map(|id| id.to_string()),
                        controller: merge::node(response.controller_id.0),
                        nodes,
                    });
                }
                Verdict::Again(reason) => reason,
                Verdict::Failed(error) => return Err(error),
            };
            if !self.pause(&mut patience).await {
                return Err(out_of_time("describing the cluster", Some(&reason)));
            }
        }
    }
}
