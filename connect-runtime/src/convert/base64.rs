//! Base64 with padding (RFC 4648 §4), which JSON uses for bytes.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The base64 text of some bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .fold(0u32, |group, byte| group << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let sextet = (group >> (18 - 6 * place)) & 63;
            let known = place <= chunk.len();
            text.push(if known {
                ALPHABET.get(sextet as usize).map_or('=', |c| char::from(*c))
            } else {
                '='
            });
        }
    }
    text
}

/// The bytes of a base64 text, or none if it is not base64 with padding.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text
        .strip_suffix("==")
        .or_else(|| text.strip_suffix('='))
        .unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in body.as_bytes().chunks(4) {
        let mut group = 0u32;
        for place in 0..4 {
            group = group << 6 | chunk.get(place).map_or(Some(0), |c| sextet(*c))?;
        }
        let whole = group.to_be_bytes();
        bytes.extend_from_slice(whole.get(1..chunk.len())?);
    }
    Some(bytes)
}

fn sextet(character: u8) -> Option<u32> {
    ALPHABET
        .iter()
        .position(|known| *known == character)
        .and_then(|place| u32::try_from(place).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_vectors() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        for wrong in ["Zg", "Zg=", "Z===", "Zm9*", "=Zm9"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn round_trip(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }
}
