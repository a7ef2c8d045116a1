package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"bellhop/scheduler"
)

// OIDC is the OpenID Connect provider by which people sign in to the pages; without an issuer there is none.
type OIDC struct {
	Issuer     string
	URL        string // of the pages, as browsers open them, without a slash at its end
	ClientID   string
	SecretFile string // absolute, mode 0600; or
	SecretEnv  string // the variable that holds it
	Scopes     []string
	Claim      string     // holds a person's groups
	Name       string     // the claim that names a person
	Roles      []OIDCRole // in the file's order: the first one that fits is taken
	Session    time.Duration
}

// OIDCRole is a role of PostgreSQL, and the groups whose members have it.
type OIDCRole struct {
	Role   string
	Groups []string
}

// longestSession is that of a login by `bellhop ui`, too.
const longestSession = 12 * time.Hour

func (r *reader) oidc(n node, at string, to *OIDC) {
	*to = OIDC{Claim: "groups", Name: "email"}
	given := r.mapping(n, at, []field{
		{name: "issuer", required: true, read: r.safeURL(&to.Issuer, "https://login.example.org/realms/main")},
		{name: "url", required: true, read: r.safeURL(&to.URL, "https://jobs.example.org")},
		{name: "client_id", required: true, read: r.filled(&to.ClientID)},
		{name: "client_secret_file", read: r.pathName(&to.SecretFile)},
		{name: "client_secret_env", read: r.filled(&to.SecretEnv)},
		{name: "scopes", read: r.words(&to.Scopes, "[openid, email, groups]", nil)},
		{name: "claim", read: r.filled(&to.Claim)},
		{name: "name", read: r.filled(&to.Name)},
		{name: "roles", required: true, read: func(n node, at string) { to.Roles = r.oidcRoles(n, at) }},
		{name: "session", read: r.duration(&to.Session, someTime)},
	})
	if given == nil {
		return
	}
	to.URL = strings.TrimSuffix(to.URL, "/")
	if (given["client_secret_file"] == nil) == (given["client_secret_env"] == nil) {
		r.problem(n, "write client_secret_file: ./oidc.secret, or client_secret_env: OIDC_SECRET: the secret itself does not stand here",
			"%s needs either client_secret_file or client_secret_env", at)
	}
	if len(to.Scopes) > 0 && !slices.Contains(to.Scopes, "openid") {
		r.problem(given["scopes"], "add openid", "%s.scopes: without openid the provider sends no identity", at)
	}
	if to.Session > longestSession || to.Session > 0 && to.Session < time.Minute {
		r.problem(given["session"], "write 1m to 12h; without it, a session ends with the ID token",
			"%s.session: %s is no time for a session", at, to.Session)
	}
}

// safeURL reads an address of https, or of http on this machine.
func (r *reader) safeURL(to *string, example string) func(node, string) {
	return func(n node, at string) {
		s, ok := r.string(n, at)
		if !ok {
			return
		}
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
			u.Scheme != "https" && u.Scheme != "http":
			r.problem(n, "write it like "+example, "%s: %q is no address of a site", at, s)
		case !scheduler.Encrypted(s):
			r.problem(n, "write it like "+example, "%s: %q is not encrypted, and not on this machine", at, s)
		default:
			*to = s
		}
	}
}

// oidcRoles reads roles with their groups, in the file's order.
func (r *reader) oidcRoles(n node, at string) (roles []OIDCRole) {
	const example = "write it like {operator: [ops], reader: [staff]}, the role with the most rights first"
	m, ok := n.(ast.MapNode)
	if !ok {
		r.problem(n, example, "%s must hold roles and their groups, not %s", at, kind(n))
		return nil
	}
	for it := m.MapRange(); it.Next(); {
		name, ok := r.key(it.Key(), at)
		if !ok {
			continue
		}
		role := OIDCRole{Role: name}
		if long, is := roleWords[name]; is {
			role.Role = long
		}
		if slices.ContainsFunc(roles, func(other OIDCRole) bool { return other.Role == role.Role }) {
			r.problem(it.Key(), "list all groups of a role in one place", "%s: the role %s stands twice", at, role.Role)
			continue
		}
		value := r.resolve(it.Value())
		if value != nil {
			r.words(&role.Groups, "[ops, oncall]", nil)(value, join(at, name))
		}
		if _, list := value.(*ast.SequenceNode); len(role.Groups) == 0 && (list || value == nil) {
			r.problem(it.Key(), example, "%s names no group", join(at, name))
		}
		roles = append(roles, role)
	}
	if len(roles) == 0 {
		r.problem(n, example, "%s gives a role to no group, so no person can sign in", at)
	}
	return roles
}
