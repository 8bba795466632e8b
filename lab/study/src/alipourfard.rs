//! Alipourfard, Moshref, Yu: HotNets 2015.

pub(crate) mod figure_1;
pub(crate) mod figure_2;
pub(crate) mod figure_3;
pub(crate) mod figure_4;
pub(crate) mod figure_5;
mod foretold;
mod structures;
pub(crate) mod table_2;
pub(crate) mod table_3;

pub(crate) use structures::{COUNT_MIN, HEAP, SIMPLE, faster_at_every_size, mean_ratio, sizes};

use crate::figure::Paper;

pub(crate) static PAPER: Paper = Paper {
    name: "alipourfard",
    cite: "Alipourfard, Moshref, Yu: Re-evaluating Measurement Algorithms in Software, HotNets 2015",
    machine: "Xeon E5-2650, 10 cores, 256 KB of L2 a core, 25 MB of L3, 32 GB, a 10G card, Click on DPDK 1.8 (section 3.1)",
};
