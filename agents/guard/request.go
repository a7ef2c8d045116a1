package guard

import "syscall"

// Request is what the guard is to start. It travels over a socket of the guard's, so
// neither the guard's command line nor its environment shows an agent's secrets.
type Request struct {
	Path     string   // absolute
	Argv     []string // with argv[0]
	Env      []string // name=value, all of it
	Dir      string   // empty: the scheduler's
	DropUser bool     // to UID, GID and Groups
	UID, GID uint32
	Groups   []uint32
	Lease    uint32 // milliseconds, 0 for none
	// Way is the command that carries stdio to another host and starts a guard
	// there, which starts the agent; Path is then empty, since only the other host
	// can look it up, and Env is what is added to that host's own. Empty: this machine.
	Way    []string
	WayEnv []string // Way's environment
	Check  bool     // far: only look whether the agent could be started
	Whole  bool     // far: the agent's environment is all of what Way leads into
	// OneStream gives a far agent its 1 as 2 too. On this machine the files that
	// the guard is started with say so.
	OneStream bool
	// CalledAs is the name under which the program stands in its own folder as
	// argv[0], wherever it was found; without Dir it is started there. Empty: as Argv says.
	CalledAs string
	// Memory and CPU are what the agent, with all that descends from it, may take at most: KiB, and thousandths of a
	// processor. 0: as much as there is.
	Memory, CPU uint32
}

// MaxRequest is the longest encoded request in bytes that the guard takes. It
// lies above what the kernel takes as arguments and environment (6 MiB).
const MaxRequest = 8 << 20

// Encode writes the request: its length, then its fields, all numbers as four
// bytes, little-endian.
func (r Request) Encode() []byte {
	b := make([]byte, 4, 512)
	b = putString(b, r.Path)
	b = putStrings(b, r.Argv)
	b = putStrings(b, r.Env)
	b = putString(b, r.Dir)
	b = put32(put32(put32(b, bit(r.DropUser)), r.UID), r.GID)
	b = put32(b, uint32(len(r.Groups)))
	for _, g := range r.Groups {
		b = put32(b, g)
	}
	b = put32(b, r.Lease)
	b = putStrings(putStrings(b, r.Way), r.WayEnv)
	b = putString(put32(put32(put32(b, bit(r.Check)), bit(r.Whole)), bit(r.OneStream)), r.CalledAs)
	if r.Memory > 0 || r.CPU > 0 { // an older guard on another host knows neither
		b = put32(put32(b, r.Memory), r.CPU)
	}
	put32(b[:0], uint32(len(b)-4))
	return b
}

func bit(set bool) uint32 {
	if set {
		return 1
	}
	return 0
}

func put32(b []byte, v uint32) []byte {
	return append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

func putString(b []byte, s string) []byte { return append(put32(b, uint32(len(s))), s...) }

func putStrings(b []byte, list []string) []byte {
	b = put32(b, uint32(len(list)))
	for _, s := range list {
		b = putString(b, s)
	}
	return b
}

// PacketRequest is the longest encoded request in bytes that goes with the
// descriptors of its ward. It lies far below what the kernel takes as one packet
// by default (208 KiB).
const PacketRequest = 32 << 10

// NewWard is how a packet begins that brings a ward.
const NewWard = 'w'

// readRequest reads the one request, which comes before the commands.
func readRequest(fd int) (Request, error) {
	var head [4]byte
	if err := readFull(fd, head[:]); err != nil {
		return Request{}, err
	}
	size := le32(head[:])
	if size > MaxRequest {
		return Request{}, syscall.EMSGSIZE
	}
	body := make([]byte, size)
	if err := readFull(fd, body); err != nil {
		return Request{}, err
	}
	return decodeRequest(body)
}

// decodeRequest reads an encoded request without its length.
func decodeRequest(body []byte) (Request, error) {
	f := fields{b: body}
	r := Request{Path: f.text(), Argv: f.texts(), Env: f.texts(), Dir: f.text()}
	r.DropUser = f.number() == 1
	r.UID, r.GID = f.number(), f.number()
	for range f.count() {
		r.Groups = append(r.Groups, f.number())
	}
	r.Lease = f.number()
	r.Way, r.WayEnv = f.texts(), f.texts()
	r.Check, r.Whole, r.OneStream = f.number() == 1, f.number() == 1, f.number() == 1
	r.CalledAs = f.text()
	if len(f.b) > 0 {
		r.Memory, r.CPU = f.number(), f.number()
	}
	if f.bad || len(f.b) != 0 {
		return Request{}, syscall.EPROTO
	}
	return r, nil
}

// fields takes a request apart; bad once anything was missing.
type fields struct {
	b   []byte
	bad bool
}

func (f *fields) number() uint32 {
	if len(f.b) < 4 {
		f.bad, f.b = true, nil
		return 0
	}
	v := le32(f.b)
	f.b = f.b[4:]
	return v
}

// count is a number of things of at least four bytes each.
func (f *fields) count() uint32 {
	n := f.number()
	if n > uint32(len(f.b))/4 {
		f.bad, f.b = true, nil
		return 0
	}
	return n
}

func (f *fields) text() string {
	n := f.number()
	if n > uint32(len(f.b)) {
		f.bad, f.b = true, nil
		return ""
	}
	s := string(f.b[:n])
	f.b = f.b[n:]
	return s
}

func (f *fields) texts() []string {
	list := make([]string, 0, f.count())
	for range cap(list) {
		list = append(list, f.text())
	}
	return list
}
