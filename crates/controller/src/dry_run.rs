//! Queries over what the stores of nodes remember, as if they had run then.
//!
//! A [`DryRunController`] is a [`Controller`] of replays whose nodes are played: what it asks of a node in a window is asked of the node's store, for
//! many windows at once. The windows, the event machine and the stories are those of a run. It has no thread and no clock: it says what is
//! to be asked ([`DryRunStep::Ask`]) and is told what was answered.

mod outcome;
mod played;
mod stock;

use crate::controller::{Actions, Controller, ControllerContext};
use crate::inquiry::{HistoryQuery, HistoryResult};
use equery::Chain;
use model::{DryRunOutcome, Span};
use outcome::DryRunOutputs;
use played::Played;
use protocol::FromProbe;
use std::collections::BTreeMap;
use stock::Stock;

/// The nodes, windows and period that a dry run is about.
#[derive(Clone, Debug)]
pub struct DryRunSetting {
    /// The fields of the flow key of all nodes, as `--key` has them.
    pub key: Vec<String>,
    /// The length of windows, nanoseconds.
    pub window_ns: u64,
    /// The time whose events are told.
    pub period: Span,
    /// The time before it for which windows are replayed for the values that queries read of them, nanoseconds.
    pub reach_ns: u64,
}

/// The next step of a dry run.
#[derive(Debug)]
pub enum DryRunStep {
    /// The questions to ask, whose answers are given to [`DryRunController::take`].
    Ask(Vec<HistoryQuery>),
    /// The end: [`DryRunController::end`] says what came of it.
    End,
}

/// Queries that are played over recorded windows.
#[derive(Debug)]
pub struct DryRunController {
    controller: Controller,
    /// The actions that the controller wants done.
    actions: Actions,
    nodes: Vec<Played>,
    stock: Stock,
    collected: DryRunOutputs,
}

impl DryRunController {
    /// A dry run of these queries over all nodes of the chain.
    ///
    /// # Errors
    /// A line that says what is wrong with the period or a query.
    pub fn new(chain: Chain, setting: &DryRunSetting) -> Result<Self, String> {
        let window_ns = setting.window_ns.max(1);
        let whole = |ns: u64| ns - ns % window_ns;
        let Span { start_ns, end_ns } = setting.period;
        let replayed =
            Span { start_ns: whole(start_ns.saturating_sub(setting.reach_ns)), end_ns: whole(end_ns) };
        if replayed.end_ns <= start_ns {
            return Err("the period has no whole window".to_owned());
        }
        let names = chain.graph.nodes.clone();
        let of_run = ControllerContext { window_ns, is_replay: true, key: None };
        let mut controller = Controller::new(chain, of_run);
        let actions = controller.begin();
        Ok(Self {
            nodes: names.iter().map(|_| Played::new(replayed.start_ns, window_ns)).collect(),
            stock: Stock::new(setting.key.clone(), names, replayed, window_ns),
            collected: DryRunOutputs::new(start_ns),
            controller,
            actions,
        })
    }

    /// Plays on as far as the answers so far allow.
    ///
    /// # Errors
    /// A line, if a query cannot be asked.
    pub fn go_on(&mut self) -> Result<DryRunStep, String> {
        loop {
            self.carry_out()?;
            let mut messages: Vec<(usize, FromProbe)> = Vec::new();
            for (number, node) in self.nodes.iter_mut().enumerate() {
                messages
                    .extend(node.go_on(number, &mut self.stock).into_iter().map(|message| (number, message)));
            }
            if messages.is_empty() {
                break;
            }
            for (number, message) in messages {
                let actions = self.controller.take(number, message);
                self.actions.send.extend(actions.send);
                self.actions.show.extend(actions.show);
                self.carry_out()?;
            }
        }
        let asked = self.stock.next_questions()?;
        if !asked.is_empty() {
            return Ok(DryRunStep::Ask(asked));
        }
        if !self.controller.has_ended() {
            return Err(
                "the dry run waits for nothing that could come: this is an error in Edison".to_owned()
            );
        }
        self.actions = self.controller.finish();
        self.carry_out()?;
        Ok(DryRunStep::End)
    }

    /// Takes what was answered to the last questions.
    pub fn take(&mut self, history: HistoryResult) {
        self.stock.take(history);
    }

    /// Returns what came of the dry run; of one that was ended early, what came so far.
    pub fn end(self) -> DryRunOutcome {
        let windows: Vec<u64> = self.nodes.iter().map(Played::windows).collect();
        let remarks: BTreeMap<usize, String> = self.stock.remarks();
        self.collected.end(&self.controller, &windows, &remarks)
    }

    /// Gives the controller's messages to the nodes, and keeps what it shows.
    fn carry_out(&mut self) -> Result<(), String> {
        let Actions { send, show } = std::mem::take(&mut self.actions);
        for (number, message) in send {
            if let Some(node) = self.nodes.get_mut(number) {
                node.take(number, message, &mut self.stock)?;
            }
        }
        show.into_iter().for_each(|output| self.collected.show(output));
        Ok(())
    }
}
