//! rampmeter-lab
