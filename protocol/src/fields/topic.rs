//! How Produce and Fetch name a topic: by name below version 13, by id from 13 on (KIP-516; the same number in both APIs).

use std::sync::Arc;

use crate::error::{DecodeError, EncodeError};
use crate::fields::{FieldReader, FieldWriter};
use crate::ids::TopicId;

const FIRST_VERSION_WITH_IDS: i16 = 13;

/// Bytes of the shortest topic entry: its name or id, an empty array and no tagged fields.
pub(crate) const fn smallest_topic(version: i16) -> usize {
    if version < FIRST_VERSION_WITH_IDS { 3 } else { 18 }
}

pub(crate) fn read_topic(reader: &mut FieldReader, version: i16) -> Result<(Arc<str>, TopicId), DecodeError> {
    if version < FIRST_VERSION_WITH_IDS {
        Ok((reader.text("topic name")?, TopicId::nil()))
    } else {
        Ok((Arc::from(""), reader.uuid("topic id")?))
    }
}

pub(crate) fn write_topic(
    writer: &mut FieldWriter,
    api: &'static str,
    version: i16,
    name: &str,
    id: TopicId,
) -> Result<(), EncodeError> {
    if version < FIRST_VERSION_WITH_IDS {
        if name.is_empty() {
            return Err(EncodeError::Version {
                api,
                version,
                what: "a topic without a name",
            });
        }
        return writer.text("topic name", name);
    }
    if id.is_nil() {
        return Err(EncodeError::Version {
            api,
            version,
            what: "a topic without an id",
        });
    }
    writer.uuid(id);
    Ok(())
}
