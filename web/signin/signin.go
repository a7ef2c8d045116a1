// Package signin identifies people by an OpenID Connect provider: by the authorization code flow, with PKCE, state and
// nonce. It gives each person a name and a role, by claims of the ID token. Cookies and sessions are the door's
// (package web).
package signin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"bellhop/scheduler"
	"bellhop/web"
)

// patience bounds each request to the provider.
const patience = 5 * time.Second

// A session lasts for shortest at least: an ID token that ends at once would ask the provider for ever. longest is also
// the life of a session of `bellhop ui`.
const (
	shortest = time.Minute
	longest  = 12 * time.Hour
)

// Config names the provider, and the roles of its people.
type Config struct {
	Issuer string   // https, or http on this machine
	Site   *url.URL // the address of this site, without a slash at its end
	ID     string   // of this client, at the provider
	Secret string
	Scopes []string // empty: openid, email, profile, and groups where the provider has it
	Claim  string   // holds a person's groups: a list of texts, or one text
	Name   string   // the claim that names a person
	Roles  []Role   // the first one that fits is taken
	Lasts  time.Duration
	Log    *slog.Logger
}

// Role is a role of PostgreSQL, and the groups whose members have it.
type Role struct {
	Name   string
	Groups []string
}

// fresh is how long the provider is taken to be as it has said, or not to answer: it is asked when a person comes, and
// for a crowd once.
const fresh = 5 * time.Second

// Provider is one provider. It is asked about itself when a person signs in, and not before.
type Provider struct {
	c      Config
	client *http.Client
	mu     sync.Mutex
	known  *endpoints
	wrong  error
	asked  time.Time
}

// endpoints are what the provider says of itself.
type endpoints struct {
	*oidc.Provider
	oauth oauth2.Config
}

// New returns a provider that was not asked yet.
func New(c Config) *Provider {
	stays := func(*http.Request, []*http.Request) error {
		return errors.New("the provider redirects a request of this program, which is not followed")
	}
	return &Provider{c: c, client: &http.Client{Timeout: patience, CheckRedirect: stays}}
}

// Site is the address under which browsers open this site.
func (p *Provider) Site() *url.URL { return p.c.Site }

// Has reports whether some group has a role.
func (p *Provider) Has(role string) bool {
	return slices.ContainsFunc(p.c.Roles, func(r Role) bool { return r.Name == role })
}

// endpoints are what the provider has said of itself a moment ago, or says now.
func (p *Provider) endpoints(ctx context.Context) (*endpoints, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.asked) > fresh {
		// Others wait for the answer, too: it does not end with this request.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if p.known, p.wrong = p.ask(ctx); p.wrong != nil {
			p.c.Log.Warn("the sign-in provider does not answer as it should", "issuer", p.c.Issuer, "error", p.wrong)
		}
		p.asked = time.Now()
	}
	return p.known, p.wrong
}

// ask asks the provider about itself.
func (p *Provider) ask(ctx context.Context) (*endpoints, error) {
	about, err := oidc.NewProvider(ctx, p.c.Issuer)
	if err != nil {
		return nil, err
	}
	var said struct {
		Scopes   []string `json:"scopes_supported"`
		JWKS     string   `json:"jwks_uri"`
		UserInfo string   `json:"userinfo_endpoint"`
	}
	if err := about.Claims(&said); err != nil {
		return nil, err
	}
	for _, at := range []string{about.Endpoint().AuthURL, about.Endpoint().TokenURL, said.JWKS, said.UserInfo} {
		if at != "" && !scheduler.Encrypted(at) {
			return nil, fmt.Errorf("the provider names %s, which is neither https nor on this machine", at)
		}
	}
	scopes := p.c.Scopes
	if len(scopes) == 0 {
		scopes = []string{oidc.ScopeOpenID, "email", "profile"}
		if slices.Contains(said.Scopes, "groups") {
			scopes = append(scopes, "groups")
		}
	}
	return &endpoints{about, oauth2.Config{ClientID: p.c.ID, ClientSecret: p.c.Secret, Endpoint: about.Endpoint(),
		RedirectURL: p.c.Site.String() + "/oidc/callback", Scopes: scopes}}, nil
}

// Ask gives the page of the provider that asks a person to sign in.
func (p *Provider) Ask(ctx context.Context, of web.Attempt) (address string, problem *web.Problem) {
	at, err := p.endpoints(oidc.ClientContext(ctx, p.client))
	if err != nil {
		return "", p.away()
	}
	return at.oauth.AuthCodeURL(of.State, oidc.Nonce(of.Nonce), oauth2.S256ChallengeOption(of.Verifier)), nil
}

// away is the problem of a provider that cannot be asked.
func (p *Provider) away() *web.Problem {
	return &web.Problem{Status: http.StatusServiceUnavailable, Code: "no_provider",
		Detail: "the sign-in provider " + p.c.Issuer + " does not answer as it should, so people cannot sign in; tokens still work",
		Next:   "try again later; or on the machine of the instance: bellhop ui"}
}

// refused is the problem of an answer that proves no identity. The log has the cause: it may name addresses.
func (p *Provider) refused(why string, err error) *web.Problem {
	p.c.Log.Warn("a sign-in was refused", "issuer", p.c.Issuer, "why", why, "error", err)
	return &web.Problem{Status: http.StatusForbidden, Code: "sign_in_refused",
		Detail: "the sign-in was refused: " + why, Next: "open the overview to begin again"}
}

