package host

import (
	"time"

	"bellhop/actors/lasting"
	"bellhop/actors/port"
	"bellhop/scheduler"
)

// Between a host and its children.
type (
	want   struct{ reservation *lasting.Reservation } // come up
	assign struct {                                   // do these
		Lines   []scheduler.Line
		Returns int // how often the host had got something back from the child by then
	}
	dismiss struct{ Stop scheduler.StopReason } // go
	kill    struct{ Stop scheduler.StopReason } // die
	tripped struct{}                            // do not come up
	kept    struct{ scheduler.Kept }            // until when you are kept from another type: publish it
	woke    struct{}                            // the process has something to say
	tick    struct{}                            // a deadline may have passed
	started struct {                            // the fork is done
		process port.Process
		err     error
	}
	// news: what a child's host has to know after a step.
	news struct {
		Name      scheduler.ChildName
		State     scheduler.ChildState
		Since     time.Time
		Room      int
		Held      int           // lines that it has; those of a batch in hand count as one
		Acked     int           // lines ever given to it
		Healthy   bool          // it finished a line
		Rose      bool          // it said its first OK
		LineTime  time.Duration // what a line takes it; 0: not known
		Died      bool          // without an order
		NotUp     bool          // before it said OK
		Unguarded bool          // its guard died
		Blame     scheduler.Account
		Cut       string           // the line to its host broke: why
		Returned  []scheduler.Line // never started: another child or host may have them
	}
)
