//! rampmeter-tools
