package guard

// Op is a command of the scheduler to the guard.
type Op byte

const (
	// Hangup: SIGHUP to the agent.
	Hangup Op = 'h'
	// Kill: the whole tree, at once.
	Kill Op = 'k'
	// Ask: say Living.
	Ask Op = 'a'
	// Lease: kill the tree if no renewal comes within Value milliseconds; 0: never.
	Lease Op = 'l'
)

// Command is an Op with its value.
type Command struct {
	Op    Op
	Value uint32
}

const commandSize = 5

// Encode writes a command as it goes over the link.
func (c Command) Encode() [commandSize]byte {
	return [commandSize]byte{byte(c.Op), byte(c.Value), byte(c.Value >> 8), byte(c.Value >> 16), byte(c.Value >> 24)}
}

// readCommands passes on what the scheduler sends, and closes at the pipe's end.
func readCommands(fd int, to chan<- Command) {
	defer close(to)
	var b [commandSize]byte
	for readFull(fd, b[:]) == nil {
		to <- Command{Op: Op(b[0]), Value: le32(b[1:])}
	}
}

// Kind is what a Report tells.
type Kind byte

const (
	// Started: the agent runs; Value is its pid. Reason is Unlimited where it should be limited, and is not.
	Started Kind = 's'
	// Failed: there is no agent; Value is the errno of the exec.
	Failed Kind = 'f'
	// Missing: there is no agent, since the program is not where it was looked
	// for; Value is the errno. Of other hosts only: here the scheduler looks itself.
	Missing Kind = 'm'
	// Exited: the agent and all its descendants are dead; Value is the agent's wait status.
	Exited Kind = 'x'
	// Living: some of the agent or of what descends from it does. It is the answer
	// to Ask, and is said every second while all that is being killed.
	Living Kind = 'l'
	// Unreached: there is no line to the other host, and nothing runs there. So
	// many bytes as Value says follow: why, in words.
	Unreached Kind = 'u'
)

// Reason is why an agent ended.
type Reason byte

const (
	// ByItself: our side did not end it.
	ByItself Reason = iota
	// Ordered: Kill.
	Ordered
	// SchedulerGone: the link ended.
	SchedulerGone
	// LeaseMissed: no renewal in time.
	LeaseMissed
	// Terminated: the guard was sent SIGTERM.
	Terminated
	// LineLost: the line to the other host is dead, and what ran there is dead
	// too by now. So many bytes as Value says follow: why, in words.
	LineLost
	// OverMemory: the kernel killed it, since it took more memory than it may.
	OverMemory
	// Unlimited is no end: the system does not let the guard limit the agent's memory or CPU time.
	Unlimited
)

// Report is what the guard says on the link.
type Report struct {
	Kind   Kind
	Reason Reason
	Value  uint32
}

// ReportSize is the length of a report in bytes.
const ReportSize = 6

func (r Report) encode() [ReportSize]byte {
	return [ReportSize]byte{
		byte(r.Kind),
		byte(r.Reason),
		byte(r.Value),
		byte(r.Value >> 8),
		byte(r.Value >> 16),
		byte(r.Value >> 24),
	}
}

// DecodeReport reads a report as the guard wrote it.
func DecodeReport(b [ReportSize]byte) Report {
	return Report{Kind: Kind(b[0]), Reason: Reason(b[1]), Value: le32(b[2:])}
}

// Words is how many bytes of words follow the report.
func (r Report) Words() int {
	if r.Kind == Unreached || r.Kind == Exited && r.Reason == LineLost {
		return int(min(r.Value, maxWords))
	}
	return 0
}

func le32(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}
