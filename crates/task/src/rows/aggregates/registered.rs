//! The registry's code: all aggregates as one type, and all their states as another, without a call by address for each row.

/// Makes [`Aggregate`](super::Aggregate) and [`Kind`](super::Kind) of the registry.
///
/// A line has the aggregate with its arguments, its definition, and the state that it is the first to keep.
macro_rules! registered {
    ($(
        $(#[$doc:meta])*
        $aggregate:ident $(( $($argument:ident: $of:ty),* ))?
            => $module:ident::$definition:ident $(keeps $state:ident)?;
    )*) => {
        /// A value computed from the rows of a group. Nulls are ignored. Without any value, counts and sums are 0 and the others null.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Aggregate {
            $( $(#[$doc])* $aggregate $(( $($of),* ))?, )*
        }

        impl Aggregate {
            /// Returns the properties of the aggregate that do not depend on rows.
            pub fn meaning(&self) -> Box<dyn AggregateMeaning + '_> {
                match self {
                    $( Self::$aggregate $(( $($argument),* ))? => {
                        Box::new($module::$definition { $( $($argument),* )? })
                    } )*
                }
            }

            /// Returns the properties of the aggregate that the planner reads.
            pub(crate) fn planning(&self) -> Box<dyn AggregatePlanning + '_> {
                match self {
                    $( Self::$aggregate $(( $($argument),* ))? => {
                        Box::new($module::$definition { $( $($argument),* )? })
                    } )*
                }
            }

            /// Returns its arguments.
            pub(crate) fn arguments(&self) -> Vec<&dyn AggregateArgument> {
                match self {
                    $( Self::$aggregate $(( $($argument),* ))? => vec![$( $($argument),* )?], )*
                }
            }

            /// Returns its arguments.
            pub(crate) fn arguments_mut(&mut self) -> Vec<&mut dyn AggregateArgument> {
                match self {
                    $( Self::$aggregate $(( $($argument),* ))? => vec![$( $($argument),* )?], )*
                }
            }
        }

        impl AggregateFunction {
            /// Returns the functions of Equery that aggregate rows.
            pub fn all() -> impl Iterator<Item = Self> {
                [$( $module::$definition::FUNCTION ),*].into_iter().flatten()
            }
        }

        /// The state that is kept of the rows of a group.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) enum Kind {
            $( $( $state($module::$state), )? )*
        }

        $( $( impl From<$module::$state> for Kind {
            fn from(state: $module::$state) -> Self {
                Self::$state(state)
            }
        } )? )*

        impl Kind {
            /// Returns what the state tells the executor.
            pub(crate) fn state(&self) -> &dyn KeptState {
                match self { $( $( Self::$state(state) => state, )? )* }
            }

            /// Adds rows to the states of their groups.
            #[inline(always)]
            pub(crate) fn update<K: MaskedKey>(&self, rows: AddedRows<'_, K, impl Owners>) {
                match self { $( $( Self::$state(state) => state.update(rows), )? )* }
            }

            /// Adds the state of other rows to a state.
            #[inline]
            pub(crate) fn merge(&self, state: &mut [u64], other: &[u64]) {
                match self { $( $( Self::$state(kept) => kept.merge(state, other), )? )* }
            }

            /// Returns the value of a group, as far as its state tells it.
            pub(crate) fn value(&self, state: &[u64]) -> Scalar {
                match self { $( $( Self::$state(kept) => kept.value(state), )? )* }
            }
        }
    };
}

pub(super) use registered;
