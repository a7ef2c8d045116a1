package scheduler

// Account is why something ended, in two parts, since they are not for the same
// readers.
type Account struct {
	// Reason is for every reader of the queue: a code, an exit status, a signal. No part of it was written by an
	// agent.
	Reason string
	// Message is the agent's own text, for operators.
	Message string
}

// SaidFailed is the reason of a line whose agent said that it failed, and lives
// on. Where the agent gave words, they say more.
const SaidFailed = "the agent said that it failed"

// Told is all of it: the reason, and what the agent said.
func (a Account) Told() string {
	switch {
	case a.Message == "":
		return a.Reason
	case a.Reason == "" || a.Reason == SaidFailed:
		return a.Message
	}
	return a.Reason + ": " + a.Message
}

// And is one account after the other.
func (a Account) And(next Account) Account {
	join := func(first, second, between string) string {
		if first == "" || second == "" {
			return first + second
		}
		return first + between + second
	}
	return Account{join(a.Reason, next.Reason, "; "), join(a.Message, next.Message, "\n")}
}

func (e *ChildEvent) account() Account { return Account{e.Error, e.Message} }

// Told is why, with what the agent said.
func (e ChildEvent) Told() string { return e.account().Told() }

// Told is why the line failed, with what the agent said.
func (r *Result) Told() string { return Account{r.Error, r.Message}.Told() }
