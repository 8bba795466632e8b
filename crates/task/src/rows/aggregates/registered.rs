//! The registry's code: the states of all aggregates as one type, without a call by address for each row.

/// Makes [`Kind`](super::Kind) of the registry.
macro_rules! registered {
    ($( $module:ident keeps $state:ident; )*) => {
        /// What is kept of the rows of a group.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum Kind {
            $( $state($module::$state), )*
        }

        $( impl From<$module::$state> for Kind {
            fn from(state: $module::$state) -> Self {
                Self::$state(state)
            }
        } )*

        impl Kind {
            /// Returns what the state tells the executor.
            pub(crate) fn state(&self) -> &dyn KeptState {
                match self { $( Self::$state(state) => state, )* }
            }

            /// Adds rows to the states of their groups.
            #[inline(always)]
            pub(crate) fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
                match self { $( Self::$state(state) => state.update(rows), )* }
            }

            /// Adds the state of other rows to a state.
            pub(crate) fn merge(&self, state: &mut [u64], other: &[u64]) {
                match self { $( Self::$state(kept) => kept.merge(state, other), )* }
            }

            /// Returns the value of a group, as far as its state tells it.
            pub(crate) fn value(&self, state: &[u64]) -> Scalar {
                match self { $( Self::$state(kept) => kept.value(state), )* }
            }
        }
    };
}

pub(super) use registered;
