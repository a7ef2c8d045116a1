package scheduler

import "time"

// NoKey is the reason of a job whose args or vars are sealed with a key that is not here.
const NoKey = "no_key"

// SealedError is why a line stays sealed, so that no agent gets it.
type SealedError struct {
	Why string
	// Pause is how long its job rests before the next try, which counts as no attempt: the key may come, or be
	// elsewhere. 0: another try would give the same.
	Pause time.Duration
}

func (e *SealedError) Error() string { return e.Why }

// How long a job rests for want of a key, at least and at most.
const (
	lacksFirst = 10 * time.Second
	lacksMost  = 10 * time.Minute
)

// LacksKey is the error of a line whose key is not here. Its job rests for as long as it has been there: so a job that
// came with the key to follow soon starts soon, and many that wait for days cost little.
func LacksKey(why string, age time.Duration) *SealedError {
	return &SealedError{Why: NoKey + ": " + why, Pause: min(max(age, lacksFirst), lacksMost)}
}

// Refused is what is said of a line that no agent got: an item fails, and so does what another try would not open.
func (e *SealedError) Refused(l *Line, code int, now time.Time) ChildEvent {
	ev := ChildEvent{Kind: EventAnswered, At: now, Claim: l.Claim, Item: l.Item, ExitCode: code, Error: e.Why}
	ev.Answer = &Answer{}
	if l.Item == 0 && e.Pause > 0 {
		ev.Again, ev.Answer.Snooze = true, e.Pause
	} else {
		ev.Answer.Never = true
	}
	return ev
}
