//! rampmeter-node
