package scheduler

// EffectKind is what the owner of a child has to do after a Step.
type EffectKind uint8

const (
	EffectLaunch   EffectKind = iota // fork a process
	EffectFeed                       // queue Lines to the process
	EffectRecall                     // take unwritten lines back from the process; answer with EventReturned
	EffectClose                      // close its stdin and send SIGHUP
	EffectKill                       // SIGKILL its whole process tree
	EffectSettle                     // Result is final for its line
	EffectGiveBack                   // Lines were never started here: another child or host may have them
	EffectDied                       // the process is gone without an order: counts against the type
	// the process is gone with its guard: counts for nothing, but the next may have to wait
	EffectUnguarded
)

var effectNames = [...]string{"launch", "feed", "recall", "close", "kill", "settle", "give back", "count death", "count guard"}

func (k EffectKind) String() string { return effectNames[k] }

// Effect is one thing to do. Which fields are set depends on Kind.
type Effect struct {
	Kind    EffectKind
	Lines   []Line  // Feed, GiveBack
	Result  Result  // Settle
	Account Account // Died, Unguarded: why
	NotUp   bool    // Died: before it said its first OK
}
