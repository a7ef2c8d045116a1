package config

import (
	"net"
	"path/filepath"
	"slices"
)

// Sensors is what the sensors of workflows may touch of this machine and its network. Definitions are kept in the
// database; a role that may write them there reaches no further than this.
type Sensors struct {
	Files []string // folders; whole paths
	Kafka []Kafka
}

// Kafka is a cluster of Kafka.
type Kafka struct {
	Name         string // under which definitions know it
	Servers      []string
	TLS          bool
	SASL         string // empty: no login
	User         string
	PasswordFile string // absolute
}

// logins are the ways to log in to Kafka.
var logins = []string{"plain", "scram-sha-256", "scram-sha-512"}

func (r *reader) sensors(n node, at string, to *Sensors) {
	r.mapping(n, at, []field{
		{name: "files", read: r.words(&to.Files, "[/srv/in]", func(n node, at, s string) bool {
			if !filepath.IsAbs(s) || filepath.Clean(s) != s {
				r.problem(n, "write it like /srv/in", "%s: %q is not a whole path", at, s)
				return false
			}
			return true
		})},
		{name: "kafka", read: func(n node, at string) {
			r.each(n, at, "write it like - {name: main, servers: [\"kafka1:9092\"]}", func(n node, at string) {
				k := Kafka{}
				given := r.mapping(n, at, []field{
					{name: "name", required: true, read: r.word(&k.Name)},
					{name: "servers", required: true, read: r.words(&k.Servers, `["kafka1:9092"]`, func(n node, at, s string) bool {
						if _, _, err := net.SplitHostPort(s); err != nil {
							r.problem(n, "write it like kafka1:9092", "%s: %q is not an address with a port", at, s)
							return false
						}
						return true
					})},
					{name: "tls", read: r.flag(&k.TLS)},
					{name: "sasl", read: r.oneOf("sasl", logins, func(s string) { k.SASL = s })},
					{name: "user", read: r.word(&k.User)},
					{name: "password_file", read: r.pathName(&k.PasswordFile)},
				})
				if slices.ContainsFunc(to.Kafka, func(other Kafka) bool { return other.Name == k.Name && k.Name != "" }) {
					r.problem(given["name"], "give it another name", "%s: there are two clusters called %q", at, k.Name)
				}
				if (k.SASL != "") != (k.User != "" && k.PasswordFile != "") {
					r.problem(n, "write all of them, or none", "%s: sasl, user and password_file mean nothing without each other", at)
				}
				to.Kafka = append(to.Kafka, k)
			})
		}},
	})
}
