//! The paths of the protocol, request by request.
