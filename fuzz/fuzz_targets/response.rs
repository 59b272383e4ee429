//! Decodes any bytes as the response of any API in any version.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use sealwax_protocol::ApiKey;
use sealwax_protocol::response::{ResponseBody, correlation_id};

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (api, version, bytes) = input;
    let Ok(api) = ApiKey::try_from(i16::from(api)) else {
        return;
    };
    let frame = Bytes::copy_from_slice(bytes);
    let _ = correlation_id(&frame);
    if let Ok(body) = ResponseBody::decode(frame, api, i16::from(version % 24)) {
        assert_eq!(body.api_key(), api);
    }
});