// Answer reads what the provider has sent back by the person's browser.
func (p *Provider) Answer(ctx context.Context, of web.Attempt, sent url.Values) (who web.Person, problem *web.Problem) {
	if said := sent.Get("error"); said != "" {
		err := errors.New(said + ": " + sent.Get("error_description"))
		return who, p.refused("the provider has answered "+printable(err.Error()), err)
	}
	if iss := sent.Get("iss"); iss != "" && iss != p.c.Issuer { // RFC 9207
		return who, p.refused("the answer comes from another provider", errors.New(iss))
	}
	ctx = oidc.ClientContext(ctx, p.client)
	at, err := p.endpoints(ctx)
	if err != nil {
		return who, p.away()
	}
	token, err := at.oauth.Exchange(ctx, sent.Get("code"), oauth2.VerifierOption(of.Verifier))
	var said *oauth2.RetrieveError
	switch {
	case errors.As(err, &said) && said.Response.StatusCode < http.StatusInternalServerError:
		return who, p.refused("the provider does not accept the code that the browser has brought", err)
	case err != nil:
		p.c.Log.Warn("the sign-in provider gives no tokens", "issuer", p.c.Issuer, "error", err)
		return who, p.away()
	}
	id, problem := p.identity(ctx, at, of, token)
	if problem != nil {
		return who, problem
	}
	claims, err := p.claims(ctx, at, id, token)
	if err != nil {
		return who, p.refused("the provider's claims cannot be read", err)
	}
	return p.person(id, claims)
}

// identity verifies the ID token: signature, issuer, audience, time, nonce.
func (p *Provider) identity(
	ctx context.Context, at *endpoints, of web.Attempt, token *oauth2.Token,
) (*oidc.IDToken, *web.Problem) {
	raw, _ := token.Extra("id_token").(string)
	id, err := at.Verifier(&oidc.Config{ClientID: p.c.ID}).Verify(ctx, raw)
	var expired *oidc.TokenExpiredError
	switch {
	case raw == "":
		return nil, p.refused("the provider has sent no ID token", errors.New("is openid among the scopes?"))
	case errors.As(err, &expired):
		return nil, p.refused("the ID token has expired", err)
	case err != nil:
		return nil, p.refused("the ID token is not valid for this site", err)
	case id.Nonce != of.Nonce:
		return nil, p.refused("the ID token belongs to another sign-in", errors.New("its nonce differs"))
	}
	if id.AccessTokenHash != "" {
		if err := id.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, p.refused("the ID token belongs to another sign-in", err)
		}
	}
	return id, nil
}

// claims are those of the ID token; what it lacks, the provider is asked for.
func (p *Provider) claims(
	ctx context.Context, at *endpoints, id *oidc.IDToken, token *oauth2.Token,
) (claims map[string]any, err error) {
	if err := id.Claims(&claims); err != nil {
		return nil, err
	}
	if claims[p.c.Claim] != nil && claims[p.c.Name] != nil || at.UserInfoEndpoint() == "" {
		return claims, nil
	}
	info, err := at.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return nil, err
	}
	if info.Subject != id.Subject {
		return nil, errors.New("the provider's userinfo is about another person")
	}
	var more map[string]any
	if err := info.Claims(&more); err != nil {
		return nil, err
	}
	for name, value := range more {
		if claims[name] == nil {
			claims[name] = value
		}
	}
	return claims, nil
}

// person gives the name and the role that the claims say.
func (p *Provider) person(id *oidc.IDToken, claims map[string]any) (who web.Person, problem *web.Problem) {
	name, _ := claims[p.c.Name].(string)
	name = strings.TrimSpace(name)
	if name == "" || len(name) > 200 || name != printable(name) {
		return who, p.refused(fmt.Sprintf("the claim %s is no name: web.oidc.name in bellhop.yaml names the claim", p.c.Name),
			fmt.Errorf("%.200q", claims[p.c.Name]))
	}
	// Some providers let people write any address: rights need one that the provider has checked.
	verified, told := claims["email_verified"].(bool)
	if p.c.Name == "email" && told && !verified || p.c.Claim == "email" && !verified {
		return who, p.refused("the provider has not verified the email address", errors.New(name))
	}
	groups := texts(claims[p.c.Claim])
	for _, role := range p.c.Roles {
		if slices.ContainsFunc(role.Groups, func(g string) bool { return slices.Contains(groups, g) }) {
			return web.Person{Name: name, Role: role.Name, Lasts: p.lasts(id)}, nil
		}
	}
	p.c.Log.Warn("a person without a role has signed in", "name", name, "claim", p.c.Claim, "groups", len(groups))
	return who, &web.Problem{Status: http.StatusForbidden, Code: "no_group",
		Detail: fmt.Sprintf("%s has no role here: it takes one of the groups %s, in the claim %s", name, p.groups(), p.c.Claim),
		Next:   "have the provider's administrator add the group, and sign in again"}
}

// groups are all that have a role.
func (p *Provider) groups() string {
	var all []string
	for _, r := range p.c.Roles {
		all = append(all, r.Groups...)
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), ", ")
}

// lasts is the life of a session: the configured one, or that of the ID token.
func (p *Provider) lasts(id *oidc.IDToken) time.Duration {
	if p.c.Lasts > 0 {
		return p.c.Lasts
	}
	return min(max(time.Until(id.Expiry), shortest), longest)
}

// texts reads a claim that holds a list of texts, or one text.
func texts(claim any) (list []string) {
	switch v := claim.(type) {
	case string:
		list = append(list, v)
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// printable is a text of another party, fit to be repeated.
func printable(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == '\u2028' || c == '\u2029' {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(text, "?"))
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200])
	}
	return text
}
