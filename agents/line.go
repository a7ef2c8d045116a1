package agents

import (
	"strings"

	"bellhop/scheduler"
)

// LineError is that another host could not be reached, or could no more.
type LineError struct {
	Host scheduler.HostName
	Said string // reported by ssh or another source
}

// Error is a stable code, a colon and words.
func (e *LineError) Error() string { return e.Code() + ": " + e.words() }

// lineCodes are what to look for in what ssh says, in this order, and what that
// is called. They are for people and scripts to tell cases apart by; all of
// them are treated alike.
var lineCodes = []struct{ text, code string }{
	{"no_guard:", "no_guard"},
	{"given_up:", "given_up"},
	{"REMOTE HOST IDENTIFICATION HAS CHANGED", "host_key_changed"},
	{"has changed and you have requested strict checking", "host_key_changed"},
	{"Host key verification failed", "host_key_unknown"},
	// ssh's own sentence names the methods that are left; that of a shell or a program there does not.
	{"Permission denied (publickey", "login_refused"},
	{"Permission denied (password", "login_refused"},
	{"Permission denied (keyboard-interactive", "login_refused"},
	{"Permission denied (gssapi", "login_refused"},
	{"Permission denied (hostbased", "login_refused"},
	{"Permission denied (none", "login_refused"},
	{"Too many authentication failures", "login_refused"},
	{"silent:", "silent"},
	{"not responding", "silent"},
	{"timed out", "silent"},
	{"timeout", "silent"},
	{"no such program on this machine", "no_way"},
	{"Connection refused", "refused"},
	{"Could not resolve", "unknown_name"},
	{"No route to host", "no_route"},
	{"Network is unreachable", "no_route"},
}

// Code is one word for what is wrong.
func (e *LineError) Code() string {
	for _, c := range lineCodes {
		if strings.Contains(e.Said, c.text) {
			return c.code
		}
	}
	return "line_lost"
}

// words is what was said, with what to do about it where that is known.
func (e *LineError) words() string {
	said := strings.TrimPrefix(e.Said, e.Code()+": ")
	host := string(e.Host)
	switch e.Code() {
	case "host_key_changed":
		return "the key of host " + host + " is not the one that is known; if that is in order: ssh-keygen -R its name, then connect once by hand"
	case "host_key_unknown":
		return "the key of host " + host + " is not known here; connect to it once by hand, as the user that runs bellhop: " + said
	case "login_refused":
		return "host " + host + " refuses the login; try it by hand, as the user that runs bellhop: " + said
	}
	return said
}
