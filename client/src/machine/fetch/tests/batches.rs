//! Record batches made by hand, so that tests can have what only a broker or its log cleaner makes: markers, gaps, empty batches.

/// What a batch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::machine::fetch) enum Kind {
    Plain,
    Transactional,
    Abort,
    Commit,
    /// A control batch of another type.
    Control(i16),
}

/// A batch to encode.
#[derive(Debug, Clone)]
pub(in crate::machine::fetch) struct Batch {
    pub(in crate::machine::fetch) kind: Kind,
    pub(in crate::machine::fetch) producer_id: i64,
    pub(in crate::machine::fetch) base: i64,
    pub(in crate::machine::fetch) last: i64,
    /// Offsets whose records are still there.
    pub(in crate::machine::fetch) records: Vec<i64>,
}

impl Batch {
    /// A batch that the cleaner has not touched.
    pub(in crate::machine::fetch) fn new(kind: Kind, producer_id: i64, base: i64, count: i64) -> Self {
        let last = base + count - 1;
        Self {
            kind,
            producer_id,
            base,
            last,
            records: (base..=last).collect(),
        }
    }

    /// A marker, which takes one offset.
    pub(in crate::machine::fetch) fn marker(kind: Kind, producer_id: i64, offset: i64) -> Self {
        Self::new(kind, producer_id, offset, 1)
    }

    /// Leaves only the records with these offsets.
    pub(in crate::machine::fetch) fn compacted_to(mut self, offsets: &[i64]) -> Self {
        self.records.retain(|offset| offsets.contains(offset));
        self
    }

    pub(in crate::machine::fetch) fn encode(&self) -> Vec<u8> {
        let (attributes, control_type): (i16, _) = match self.kind {
            Kind::Plain => (0, None),
            Kind::Transactional => (1 << 4, None),
            Kind::Abort => (3 << 4, Some(0_i16)),
            Kind::Commit => (3 << 4, Some(1)),
            Kind::Control(number) => (1 << 5, Some(number)),
        };
        let mut body = Vec::new();
        body.extend(attributes.to_be_bytes());
        body.extend(i32::try_from(self.last - self.base).unwrap().to_be_bytes());
        body.extend(1_000_i64.to_be_bytes());
        body.extend(1_000_i64.to_be_bytes());
        body.extend(self.producer_id.to_be_bytes());
        body.extend(0_i16.to_be_bytes());
        body.extend(0_i32.to_be_bytes());
        body.extend(i32::try_from(self.records.len()).unwrap().to_be_bytes());
        for offset in &self.records {
            let (key, value) = match control_type {
                Some(number) => ([[0, 0], number.to_be_bytes()].concat(), vec![0; 6]),
                None => (b"k".to_vec(), offset.to_string().into_bytes()),
            };
            let mut record = vec![0];
            varint(&mut record, 0);
            varint(&mut record, offset - self.base);
            varint(&mut record, key.len() as i64);
            record.extend(key);
            varint(&mut record, value.len() as i64);
            record.extend(value);
            varint(&mut record, 0);
            varint(&mut body, record.len() as i64);
            body.extend(record);
        }
        let mut bytes = Vec::new();
        bytes.extend(self.base.to_be_bytes());
        bytes.extend(i32::try_from(body.len() + 9).unwrap().to_be_bytes());
        bytes.extend(0_i32.to_be_bytes());
        bytes.push(2);
        bytes.extend(crc32c(&body).to_be_bytes());
        bytes.extend(body);
        bytes
    }
}

/// The bytes of several batches.
pub(in crate::machine::fetch) fn encode(batches: &[Batch]) -> bytes::Bytes {
    batches.iter().flat_map(Batch::encode).collect::<Vec<_>>().into()
}

fn varint(bytes: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// CRC-32C bit by bit: independent of the one that the reader uses.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0x82F6_3B78 & (crc & 1).wrapping_neg())
        })
    })
}
