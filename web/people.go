package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// People identifies people by an OpenID Connect provider (package signin).
type People interface {
	// Site is the address under which browsers open this site, without a slash at its end.
	Site() *url.URL
	// Ask gives the page of the provider that asks a person to sign in, for an attempt.
	Ask(ctx context.Context, of Attempt) (address string, problem *Problem)
	// Answer reads what the provider has sent back by the person's browser.
	Answer(ctx context.Context, of Attempt, sent url.Values) (Person, *Problem)
	// Has reports whether the configuration gives a role to people.
	Has(role string) bool
}

// Attempt is one try of a browser to sign in. Its secrets stay in a cookie of that browser.
type Attempt struct {
	State    string // comes back with the provider's answer
	Nonce    string // comes back inside the ID token
	Verifier string // of PKCE: the code is worthless without it
	To       string // the path of this site to go on with
}

// Person is a user that the provider has identified.
type Person struct {
	Name  string
	Role  string // of PostgreSQL
	Lasts time.Duration
}

// Paths of signing in.
const (
	loginPath    = "/oidc/login"
	callbackPath = "/oidc/callback"
)

// signsIn are the paths that a browser without an identity may open.
var signsIn = map[string]bool{loginPath: true, callbackPath: true}

// attemptCookie begins the names of cookies of attempts. The state is the rest of the name: so several tabs can sign in
// at once. attemptLasts is the time for the provider's page, attemptsMost the number of open attempts of a browser.
const (
	attemptCookie = "bellhop_oidc_"
	attemptLasts  = 10 * time.Minute
	attemptsMost  = 5
)

// cookie of this attempt.
func (a Attempt) cookie() string {
	return strings.Join([]string{a.Nonce, a.Verifier, base64.RawURLEncoding.EncodeToString([]byte(a.To))}, ".")
}

// attemptOf reads the attempt that a browser has begun under this state.
func attemptOf(r *http.Request, state string) (a Attempt, ok bool) {
	c, err := r.Cookie(attemptCookie + state)
	if err != nil || state == "" {
		return a, false
	}
	parts := strings.Split(c.Value, ".")
	if len(parts) != 3 {
		return a, false
	}
	to, err := base64.RawURLEncoding.DecodeString(parts[2])
	return Attempt{State: state, Nonce: parts[0], Verifier: parts[1], To: ownPath(string(to))}, err == nil
}

// attemptCookieOf is a cookie of an attempt. The provider's answer comes from another site, so it cannot be strict.
func (s *Server) attemptCookieOf(r *http.Request, name, value string, lasts time.Duration) *http.Cookie {
	age := int(lasts.Seconds())
	if age == 0 {
		age = -1
	}
	return &http.Cookie{Name: name, Value: value, Path: Link(r.Context(), "/oidc/"), MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.encrypted(r)}
}

// encrypted reports whether the way to the browser is.
func (s *Server) encrypted(r *http.Request) bool {
	return arrived(r.Context()).secure || s.people != nil && s.people.Site().Scheme == "https"
}

// ownPath is a path of this site with its query, or else the overview: no address leads to another site.
func ownPath(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > 1000 || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(to, "\\\r\n\t") {
		return "/"
	}
	own := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.Query().Encode()}
	return own.String()
}

// wantsSignIn reports whether a request without a session is that of a person for a page.
func (s *Server) wantsSignIn(r *http.Request) bool {
	dest := r.Header.Get("Sec-Fetch-Dest")
	return s.people != nil && r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") &&
		strings.Contains(r.Header.Get("Accept"), "text/html") && (dest == "" || dest == "document")
}

// refuse answers with a problem, or leads a person that has no identity yet to the sign-in.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, p Problem) {
	if p.Code == "no_token" && s.wantsSignIn(r) {
		http.Redirect(w, r, loginPath+"?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	Refuse(w, r, p)
}

// signIn sends a browser to the provider.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) {
	if GetOnly(w, r) {
		return
	}
	q := r.URL.Query()
	to := ownPath(q.Get("to"))
	// The cookie must be where the provider's answer will be. A proxy may hide the host that the browser uses: once.
	if site := s.people.Site(); !strings.EqualFold(r.Host, site.Host) && q.Get("here") == "" {
		http.Redirect(w, r, site.String()+loginPath+"?here=yes&to="+url.QueryEscape(to), http.StatusSeeOther)
		return
	}
	a := Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(), To: to}
	address, problem := s.people.Ask(r.Context(), a)
	if problem != nil {
		Refuse(w, r, *problem)
		return
	}
	s.forgetAttempts(w, r)
	http.SetCookie(w, s.attemptCookieOf(r, attemptCookie+a.State, a.cookie(), attemptLasts))
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// forgetAttempts deletes the cookies of a browser that has begun many attempts: they would fill its requests.
func (s *Server) forgetAttempts(w http.ResponseWriter, r *http.Request) {
	var names []string
	for _, c := range r.Cookies() {
		if strings.HasPrefix(c.Name, attemptCookie) {
			names = append(names, c.Name)
		}
	}
	for _, name := range names {
		if len(names) >= attemptsMost {
			http.SetCookie(w, s.attemptCookieOf(r, name, "", 0))
		}
	}
}

// signedInBy makes a session of the provider's answer.
func (s *Server) signedInBy(w http.ResponseWriter, r *http.Request) {
	if GetOnly(w, r) {
		return
	}
	q := r.URL.Query()
	a, ok := attemptOf(r, q.Get("state"))
	if !ok {
		Refuse(w, r, oldAttempt)
		return
	}
	http.SetCookie(w, s.attemptCookieOf(r, attemptCookie+a.State, "", 0)) // it is for one use
	leave, problem := s.answering.Take("")
	if problem != nil {
		Refuse(w, r, *problem)
		return
	}
	defer leave()
	person, problem := s.people.Answer(r.Context(), a, q)
	if problem != nil {
		Refuse(w, r, *problem)
		return
	}
	secret, problem := s.admit(r, a, person)
	if problem != nil {
		Refuse(w, r, *problem)
		return
	}
	s.welcome(w, r, secret, a.To)
}

// oldAttempt is the problem of an answer that belongs to no open attempt of this browser.
var oldAttempt = Problem{Status: http.StatusForbidden, Code: "old_sign_in",
	Detail: "this sign-in was used already, is too old, or was begun in another browser",
	Next:   "open the overview to begin again"}

// admit makes a session for a person, and gives its secret. An attempt makes one session at most.
func (s *Server) admit(r *http.Request, a Attempt, who Person) (secret string, problem *Problem) {
	in := s.rooms.Load()
	if in == nil {
		return "", &starting
	}
	secret = rand.Text()
	ok, err := in.sessions.Admit(r.Context(), sha256.Sum256([]byte(secret)), sha256.Sum256([]byte("state "+a.State)),
		who.Name, who.Role, who.Lasts)
	switch {
	case err != nil:
		return "", &noDatabase
	case !ok:
		return "", &oldAttempt
	}
	return secret, nil
}

// welcome gives a browser its session.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request, secret, to string) {
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: secret, Path: cookiePath(r), HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: s.encrypted(r)})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	// No redirect: a cookie that is strict would not go with one that another site's link began.
	sayPlainly(w, r, Problem{Title: "Signed in", Status: http.StatusOK, Detail: "The page comes now."}, cmp.Or(to, "/"))
}

// next is what a caller without an identity does.
func (s *Server) next() string {
	if s.people != nil {
		return s.people.Site().String() + loginPath + "   asks the browser to sign in"
	}
	return "bellhop ui   opens this site signed in"
}
