package web

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Patience bounds reading a request, and writing its answer; BodyMost is how
// long its body may be.
const (
	Patience = 15 * time.Second
	BodyMost = 2 << 20
)

// longer are the routes whose bodies are many jobs.
var longer = map[string]int64{"/api/v1/jobs/batch": 64 << 20}

// open is answered without a token: a service that restarts an instance, or routes around it, needs to know only
// whether it is well.
var open = map[string]bool{"/healthz": true, "/readyz": true}

// door is what every request goes through before a room sees it.
type door struct {
	hosts     map[string]bool
	behind    Behind
	tokens    tokens
	anonymous bool // a caller without a token is a reader
	cross     http.CrossOriginProtection
	next      http.Handler
	site      *Server
}

// policy lets pages load what this site serves, and nothing inline. Scripts make
// HTML only by the policy called bellhop.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
	"connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types bellhop"

// strict sets what browsers are told of every answer.
func strict(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	strict(w.Header())
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(2 * Patience)) // a connection always takes one
	r, problem := d.behind.arrive(r)
	plain := w
	if prefix := Link(r.Context(), ""); prefix != "" {
		w = &outward{ResponseWriter: w, prefix: prefix}
	}
	if open[r.URL.Path] {
		d.next.ServeHTTP(w, r)
		return
	}
	if problem != nil {
		Refuse(w, r, *problem)
		return
	}
	// A foreign name that leads here (DNS rebinding) would make a foreign page one of ours. Programs that fetch
	// metrics with a token are not browsers.
	if bearer := r.Header.Get("Authorization") != ""; !d.hosts[hostOf(r.Host)] && !isAddress(r.Host) &&
		!(bearer && r.URL.Path == "/metrics") {
		Refuse(w, r, Problem{Status: http.StatusMisdirectedRequest, Code: "unknown_host",
			Detail: "this site does not answer to the name " + shown(hostOf(r.Host)),
			Next:   "allowed_hosts: [" + shown(hostOf(r.Host)) + "] in bellhop.yaml, if that is right"})
		return
	}
	if strings.HasPrefix(r.URL.Path, "/login/") || signsIn[r.URL.Path] && d.site.people != nil {
		d.next.ServeHTTP(w, r)
		return
	}
	who, problem := d.identify(w, r)
	if problem == nil {
		problem = d.sameSite(r, who)
	}
	who.From = arrived(r.Context()).from
	if problem == nil { // before its form's token is looked for: that may stand in its body
		problem = d.site.may(r, who)
	}
	if problem != nil {
		d.site.refuse(w, r, *problem)
		return
	}
	most := int64(BodyMost)
	if n, is := longer[r.URL.Path]; is {
		most = n
		_ = control.SetReadDeadline(time.Now().Add(time.Minute))
		_ = control.SetWriteDeadline(time.Now().Add(2 * time.Minute))
	}
	r.Body = http.MaxBytesReader(plain, r.Body, most)
	ctx := context.WithValue(As(r.Context(), who), closingKey{}, d.site.closing)
	r = r.WithContext(ctx)
	if problem := d.form(r, who); problem != nil {
		Refuse(w, r, *problem)
		return
	}
	d.next.ServeHTTP(w, r)
}

// Unhurried is for an answer that goes on for as long as it is read: the room bounds what it writes, step by step.
func Unhurried(w http.ResponseWriter) *http.ResponseController {
	// A proxy hands on what is written when it is written (nginx gathers it otherwise).
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a connection always takes one
	_ = control.SetWriteDeadline(time.Time{})
	return control
}

// identify finds the caller.
func (d *door) identify(w http.ResponseWriter, r *http.Request) (Identity, *Problem) {
	if sent := r.Header.Get("Authorization"); sent != "" {
		return d.tokens.identify(sent, time.Now())
	}
	if who, problem := d.site.signedIn(w, r); problem != nil || who.Role != "" {
		return who, problem
	}
	if d.anonymous && !arrived(r.Context()).far {
		return Identity{Role: Reader, Via: unnamed}, nil
	}
	return Identity{}, d.site.noToken()
}

// unnamed is how a caller of this machine came in that sent no token.
const unnamed = "loopback"

// noToken asks for an identity.
func (s *Server) noToken() *Problem {
	return &Problem{Status: http.StatusUnauthorized, Code: "no_token",
		Detail: "a token is needed: Authorization: Bearer …", Next: s.next()}
}

// changes reports whether a request is one that may change something.
func changes(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

// sameSite refuses what another site's page has sent.
func (d *door) sameSite(r *http.Request, who Identity) *Problem {
	if who.Via == "token" { // no page knows it but by its own doing
		return nil
	}
	if err := d.cross.Check(r); err != nil {
		return &Problem{
			Status: http.StatusForbidden,
			Code:   "other_site",
			Detail: "a page of another site has sent this: " + err.Error(),
		}
	}
	return nil
}

// form asks a caller signed in by a cookie for the token that its page was given.
func (d *door) form(r *http.Request, who Identity) *Problem {
	if who.Form == "" || !changes(r) {
		return nil
	}
	sent := r.Header.Get("X-Form-Token")
	if sent == "" && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		sent = r.PostFormValue("form_token")
	}
	if !sameText(sent, who.Form) {
		return &Problem{Status: http.StatusForbidden, Code: "form_token",
			Detail: "the form's token is missing, or that of another session", Next: "load the page again"}
	}
	return nil
}

// hostOf is a host without its port, as it is compared.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

// isAddress: an address, unlike a name, cannot have led the caller here by DNS.
func isAddress(host string) bool { return net.ParseIP(hostOf(host)) != nil }

func hostList(listen string, further []string) map[string]bool {
	list := map[string]bool{"localhost": true, hostOf(listen): listen != ""}
	if own, err := os.Hostname(); err == nil {
		list[hostOf(own)] = true
	}
	for _, h := range further {
		list[hostOf(h)] = true
	}
	return list
}

// shown is a caller's word, fit to be repeated.
func shown(word string) string {
	word = strings.Map(func(c rune) rune {
		if c <= ' ' || c > '~' {
			return '?'
		}
		return c
	}, word)
	if len(word) > 100 {
		word = word[:100]
	}
	return word
}
