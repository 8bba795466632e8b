//! How many flows have how many packets.

use super::{Asked, OK, Rows};
use crate::state::{Counted, Kept, Part, State};
use packet::Key;
use record::report::{SizeClass, TaskRows};
use summary::sketch::SizeDistribution;

pub(super) fn rows(asked: &Asked<'_>) -> Rows {
    let (distribution, status) = distribution(asked.state());
    (TaskRows::Sizes(classes(&distribution)), status)
}

/// Of both families together: their flows are different ones.
pub(super) fn distribution(state: &State) -> (SizeDistribution, String) {
    let (mut all, mut not_kept) = of_part(&state.v4);
    if let Some(v6) = &state.v6 {
        let (more, more_not_kept) = of_part(v6);
        all.merge(&more);
        not_kept += more_not_kept;
    }
    let status = match not_kept {
        0 => OK.to_owned(),
        packets => format!("incomplete: {packets} packets of flows for which there was no room; give it more memory"),
    };
    (all, status)
}

fn of_part<K: Key>(part: &Part<K>) -> (SizeDistribution, u64) {
    match &part.of {
        Kept::Counted(counted) if part.total > 0 => match &**counted {
            Counted::Exact(table) => {
                (SizeDistribution::of(table.iter().map(|(_, packets)| packets)), table.not_kept())
            }
            Counted::SizeArray(array) => (array.distribution(), 0),
            Counted::PacketSample(sample) => {
                use summary::sketch::Summary;
                let one_in = sample.configuration().one_in;
                let sizes = sample.iter().map(|(_, packets)| packets);
                (SizeDistribution::from_sample(sizes, one_in, part.total as f64), sample.not_kept())
            }
            _ => (SizeDistribution::default(), part.total),
        },
        _ => (SizeDistribution::default(), 0),
    }
}

/// By powers of two: 1, 2, 3 to 4, 5 to 8, …
fn classes(distribution: &SizeDistribution) -> Vec<SizeClass> {
    let mut classes: Vec<SizeClass> = Vec::new();
    for (size, flows) in distribution.iter() {
        let most = size.checked_next_power_of_two().unwrap_or(u64::MAX);
        match classes.last_mut() {
            Some(class) if class.most == most => class.flows += flows,
            _ => classes.push(SizeClass { least: most / 2 + 1, most, flows }),
        }
    }
    // One is a class of its own.
    classes.iter_mut().filter(|class| class.most == 1).for_each(|class| class.least = 1);
    classes
}
