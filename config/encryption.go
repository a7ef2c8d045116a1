package config

// Encryption is what an instance opens sealed jobs with.
type Encryption struct {
	Keys string // a file of keys, absolute; empty: none
}

func (r *reader) encryption(n node, at string, to *Encryption) {
	r.mapping(n, at, []field{{name: "keys", read: r.pathName(&to.Keys)}})
}
