//! What every message body can do: write itself behind a request or response header, and be read from what follows one.
//! Bodies of the `kafka-protocol` crate all go the same bounded way; Produce and Fetch have codecs of their own.

use bytes::Bytes;
use kafka_protocol::protocol::{Decodable, Encodable};

use crate::byte_buf::BoundedBuf;
use crate::error::{DecodeError, EncodeError};
use crate::fields::FieldWriter;

/// Bytes of the shortest element in any array that can have more than 32,767 elements: an index, an error code and a count of tagged
/// fields. Topics are longer; lists of bare numbers (a partition's replicas) and strings (keys of a config) never get that many.
const SMALLEST_ELEMENT: usize = 7;

/// A body that can be written.
pub(crate) trait EncodeBody {
    /// About how many bytes it takes, without byte fields.
    fn size_hint(&self, version: i16) -> usize;

    /// Appends the body. `version` was checked to be one that this client speaks.
    fn write(&self, writer: &mut FieldWriter, api: &'static str, version: i16) -> Result<(), EncodeError>;
}

/// A body that can be read.
pub(crate) trait DecodeBody: Sized {
    /// Reads the body and demands that no byte is left. `version` was checked to be one that this client speaks.
    fn read(bytes: Bytes, api: &'static str, version: i16) -> Result<Self, DecodeError>;
}

impl<T: Encodable> EncodeBody for T {
    fn size_hint(&self, version: i16) -> usize {
        self.compute_size(version).unwrap_or_default()
    }

    fn write(&self, writer: &mut FieldWriter, api: &'static str, version: i16) -> Result<(), EncodeError> {
        self.encode(writer.buffer_mut(), version)
            .map_err(|error| EncodeError::Message {
                api,
                version,
                reason: format!("{error:#}"),
            })
    }
}

impl<T: Decodable> DecodeBody for T {
    fn read(bytes: Bytes, api: &'static str, version: i16) -> Result<Self, DecodeError> {
        let mut buf = BoundedBuf::with_smallest_element(bytes, SMALLEST_ELEMENT);
        let body = Self::decode(&mut buf, version).map_err(|error| {
            let reason = buf
                .refusal()
                .map_or_else(|| format!("{error:#}"), |refusal| refusal.to_string());
            DecodeError::Message { api, version, reason }
        })?;
        match bytes::Buf::remaining(&buf) {
            0 => Ok(body),
            extra => Err(DecodeError::TrailingBytes { what: api, extra }),
        }
    }
}
