//! Bounds contain the truth.
