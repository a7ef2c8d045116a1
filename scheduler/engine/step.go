package engine

import "time"

// Step is what becomes of a remote job when something happens. What makes no sense in a state changes nothing: answers
// come late.
func (r Remote) Step(ev Event, rules Rules, now time.Time) (Remote, []Effect) {
	switch ev.Kind {
	case CancelAsked:
		return r.cancel(now)
	case Leave:
		return r.leave()
	}
	switch r.State {
	case Looking:
		return r.looking(ev, now)
	case Waiting:
		if ev.Kind == Turn {
			return r.turn(now)
		}
	case Recording:
		if ev.Kind == Recorded {
			r.Tagged, r.State, r.First = true, Submitting, now
			return r, []Effect{Submit}
		}
	case Submitting:
		return r.submitting(ev, now)
	case Unsure:
		return r.unsure(ev, rules, now)
	case Running:
		return r.running(ev, rules, now)
	case Killing:
		return r.killing(ev, rules, now)
	case Ended:
		return r.ended(ev)
	}
	return r, nil
}

// Submittable reports whether it waits for its turn.
func (r *Remote) Submittable() bool { return r.State == Waiting }

// Polled reports whether poll is to be asked about it.
func (r *Remote) Polled() bool { return r.State == Running || r.State == Killing }

func (r Remote) looking(ev Event, now time.Time) (Remote, []Effect) {
	switch ev.Kind {
	case NoTag:
		r.State = Waiting
		if r.Wish != None {
			return r.end(End{How: Cancelled})
		}
	case HasTag:
		r.Tagged, r.ID, r.Stage, r.First, r.Ran = true, ev.Tag.ID, ev.Tag.Stage, ev.Tag.Sent, ev.Tag.In
		r.since = now
		switch ev.Tag.State {
		case TagSubmitting:
			r.State = Unsure
		case TagRunning:
			r.State = Running
			if r.Wish != None {
				return r.kill(now)
			}
		case TagEnded:
			r.State, r.End = Ended, ev.Tag.End
			r.saved = true
			return r, []Effect{Logs}
		}
	}
	return r, nil
}

func (r Remote) turn(now time.Time) (Remote, []Effect) {
	if r.Tagged { // submit was called before, and the engine says that nothing came of it
		r.State = Submitting
		return r, []Effect{Submit}
	}
	r.State = Recording
	return r, []Effect{Record}
}

func (r Remote) submitting(ev Event, now time.Time) (Remote, []Effect) {
	switch ev.Kind {
	case Accepted:
		return r.accepted(ev.ID, now)
	case Denied:
		return r.end(End{How: Refused, ExitCode: ev.ExitCode, Said: ev.Said,
			Reason: "engine_refused: submit says that it cannot be done"})
	case Unopened:
		if r.Wish != None {
			return r.end(End{How: Cancelled})
		}
		return r.end(End{How: Sealed, Reason: ev.Said, Pause: ev.Pause})
	case Unclear:
		r.State, r.since, r.missing, r.unseen, r.said = Unsure, now, time.Time{}, 0, ev.Said
		return r, []Effect{Pause}
	}
	return r, nil
}

func (r Remote) accepted(id string, now time.Time) (Remote, []Effect) {
	r.State, r.ID, r.since, r.missing, r.unseen, r.Stage = Running, id, now, time.Time{}, 0, Unknown
	if r.Wish != None {
		next, effects := r.kill(now)
		return next, append([]Effect{Save}, effects...)
	}
	return r, []Effect{Save}
}

func (r Remote) unsure(ev Event, rules Rules, now time.Time) (Remote, []Effect) {
	switch ev.Kind {
	case Found:
		return r.accepted(ev.ID, now)
	case NotFound:
		if r.missing.IsZero() {
			r.missing = now
		}
		r.unseen++
		if r.unseen < 2 || now.Sub(r.since) < rules.Quiet {
			return r, nil
		}
		r.missing, r.unseen = time.Time{}, 0
		switch {
		case r.Wish != None:
			return r.end(End{How: Cancelled})
		case r.said == "":
		case r.refused.IsZero():
			r.refused = now // what came before was no answer: the engine may have been away for hours
		case now.Sub(r.refused) >= rules.SubmitTimeout:
			return r.end(End{How: Unseen, ExitCode: 1, Reason: "submission_timeout: the engine does not take it", Said: r.said})
		}
		r.State = Waiting
	}
	return r, nil
}

