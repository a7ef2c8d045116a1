package scheduler

// TypeCapacity is what one type on one host can take, and what it has asked for.
type TypeCapacity struct {
	Room      int // lines that its children take now
	Idle      int // children that have nothing to do, and take lines
	Busy      int // children that have a line in hand, and take more behind it
	Pending   int // lines that were dealt and wait
	Granted   int // lines asked for and not dealt yet
	Coming    int // children that are coming up
	Spawnable int // children that could come up besides, slots aside
}

// Ask is how many more lines to ask for now, and for how many lines, at most, children could come up. While no
// child is idle, it asks for prefetched lines only when three quarters of the busy children have room: otherwise
// each line would need a claim.
func (a TypeCapacity) Ask() (now, spawn int) {
	now = max(0, a.Room-a.Pending-a.Granted)
	if a.Idle == 0 && now < 3*a.Busy/4 {
		now = 0
	}
	return now, max(0, a.Spawnable-a.Short())
}

// Short is how many children more the waiting lines need than come up already.
func (a TypeCapacity) Short() int { return max(0, a.Pending-a.Room-a.Coming) }

// Slots is how a host's slots are taken.
type Slots struct {
	All      int              // of the host
	Taken    int              // by children, those coming up and going included
	Freeable int              // of these, by children that may go to make room
	Short    int              // children that lines which were dealt already still need
	Granted  int              // asked for and not dealt yet
	By       map[TypeName]int // whose the taken ones are, for a reader
}

// Ask is for how many more children to ask for work, of whatever type.
func (s Slots) Ask() int { return max(0, s.All-s.Taken+s.Freeable-s.Short-s.Granted) }

// Full reports whether children hold all slots.
func (s Slots) Full() bool { return s.Taken >= s.All }

// toldTypes is how many types a host names that hold its slots.
const toldTypes = 5

func (s Slots) told(host HostName) string {
	return "no_room: " + Stock{All: s.All, Taken: s.Taken, By: s.By}.told(host, "slots")
}
