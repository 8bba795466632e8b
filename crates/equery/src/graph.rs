//! Order in a graph.

/// Returns the nodes so that each comes after those that it depends on. Nodes that are in a cycle or depend on one are missing.
pub(crate) fn ordered(dependencies: &[Vec<usize>]) -> Vec<usize> {
    let mut dependents = vec![Vec::new(); dependencies.len()];
    let mut waits_for: Vec<usize> = dependencies.iter().map(Vec::len).collect();
    for (node, of) in dependencies.iter().enumerate() {
        of.iter().for_each(|dependency| dependents[*dependency].push(node));
    }
    let mut ready: Vec<usize> = (0..dependencies.len()).rev().filter(|node| waits_for[*node] == 0).collect();
    let mut order = Vec::with_capacity(dependencies.len());
    while let Some(node) = ready.pop() {
        order.push(node);
        for dependent in &dependents[node] {
            waits_for[*dependent] -= 1;
            if waits_for[*dependent] == 0 {
                ready.push(*dependent);
            }
        }
    }
    order
}

/// All cycles that can be found by following from each node the first dependency that is not `ordered`; each node in one at most.
pub(crate) fn cycles(dependencies: &[Vec<usize>], ordered: &[usize]) -> Vec<Vec<usize>> {
    let mut is_done = vec![false; dependencies.len()];
    ordered.iter().for_each(|node| is_done[*node] = true);
    let is_ordered = is_done.clone();
    let mut cycles = Vec::new();
    for start in 0..dependencies.len() {
        let (mut path, mut place) = (Vec::new(), start);
        let mut position = std::collections::HashMap::new();
        while !is_done[place] && !position.contains_key(&place) {
            position.insert(place, path.len());
            path.push(place);
            // A node that is not ordered depends on one that is not.
            let Some(next) = dependencies[place].iter().find(|next| !is_ordered[**next]) else { break };
            place = *next;
        }
        if let Some(begin) = position.get(&place) {
            cycles.push(path[*begin..].to_vec());
        }
        path.iter().for_each(|node| is_done[*node] = true);
    }
    cycles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_after_what_they_depend_on() {
        assert_eq!(ordered(&[vec![1], vec![2], vec![]]), [2, 1, 0]);
        assert_eq!(ordered(&[vec![1], vec![0], vec![], vec![2, 0]]), [2]);
    }

    #[test]
    fn each_cycle_is_found_once() {
        let dependencies = [vec![1], vec![0], vec![0], vec![3], vec![]];
        let order = ordered(&dependencies);
        assert_eq!(order, [4]);
        assert_eq!(cycles(&dependencies, &order), [vec![0, 1], vec![3]]);
    }
}
