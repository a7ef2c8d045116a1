// Package oidc tests how people sign in: the real program, and a real OpenID Connect provider.
package oidc

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const (
	clientID = "bellhop"
	secret   = "a secret of the client"
	password = "her password"
)

// provider is a real one, with people and their groups.
type provider struct {
	*storage.Storage
	issuer string
	site   http.Handler
	server *httptest.Server

	mu     sync.Mutex
	people map[string]*person
	lasts  time.Duration               // of ID tokens
	swap   func(idToken string) string // of the answer with the tokens; nil: it stays
}

type person struct {
	storage.User
	groups []string
}

func startProvider(t *testing.T, callbacks ...string) *provider {
	t.Helper()
	p := &provider{people: map[string]*person{}, lasts: time.Hour}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	p.issuer = "http://localhost:" + port // another site than bellhop's 127.0.0.1
	p.Storage = storage.NewStorageWithClients(p, map[string]*storage.Client{
		clientID: storage.WebClient(clientID, secret, callbacks...),
		"other":  storage.WebClient("other", "another secret", callbacks...),
	})
	p.site = exampleop.SetupServer(p.issuer, p, slog.New(slog.DiscardHandler), false)
	p.listen(ln)
	t.Cleanup(func() { p.server.Close() })
	return p
}

func (p *provider) listen(ln net.Listener) {
	p.server = &httptest.Server{Listener: ln, Config: &http.Server{Handler: http.HandlerFunc(p.serve)}}
	p.server.Start()
}

// down ends the provider until up is called.
func (p *provider) down(t *testing.T) (up func()) {
	t.Helper()
	at := p.server.Listener.Addr().String()
	p.server.Close()
	return func() {
		ln, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		p.listen(ln)
	}
}

// serve answers as the provider does, but for an ID token that a test puts in the place of another.
func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	swap := p.swap
	p.mu.Unlock()
	if swap == nil || r.URL.Path != "/oauth/token" {
		p.site.ServeHTTP(w, r)
		return
	}
	kept := httptest.NewRecorder()
	p.site.ServeHTTP(kept, r)
	answer := map[string]any{}
	if json.Unmarshal(kept.Body.Bytes(), &answer) == nil && answer["id_token"] != nil {
		answer["id_token"] = swap(answer["id_token"].(string))
		text, _ := json.Marshal(answer)
		kept.Body = bytes.NewBuffer(text)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(kept.Code)
	_, _ = w.Write(kept.Body.Bytes())
}

func (p *provider) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// add makes a person with groups.
func (p *provider) add(name string, groups ...string) {
	p.set(func() {
		p.people[name] = &person{storage.User{ID: name, Username: name, Password: password, Email: name + "@example.org",
			EmailVerified: true}, groups}
	})
}

// GetUserByID, GetUserByUsername and ExampleClientID are what the provider asks of its people.
func (p *provider) GetUserByID(id string) *storage.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.people[id]; one != nil {
		return &one.User
	}
	return nil
}

func (p *provider) GetUserByUsername(name string) *storage.User { return p.GetUserByID(name) }
func (p *provider) ExampleClientID() string                     { return "service" }

// groupsOf adds the groups to a person's claims.
func (p *provider) groupsOf(info *oidc.UserInfo, subject string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.people[subject]; one != nil {
		info.AppendClaims("groups", slices.Clone(one.groups))
	}
}

func (p *provider) SetUserinfoFromRequest(
	ctx context.Context, info *oidc.UserInfo, token op.IDTokenRequest, scopes []string,
) error {
	defer p.groupsOf(info, token.GetSubject())
	return p.Storage.SetUserinfoFromRequest(ctx, info, token, scopes)
}

func (p *provider) SetUserinfoFromToken(
	ctx context.Context, info *oidc.UserInfo, token, subject, origin string,
) error {
	defer p.groupsOf(info, subject)
	return p.Storage.SetUserinfoFromToken(ctx, info, token, subject, origin)
}

// client is one whose ID tokens last for as long as a test says.
type client struct {
	op.Client
	lasts time.Duration
}

func (c client) IDTokenLifetime() time.Duration { return c.lasts }

func (p *provider) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := p.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return client{c, p.lasts}, nil
}
