//! rampmeter-python
