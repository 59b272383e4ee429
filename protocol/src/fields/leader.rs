//! Leader hints of Produce and Fetch answers (KIP-951): the leader of a partition, and the addresses of such leaders.

use bytes::BufMut;

use crate::error::{DecodeError, EncodeError};
use crate::fields::{FieldReader, FieldWriter};
use crate::ids::{LeaderEpoch, NodeId};
use crate::leader::{LeaderHint, NodeEndpoint};

/// Bytes of the shortest entry.
pub(crate) const NODE_ENDPOINT_BYTES: usize = 11;

const NOBODY: LeaderHint = LeaderHint {
    leader: NodeId(-1),
    epoch: LeaderEpoch::UNKNOWN,
};

/// A hint; `None` if it names neither leader nor epoch.
pub(crate) fn read_leader_hint(reader: &mut FieldReader) -> Result<Option<LeaderHint>, DecodeError> {
    let leader = NodeId(reader.i32("current leader id")?);
    let epoch = LeaderEpoch(reader.i32("current leader epoch")?);
    reader.skip_tagged_fields("current leader")?;
    Ok(Some(LeaderHint { leader, epoch }).filter(|hint| *hint != NOBODY))
}

/// The content of the tagged field, or `None` if it must not be written.
pub(crate) fn write_leader_hint(hint: Option<LeaderHint>) -> Option<[u8; 9]> {
    let hint = hint.filter(|hint| *hint != NOBODY)?;
    let mut bytes = [0; 9];
    let mut rest = &mut bytes[..];
    rest.put_i32(hint.leader.0);
    rest.put_i32(hint.epoch.0);
    Some(bytes)
}

pub(crate) fn read_node_endpoint(reader: &mut FieldReader) -> Result<NodeEndpoint, DecodeError> {
    let node = NodeId(reader.i32("node id")?);
    let host = reader.text("node host")?;
    let port = reader.i32("node port")?;
    let port = u16::try_from(port).map_err(|_| DecodeError::Invalid {
        what: "node port",
        value: port.to_string(),
    })?;
    let rack = reader.nullable_text("node rack")?;
    reader.skip_tagged_fields("node endpoint")?;
    Ok(NodeEndpoint {
        node,
        host,
        port,
        rack,
    })
}

/// Writes the tagged fields that a whole answer ends with: tag 0 if there are addresses, else none.
pub(crate) fn write_node_endpoints(
    writer: &mut FieldWriter,
    endpoints: &[NodeEndpoint],
) -> Result<(), EncodeError> {
    if endpoints.is_empty() {
        writer.tag_count(0);
        return Ok(());
    }
    let mut field = FieldWriter::with_capacity(64 * endpoints.len());
    field.array("node endpoints", endpoints, |field, endpoint| {
        field.i32(endpoint.node.0);
        field.text("node host", &endpoint.host)?;
        field.i32(endpoint.port.into());
        field.nullable_text("node rack", endpoint.rack.as_deref())?;
        field.tag_count(0);
        Ok(())
    })?;
    writer.tag_count(1);
    writer.tagged_field("node endpoints", 0, &field.into_unframed())
}
