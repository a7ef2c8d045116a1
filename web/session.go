package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Sessions stores logins, by digests: a reader of its rows cannot take over a session. An empty role: the login is
// known, but this instance may not answer for it.
type Sessions interface {
	// Enter makes a session of a one-time link, once.
	Enter(ctx context.Context, link, session [sha256.Size]byte) (login, role string, ok bool, err error)
	// Admit makes a session for a person; ok false: this attempt, by its digest, has made one already.
	Admit(
		ctx context.Context, session, attempt [sha256.Size]byte, name, role string, lasts time.Duration,
	) (ok bool, err error)
	// Session gives the login of a session, or the person that the provider has identified.
	Session(ctx context.Context, session [sha256.Size]byte) (name, role string, person, ok bool, err error)
	Leave(ctx context.Context, session [sha256.Size]byte) error
}

// cookie is the name of the session's.
const cookie = "bellhop_session"

// believed is how long a session is taken to be unchanged: a page with its style and script asks once. A login that
// is signed out elsewhere, or loses a role, goes on for at most that long.
const believed = 5 * time.Second

// known remembers sessions for a moment.
type known struct {
	mu       sync.Mutex
	sessions map[[sha256.Size]byte]seen
}

type seen struct {
	who Identity
	at  time.Time
}

// knownMost is more sessions than are used within a moment.
const knownMost = 1000

func (k *known) get(digest [sha256.Size]byte, now time.Time) (Identity, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, ok := k.sessions[digest]
	return s.who, ok && now.Sub(s.at) < believed
}

func (k *known) put(digest [sha256.Size]byte, who Identity, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.sessions == nil || len(k.sessions) >= knownMost {
		k.sessions = map[[sha256.Size]byte]seen{}
	}
	k.sessions[digest] = seen{who, now}
}

func (k *known) forget(digest [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.sessions, digest)
}

// formToken belongs to a session, and tells nothing of its secret.
func formToken(secret string) string {
	sum := sha256.Sum256([]byte("form " + secret))
	return hex.EncodeToString(sum[:16])
}

// login makes a session of the link that `bellhop ui` was given.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	if GetOnly(w, r) {
		return
	}
	secret, problem := s.enter(r)
	if problem != nil {
		Refuse(w, r, *problem)
		return
	}
	s.welcome(w, r, secret, "/")
}

// enter spends the link, and gives the secret of the session that it makes.
func (s *Server) enter(r *http.Request) (secret string, problem *Problem) {
	in := s.rooms.Load()
	if in == nil {
		return "", &starting
	}
	secret = rand.Text()
	login, role, ok, err := in.sessions.Enter(
		r.Context(),
		sha256.Sum256([]byte(r.PathValue("secret"))),
		sha256.Sum256([]byte(secret)),
	)
	switch {
	case err != nil:
		return "", &noDatabase
	case !ok:
		return "", &Problem{Status: http.StatusForbidden, Code: "old_link",
			Detail: "this link was used already, or is too old", Next: "bellhop ui   makes another"}
	case role == "":
		problem := noRole(login)
		return "", &problem
	}
	return secret, nil
}

func noRole(login string) Problem {
	return Problem{Status: http.StatusForbidden, Code: "no_role",
		Detail: fmt.Sprintf("%s is neither a reader nor an operator, and the scheduler's login is not a member of it", login),
		Next:   "bellhop doctor   shows what to grant"}
}

// logout ends a session.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(cookie); err == nil {
		digest := sha256.Sum256([]byte(c.Value))
		s.known.forget(digest)
		if in := s.rooms.Load(); in != nil {
			if err := in.sessions.Leave(r.Context(), digest); err != nil {
				Refuse(w, r, noDatabase)
				return
			}
		}
	}
	forgetCookie(w, r)
	if s.people != nil { // the overview would sign in again
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		sayPlainly(w, r, Problem{Title: "Signed out", Status: http.StatusOK,
			Detail: "This browser is signed out here. At the provider it may still be signed in."}, "")
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func forgetCookie(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(
		w,
		&http.Cookie{Name: cookie, Path: cookiePath(r), MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode},
	)
}

// cookiePath is below what the session's cookie is sent: what else stands on the same host does not get it.
func cookiePath(r *http.Request) string {
	return cmp.Or(Link(r.Context(), ""), "/")
}

// signedIn is the login that a cookie stands for; an empty role: none.
func (s *Server) signedIn(w http.ResponseWriter, r *http.Request) (Identity, *Problem) {
	c, err := r.Cookie(cookie)
	in := s.rooms.Load()
	if err != nil || in == nil {
		return Identity{}, nil
	}
	digest, now := sha256.Sum256([]byte(c.Value)), time.Now()
	if who, is := s.known.get(digest, now); is {
		return who, nil
	}
	name, role, person, ok, err := in.sessions.Session(r.Context(), digest)
	switch {
	case err != nil:
		return Identity{}, &noDatabase
	case !ok, person && (s.people == nil || !s.people.Has(role)): // it has ended, or the configuration has changed
		forgetCookie(w, r)
		return Identity{}, nil
	case role == "":
		p := noRole(name)
		return Identity{}, &p
	}
	who := Identity{Name: name, Role: role, Via: "session", Form: formToken(c.Value)}
	if person {
		who.Via = "oidc"
	}
	s.known.put(digest, who, now)
	return who, nil
}
