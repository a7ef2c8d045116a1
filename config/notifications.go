package config

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"bellhop/scheduler/notice"
)

// SMTP is the server that takes mail, and the sender of ours.
type SMTP struct {
	URL          string // smtp://[user:password@]host[:25], smtps://host[:465]; empty: no mail is sent
	From         string
	PasswordFile string // absolute; empty: the password of URL
	TLS          string // required, offered or none; empty: required where there is a password, else offered
	CAFile       string // absolute; certificates to trust besides the system's
}

// Notifications say how messages of runs are sent.
type Notifications struct {
	Webhooks   []string            // URLs below which everything may be posted to; others: on public addresses alone
	SecretFile string              // absolute; what webhooks are signed with
	Commands   map[string][]string // that rules may name
	GiveUp     time.Duration       // after so long no try is made any more
	Words      notice.Words
}

// smtpTLS are the words for smtp.tls.
var smtpTLS = []string{"required", "offered", "none"}

func (r *reader) smtp(n node, at string, to *SMTP) {
	given := r.mapping(n, at, []field{
		{name: "url", read: func(n node, at string) {
			s, ok := r.string(n, at)
			if !ok || s == "" {
				return
			}
			u, err := url.Parse(s) // not repeated: there may be a password in it
			if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
				r.problem(n, "write it like smtp://mail.example.org:25, or smtps://user:password@mail.example.org", "%s is not a mail server", at)
				return
			}
			to.URL = s
		}},
		{name: "from", read: func(n node, at string) {
			if s, ok := r.string(n, at); ok && s != "" && r.mailAddress(n, at, s) {
				to.From = s
			}
		}},
		{name: "password_file", read: r.pathName(&to.PasswordFile)},
		{name: "tls", read: func(n node, at string) {
			if s, ok := stringOf(n); ok && s == "" {
				return
			}
			r.oneOf("tls", smtpTLS, func(s string) { to.TLS = s })(n, at)
		}},
		{name: "ca_file", read: r.pathName(&to.CAFile)},
	})
	if to.URL != "" && given["from"] == nil {
		r.problem(n, "write from: bellhop@example.org", "%s has no from: mail servers require a sender's address", at)
	}
	if u, err := url.Parse(to.URL); err == nil && to.PasswordFile != "" && to.URL != "" && u.User == nil {
		r.problem(given["password_file"], "write url: smtp://user@host", "%s.password_file: the url has no user for this password", at)
	}
}

// mailAddress reports whether a text is an address.
func (r *reader) mailAddress(n node, at, s string) bool {
	if _, err := mail.ParseAddress(s); err != nil {
		r.problem(n, "write it like ops@example.org", "%s: %q is not a valid address", at, s)
		return false
	}
	return true
}

// webURL reports whether a text is a URL that can be posted to.
func (r *reader) webURL(n node, at, s string) bool {
	if err := checkWebURL(at, s); err != nil {
		r.problem(n, "write it like https://hooks.example.org/bellhop, with a token in its path, if any", "%s", err)
		return false
	}
	return true
}

func (r *reader) notifications(n node, at string, to *Notifications) {
	r.mapping(n, at, []field{
		{name: "webhooks", read: r.words(&to.Webhooks, "[https://hooks.example.org/]", r.webURL)},
		{name: "secret_file", read: r.pathName(&to.SecretFile)},
		{name: "commands", read: func(n node, at string) { to.Commands = r.commands(n, at) }},
		{name: "give_up", read: r.duration(&to.GiveUp, someTime)},
		{name: "subject", read: func(n node, at string) {
			if s, ok := r.written(n, at); ok && s != "" {
				t, err := notice.Parse("subject", s)
				if err != nil {
					r.problem(n, "write it like '{{.Workflow}} {{.State}}'", "%s: %s", at, err)
				}
				to.Words.Subject = t
			}
		}},
		{name: "text", read: func(n node, at string) {
			if s, ok := r.written(n, at); ok && s != "" {
				t, err := notice.Parse("text", s)
				if err != nil {
					r.problem(n, "write it like '{{.Workflow}}: {{.Reason}}'", "%s: %s", at, err)
				}
				to.Words.Text = t
			}
		}},
	})
}

// commands reads names and what is run under them.
func (r *reader) commands(n node, at string) map[string][]string {
	const example = "write it like {page: [./page.sh]}"
	m, ok := n.(ast.MapNode)
	if !ok {
		r.problem(n, example, "%s must hold names and commands, not %s", at, kind(n))
		return nil
	}
	all := map[string][]string{}
	var names []string
	for it := m.MapRange(); it.Next(); {
		name, ok := r.key(it.Key(), at)
		if !ok {
			continue
		}
		switch {
		case slices.Contains(names, name):
			r.problem(it.Key(), "", "duplicate key %q%s", name, in(at))
			continue
		case name == "" || name == "*":
			r.problem(it.Key(), example, "%s: %q cannot be a name", at, name)
		}
		names = append(names, name)
		value := r.resolve(it.Value())
		if value == nil {
			r.problem(it.Key(), example, "%s is not a valid command", join(at, name))
			continue
		}
		var argv []string
		r.command(&argv)(value, join(at, name))
		all[name] = argv
	}
	return all
}
