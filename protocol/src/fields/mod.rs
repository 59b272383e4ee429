//! Fields of flexible messages (KIP-482), for the codecs that are our own: a bounded reader and a writer whose large byte fields stay apart.

mod leader;
mod reader;
mod topic;
mod writer;

pub(crate) use leader::{
    NODE_ENDPOINT_BYTES, read_leader_hint, read_node_endpoint, write_leader_hint, write_node_endpoints,
};
pub(crate) use reader::FieldReader;
pub(crate) use topic::{read_topic, smallest_topic, write_topic};
pub(crate) use writer::FieldWriter;
