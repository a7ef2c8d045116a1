package guard

// All processes of a ward bear its tag. So a process that lost its parents, and became the guard's child, can be
// told from the strays of other wards. The tag is a number that forks and execs inherit, and that programs do not
// remove as they remove an environment or a session: the soft limit RLIMIT_LOCKS, which no kernel since 2.4 looks
// at.
const (
	slotBits = 20
	noTag    = uint64(1) << 43 // larger ones are no guard's; nor is there room under them
)

// tagUnder is the tag of the ward in a slot of a guard that bears one itself, or
// 0: a guard in whose tree another guard is knows that one's wards for its own.
func tagUnder(own uint64, slot int) uint64 { return own<<slotBits | uint64(slot+1) }

// tagIn finds the tag in a page of limits.
func tagIn(limits []byte) uint64 {
	const name = "Max file locks"
	for from := 0; from+len(name) < len(limits); {
		to := from
		for to < len(limits) && limits[to] != '\n' {
			to++
		}
		if line := limits[from:to]; len(line) > len(name) && string(line[:len(name)]) == name {
			at := len(name)
			for at < len(line) && line[at] == ' ' {
				at++
			}
			tag, _ := number(line[at:]) // "unlimited" is 0
			return tag
		}
		from = to + 1
	}
	return 0
}
