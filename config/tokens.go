package config

import (
	"slices"
	"time"
)

// Token is what a program sends to identify itself. The secret itself is never in the file.
type Token struct {
	Name    string
	Role    string // of PostgreSQL, under which its requests are answered
	File    string // absolute, mode 0600; or
	Env     string // the variable that holds it
	Expires time.Time
}

// roleWords are short for the roles that come with the schema. Any other word is a role's own name.
var roleWords = map[string]string{
	"reader": "bellhop_reader", "submitter": "bellhop_submitter", "operator": "bellhop_operator",
}

// CallerRoles are the roles under which callers with a token, and people, are answered.
func (c Config) CallerRoles() (roles []string) {
	for _, t := range c.Tokens {
		roles = append(roles, t.Role)
	}
	for _, r := range c.Web.OIDC.Roles {
		roles = append(roles, r.Role)
	}
	return roles
}

func (r *reader) tokens(to *[]Token) func(node, string) {
	return func(n node, at string) {
		r.each(n, at, "write it like [{name: ci, role: operator, file: ./ci.token}]", func(n node, at string) {
			var t Token
			given := r.mapping(n, at, []field{
				{name: "name", required: true, read: r.filled(&t.Name)},
				{name: "role", required: true, read: r.filled(&t.Role)},
				{name: "file", read: r.pathName(&t.File)},
				{name: "env", read: r.filled(&t.Env)},
				{name: "expires", read: r.moment(&t.Expires)},
			})
			if given == nil {
				return
			}
			if (given["file"] == nil) == (given["env"] == nil) {
				r.problem(n, "write file: ./ci.token, or env: CI_TOKEN: the secret itself does not stand here",
					"%s needs either file or env", at)
			}
			if slices.ContainsFunc(*to, func(other Token) bool { return t.Name != "" && other.Name == t.Name }) {
				r.problem(n, "each has a name of its own", "%s: there is a token %q above", at, t.Name)
			}
			if long, is := roleWords[t.Role]; is {
				t.Role = long
			}
			*to = append(*to, t)
		})
	}
}

// filled reads a string that is not empty.
func (r *reader) filled(to *string) func(node, string) {
	return func(n node, at string) {
		s, ok := r.string(n, at)
		if ok && s == "" {
			r.problem(n, "", "%s is empty", at)
		}
		*to = s
	}
}

// moment reads a time with its zone, or a day, which ends at midnight UTC.
func (r *reader) moment(to *time.Time) func(node, string) {
	return func(n node, at string) {
		s, ok := r.written(n, at)
		if !ok {
			return
		}
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			if t, err = time.Parse(time.DateOnly, s); err == nil {
				t = t.AddDate(0, 0, 1)
			}
		}
		if err != nil {
			r.problem(n, "write it like 2027-01-31, or 2027-01-31T18:00:00Z", "%s: %q is neither a day nor a time", at, s)
			return
		}
		*to = t
	}
}
