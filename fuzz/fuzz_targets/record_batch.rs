//! Reads any bytes as batches: once as they are, once with length and checksum made right so that the records are reached.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use sealwax_protocol::limits::DecodeLimits;
use sealwax_protocol::record::Batches;

fn read(bytes: Bytes) {
    for batch in Batches::new(bytes, DecodeLimits::default()).flatten() {
        let _ = batch.control_type();
        let mut next = batch.header().base_offset;
        for record in batch.records().flatten() {
            assert!((next..=batch.header().last_offset()).contains(&record.offset));
            next = record.offset + 1;
            assert_eq!(record.headers.len(), record.headers.count());
        }
        assert!(next <= batch.header().next_offset());
    }
}

fuzz_target!(|bytes: &[u8]| {
    read(Bytes::copy_from_slice(bytes));
    if bytes.len() > 60 {
        let mut repaired = bytes.to_vec();
        repaired[8..12].copy_from_slice(&(bytes.len() as i32 - 12).to_be_bytes());
        repaired[16] = 2;
        let crc = crc32c::crc32c(&repaired[21..]);
        repaired[17..21].copy_from_slice(&crc.to_be_bytes());
        read(repaired.into());
    }
});
