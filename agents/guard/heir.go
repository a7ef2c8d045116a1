package guard

import "syscall"

// Heir is the program that a guard of this machine's agents becomes when its scheduler is dead and nothing lives of its
// wards any more. It tells the other instances what no other machine can see. Without Argv there is none.
type Heir struct {
	Argv, Env []string
	Dir       string
}

// NewHeir is how a packet begins that names the guard's heir, in place of the one before.
const NewHeir = 'h'

// Encode writes the heir as the packet has it.
func (h Heir) Encode() []byte {
	b := putStrings(putStrings([]byte{NewHeir}, h.Argv), h.Env)
	return putString(b, h.Dir)
}

// decodeHeir reads a packet without its first byte. One that is not whole names none.
func decodeHeir(b []byte) Heir {
	f := fields{b: b}
	h := Heir{Argv: f.texts(), Env: f.texts(), Dir: f.text()}
	if f.bad || len(f.b) > 0 {
		return Heir{}
	}
	return h
}

// become replaces this process, whose own program the heir runs.
func (h Heir) become() {
	if len(h.Argv) == 0 || syscall.Chdir(h.Dir) != nil {
		return
	}
	_ = syscall.Exec(OwnProgram(), h.Argv, h.Env) // if it fails, the instance counts as dead after its lag
}
