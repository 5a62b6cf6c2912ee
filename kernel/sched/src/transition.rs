// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What may happen to a thread: one function from a state and an event to the next state. Every way through the scheduler,
//! short or long, is made of these events, and in the simulator each is checked as it happens (`audit.rs`).

/// What the token of a thread says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Life {
    /// No thread.
    #[default]
    Free,
    /// Made, and not started.
    New,
    /// It runs, or somebody has to see to it that it will.
    Runnable,
    /// The same, with a wake-up to spend.
    Notified,
    /// It waits to be woken.
    Parked,
}

/// A thread as far as the scheduler may be wrong about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) life: Life,
    /// The CPU that runs it.
    pub(crate) running: Option<usize>,
    /// The CPU in whose rings or queues it is.
    pub(crate) queued: Option<usize>,
    /// The CPU in whose inbox it is.
    pub(crate) sent: Option<usize>,
}

/// What happens to a thread. All but a wake-up is done by the CPU on which it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The control block has a new thread.
    Created,
    /// The code that runs on the CPU has become a thread.
    Adopted,
    /// The new thread is runnable.
    Started,
    /// It was parked and is runnable.
    Woken,
    /// It was not parked and keeps the wake-up.
    Kept,
    /// It has spent a wake-up.
    Spent,
    /// It waits to be woken.
    Parked,
    /// It has ended.
    Ended,
    /// It is in the inbox of this CPU.
    Sent(usize),
    /// Its CPU has taken it from the inbox.
    Received,
    /// It is in a ring or a queue of its CPU.
    Inserted,
    /// It is in none any more.
    Removed,
    /// It gets the CPU.
    Begins,
    /// It gives the CPU up.
    Stops,
}

/// The state after an event on `cpu`, or why there is none.
pub(crate) fn step(state: State, event: Event, cpu: usize) -> Result<State, &'static str> {
    let State { life, running, queued, sent } = state;
    let may_run = matches!(life, Life::Runnable | Life::Notified);
    let demand = |holds, otherwise| if holds { Ok(()) } else { Err(otherwise) };
    let becomes = |life| State { life, ..state };
    Ok(match event {
        Event::Created => {
            demand(state == State::default(), "a control block is reused that is in use")?;
            becomes(Life::New)
        }
        Event::Adopted => {
            demand(state == State::default(), "a control block is adopted that is in use")?;
            State { life: Life::Runnable, running: Some(cpu), ..state }
        }
        Event::Started => {
            demand(life == Life::New, "a thread is started that is not new")?;
            becomes(Life::Runnable)
        }
        Event::Woken => {
            demand(life == Life::Parked, "a thread is made runnable that is not parked")?;
            demand(sent.is_none(), "a parked thread is in an inbox")?;
            becomes(Life::Runnable)
        }
        // The end of a thread is a store that others see when it leaves the buffer: a wake-up that comes before that is lost
        // with the thread.
        Event::Kept if life == Life::Free && running.is_some() => state,
        Event::Kept => {
            demand(may_run, "a wake-up is kept for a thread that cannot spend it")?;
            becomes(Life::Notified)
        }
        Event::Spent => {
            demand(
                life == Life::Notified && running == Some(cpu),
                "a wake-up is spent that nobody has left",
            )?;
            becomes(Life::Runnable)
        }
        Event::Parked => {
            demand(life == Life::Runnable && running == Some(cpu), "a thread parks that does not run")?;
            demand(sent.is_none(), "a running thread is in an inbox")?;
            becomes(Life::Parked)
        }
        Event::Ended => {
            demand(may_run && running == Some(cpu), "a thread ends that does not run")?;
            demand(sent.is_none(), "a running thread is in an inbox")?;
            becomes(Life::Free)
        }
        Event::Sent(to) => {
            demand(may_run, "a thread is sent that is not runnable")?;
            demand(sent.is_none(), "a thread is in two inboxes")?;
            // One that is still leaving its CPU may be in a ring there for a moment: it takes itself out.
            demand(queued.is_none() || queued == running, "a thread is in an inbox and in a ring")?;
            State { sent: Some(to), ..state }
        }
        Event::Received => {
            demand(sent == Some(cpu), "a thread is received that was not sent here")?;
            State { sent: None, ..state }
        }
        Event::Inserted => {
            demand(may_run, "a thread is queued that is not runnable")?;
            demand(queued.is_none() && sent.is_none(), "a thread is queued twice")?;
            demand(running.is_none_or(|on| on == cpu), "a thread is queued that another CPU runs")?;
            State { queued: Some(cpu), ..state }
        }
        Event::Removed => {
            demand(queued == Some(cpu), "a thread is taken out that is not in")?;
            State { queued: None, ..state }
        }
        Event::Begins => {
            demand(may_run, "a thread gets a CPU that is not runnable")?;
            demand(running.is_none(), "two CPUs run a thread")?;
            demand(sent.is_none(), "a thread gets a CPU and is in an inbox")?;
            demand(queued.is_none_or(|on| on == cpu), "a thread gets a CPU that is queued elsewhere")?;
            State { running: Some(cpu), ..state }
        }
        Event::Stops => {
            demand(running == Some(cpu), "a thread gives a CPU up that it does not have")?;
            demand(queued.is_none() || (may_run && queued == Some(cpu)), "a thread waits where it must not")?;
            State { running: None, ..state }
        }
    })
}

