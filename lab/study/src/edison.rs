//! Wu, Miskell, Luo, Wang, Chen: IFIP 2019.

pub(crate) mod figure_5;

use crate::figure::Paper;

pub(crate) static PAPER: Paper = Paper {
    name: "edison",
    cite: "Wu, Miskell, Luo, Wang, Chen: Edison, IFIP 2019",
    machine: "two sockets of Xeon E5-2643, 6 cores each at 3.4 GHz, a ConnectX-4 card of 100 Gbit/s (section III.A)",
};