func (r Remote) running(ev Event, rules Rules, now time.Time) (Remote, []Effect) {
	switch ev.Kind {
	case Seen:
		return r.seen(ev, now)
	case NotSeen:
		if r.missing.IsZero() {
			r.missing = now
		}
		r.unseen++
		switch {
		case r.unseen < 2:
		case r.Stage == Unknown && now.Sub(r.since) >= rules.SubmitTimeout:
			return r.end(End{How: Unseen, ExitCode: 1, Reason: "submission_timeout: it was accepted, and has never been seen there"})
		case r.Stage != Unknown && now.Sub(r.missing) >= rules.LostAfter:
			return r.end(End{How: Lost, ExitCode: 1, Reason: "engine_lost: the engine does not know it any more"})
		}
	case Tick:
		if r.Timeout > 0 && !r.Ran.IsZero() && now.Sub(r.Ran) >= r.Timeout {
			r.Wish = Timeout
			return r.kill(now)
		}
	}
	return r, nil
}

// seen: poll has named it.
func (r Remote) seen(ev Event, now time.Time) (Remote, []Effect) {
	was := r.Stage
	r.Stage, r.missing, r.unseen = ev.Stage, time.Time{}, 0
	switch ev.Stage {
	case Succeeded:
		return r.end(End{How: OK, Said: ev.Said})
	case Failed:
		return r.end(End{How: Bad, ExitCode: max(ev.ExitCode, 1), Said: ev.Said})
	case Started:
		if r.Ran.IsZero() {
			r.Ran = now
		}
	}
	if was != r.Stage {
		return r, []Effect{Save}
	}
	return r, nil
}

// kill has it killed; it is over when the engine says so.
func (r Remote) kill(now time.Time) (Remote, []Effect) {
	r.State, r.since, r.missing, r.unseen, r.killed = Killing, now, time.Time{}, 0, false
	return r, []Effect{Kill}
}

func (r Remote) killing(ev Event, rules Rules, now time.Time) (Remote, []Effect) {
	switch ev.Kind {
	case Killed:
		r.killed, r.unseen = true, 0
	case Seen:
		if ev.Stage == Succeeded { // it was quicker
			return r.end(End{How: OK, Said: ev.Said})
		} else if ev.Stage == Failed {
			return r.end(r.dead(ev))
		}
		r.Stage, r.unseen = ev.Stage, 0
	case NotSeen:
		if r.unseen++; r.killed && r.unseen >= 2 {
			return r.end(r.dead(ev))
		}
	case Tick:
		if now.Sub(r.since) >= rules.KillAgain {
			r.since = now
			return r, []Effect{Kill}
		}
	}
	return r, nil
}

// dead is how it ended that was killed.
func (r *Remote) dead(ev Event) End {
	if r.Wish == Timeout {
		why := "timeout: after " + r.Timeout.String()
		return End{How: TimedOut, ExitCode: max(ev.ExitCode, 1), Reason: why, Said: ev.Said}
	}
	return End{How: Cancelled, Said: ev.Said}
}

// end: it is over. Of what was never submitted there is nothing to write down and nothing to fetch.
func (r Remote) end(e End) (Remote, []Effect) {
	r.State, r.End = Ended, e
	if !r.Tagged {
		r.State = Over
		return r, []Effect{Settle}
	}
	if e.How == Refused || e.How == Unseen || e.How == Sealed || r.Stage == Unknown && e.How == Cancelled {
		r.logged = true
		return r, []Effect{Save}
	}
	return r, []Effect{Save, Logs}
}

func (r Remote) ended(ev Event) (Remote, []Effect) {
	switch ev.Kind {
	case Saved:
		r.saved = true
	case Logged:
		r.logged = true
	}
	if r.saved && r.logged {
		r.State = Over
		return r, []Effect{Settle}
	}
	return r, nil
}

func (r Remote) cancel(now time.Time) (Remote, []Effect) {
	switch r.State {
	case Looking, Recording, Submitting, Unsure:
		r.Wish = Cancel // as soon as it is known what there is to kill
	case Waiting:
		return r.end(End{How: Cancelled})
	case Running:
		r.Wish = Cancel
		return r.kill(now)
	case Killing:
		r.Wish = Cancel
	}
	return r, nil
}

// leave: the engine keeps what it has; the next watcher finds it there.
func (r Remote) leave() (Remote, []Effect) {
	if r.State == Over {
		return r, nil
	}
	r.State = Over
	return r, []Effect{GiveBack}
}