impl State {
    /// What is wrong when nobody is about to change it.
    pub(crate) fn flaw(self) -> Option<&'static str> {
        let places = [self.running.is_some() || self.queued.is_some(), self.sent.is_some()];
        let places = places.into_iter().filter(|is_there| *is_there).count();
        match self.life {
            Life::Runnable | Life::Notified if places == 0 => Some("a runnable thread waits nowhere"),
            Life::Runnable | Life::Notified if places > 1 => Some("a runnable thread is in two places"),
            Life::Free | Life::New | Life::Parked if places > 0 => {
                Some("a thread that is not runnable is in a place")
            }
            _ => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Event, Life, State, step};

    fn after(events: &[(Event, usize)]) -> Result<State, &'static str> {
        events.iter().try_fold(State::default(), |state, &(event, cpu)| step(state, event, cpu))
    }

    const BORN: [(Event, usize); 4] =
        [(Event::Created, 0), (Event::Started, 0), (Event::Inserted, 0), (Event::Begins, 0)];

    #[test]
    fn a_thread_comes_waits_and_goes() {
        let mut events = BORN.to_vec();
        events.extend([(Event::Parked, 0), (Event::Woken, 1), (Event::Sent(1), 1), (Event::Removed, 0)]);
        // Its new CPU has it in the inbox while the old one leaves it.
        assert_eq!(after(&events).map(|state| (state.life, state.sent)), Ok((Life::Runnable, Some(1))));
        events.extend([(Event::Stops, 0), (Event::Received, 1), (Event::Inserted, 1), (Event::Begins, 1)]);
        events.extend([(Event::Ended, 1), (Event::Removed, 1), (Event::Stops, 1)]);
        assert_eq!(after(&events), Ok(State::default()));
    }

    #[test]
    fn nothing_happens_twice_or_to_the_wrong_thread() {
        assert!(after(&[(Event::Created, 0), (Event::Woken, 1)]).is_err(), "only its start starts it");
        assert!(after(&[(Event::Created, 0), (Event::Created, 1)]).is_err());
        let with = |events: &[(Event, usize)]| after(&[&BORN[..], events].concat());
        assert!(with(&[(Event::Begins, 1)]).is_err(), "two CPUs");
        assert!(with(&[(Event::Woken, 1)]).is_err());
        assert!(with(&[(Event::Parked, 1)]).is_err(), "only itself parks it");
        assert!(with(&[(Event::Inserted, 0)]).is_err());
        assert!(with(&[(Event::Parked, 0), (Event::Stops, 0)]).is_err(), "it is still in the ring");
        assert!(with(&[(Event::Sent(1), 0), (Event::Sent(2), 0)]).is_err());
    }

    #[test]
    fn a_runnable_thread_is_somewhere() {
        let lost = after(&[(Event::Created, 0), (Event::Started, 0)]);
        assert_eq!(lost.map(State::flaw), Ok(Some("a runnable thread waits nowhere")));
        assert_eq!(after(&BORN).map(State::flaw), Ok(None));
    }
}
