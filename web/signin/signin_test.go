package signin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"bellhop/web"
)

// desk is a provider that says what a test lets it say. A real one: e2e/oidc.
type desk struct {
	*Provider
	key    *ecdsa.PrivateKey
	issuer string
	claims map[string]any
}

func openDesk(t *testing.T, c Config) *desk {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	said := &oidctest.Server{
		PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}},
		Algorithms: []string{oidc.ES256},
	}
	d := &desk{key: key}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			said.ServeHTTP(w, r)
			return
		}
		text, _ := json.Marshal(d.claims)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": "a", "token_type": "Bearer",
			"id_token": oidctest.SignIDToken(key, "k", oidc.ES256, string(text))})
	}))
	t.Cleanup(server.Close)
	said.SetIssuer(server.URL)
	d.issuer, c.Issuer = server.URL, server.URL
	c.Site, c.ID, c.Secret = &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, "bellhop", "s"
	c.Log = slog.New(slog.DiscardHandler)
	if c.Claim == "" {
		c.Claim = "groups"
	}
	if c.Name == "" {
		c.Name = "email"
	}
	if c.Roles == nil {
		c.Roles = []Role{{"bellhop_operator", []string{"ops", "ann@example.org"}}, {"bellhop_reader", []string{"staff"}}}
	}
	d.Provider = New(c)
	return d
}

// answer is what becomes of an ID token with these claims besides the usual ones.
func (d *desk) answer(t *testing.T, claims map[string]any) (web.Person, *web.Problem) {
	t.Helper()
	d.claims = map[string]any{"iss": d.issuer, "aud": "bellhop", "sub": "1", "nonce": "n", "email": "ann@example.org",
		"exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range claims {
		d.claims[name] = value
	}
	return d.Answer(context.Background(), web.Attempt{State: "s", Nonce: "n", Verifier: "v"}, url.Values{"code": {"c"}})
}

// A person has the first role of the file that one of the groups gives, or none.
func TestAnswer_Roles(t *testing.T) {
	t.Parallel()
	d := openDesk(t, Config{})
	for _, c := range []struct {
		groups any
		role   string
	}{
		{[]string{"staff", "ops"}, "bellhop_operator"},
		{[]string{"staff"}, "bellhop_reader"},
		{"ops", "bellhop_operator"},
		{[]string{"OPS"}, ""},
		{"ops staff", ""},
		{[]any{1, nil, "staff"}, "bellhop_reader"},
		{map[string]any{"ops": true}, ""},
		{[]string{}, ""},
		{nil, ""},
	} {
		who, problem := d.answer(t, map[string]any{"groups": c.groups})
		if who.Role != c.role || (problem == nil) != (c.role != "") {
			t.Errorf("%v: %+v, %v", c.groups, who, problem)
		}
		const names = "ann@example.org, ops, staff"
		if problem != nil && (problem.Status != http.StatusForbidden || !strings.Contains(problem.Detail, names)) {
			t.Errorf("%v: %+v", c.groups, problem)
		}
	}
}

// What proves no identity is refused, and what names a person must be a name.
func TestAnswer_Refused(t *testing.T) {
	t.Parallel()
	d := openDesk(t, Config{})
	for name, c := range map[string]struct {
		claims map[string]any
		code   string
	}{
		"of another client":    {map[string]any{"aud": "other"}, "sign_in_refused"},
		"of another issuer":    {map[string]any{"iss": "https://evil.example"}, "sign_in_refused"},
		"that has expired":     {map[string]any{"exp": time.Now().Add(-time.Second).Unix()}, "sign_in_refused"},
		"of another attempt":   {map[string]any{"nonce": "other"}, "sign_in_refused"},
		"without a nonce":      {map[string]any{"nonce": nil}, "sign_in_refused"},
		"without a name":       {map[string]any{"email": nil}, "sign_in_refused"},
		"with a long name":     {map[string]any{"email": strings.Repeat("a", 201)}, "sign_in_refused"},
		"with a broken name":   {map[string]any{"email": "ann\nbob"}, "sign_in_refused"},
		"with a turned name":   {map[string]any{"email": "ann\u202egro.elpmaxe"}, "sign_in_refused"},
		"with a number's name": {map[string]any{"email": 7}, "sign_in_refused"},
		"with an email that the provider has not checked": {map[string]any{"email_verified": false}, "sign_in_refused"},
	} {
		c.claims["groups"] = "ops"
		if who, problem := d.answer(t, c.claims); problem == nil || problem.Code != c.code || who.Role != "" {
			t.Errorf("%s: %+v, %+v", name, who, problem)
		}
	}
	for name, sent := range map[string]url.Values{
		"an error":         {"error": {"access_denied"}, "error_description": {"<b>\x1b[31mno"}},
		"another provider": {"iss": {"https://evil.example"}, "code": {"c"}},
	} {
		_, problem := d.Answer(t.Context(), web.Attempt{Nonce: "n"}, sent)
		if problem == nil || problem.Code != "sign_in_refused" || strings.ContainsRune(problem.Detail, 0x1b) {
			t.Errorf("%s: %+v", name, problem)
		}
	}
}

// Rights by an address need one that the provider has checked.
func TestAnswer_RightsByEmail(t *testing.T) {
	t.Parallel()
	d := openDesk(t, Config{Claim: "email"})
	for verified, want := range map[any]string{true: "bellhop_operator", false: "", nil: "", "true": ""} {
		if who, _ := d.answer(t, map[string]any{"email_verified": verified}); who.Role != want {
			t.Errorf("%v: %q", verified, who.Role)
		}
	}
}

// A session lasts as long as the ID token, within bounds, or as the configuration says.
func TestAnswer_Lasts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ token, configured, least, most time.Duration }{
		{time.Hour, 0, 59 * time.Minute, time.Hour},
		{10 * time.Second, 0, time.Minute, time.Minute},
		{48 * time.Hour, 0, 12 * time.Hour, 12 * time.Hour},
		{time.Hour, 8 * time.Hour, 8 * time.Hour, 8 * time.Hour},
	} {
		who, problem := openDesk(t, Config{Lasts: c.configured}).answer(t,
			map[string]any{"groups": "ops", "exp": time.Now().Add(c.token).Unix()})
		if problem != nil || who.Lasts < c.least || who.Lasts > c.most {
			t.Errorf("%v: %s, %v", c, who.Lasts, problem)
		}
	}
}

// The provider's page is asked for a code with a state, a nonce and a challenge; the verifier stays here.
func TestAsk_Address(t *testing.T) {
	t.Parallel()
	d := openDesk(t, Config{})
	address, problem := d.Ask(t.Context(), web.Attempt{State: "s", Nonce: "n", Verifier: "verifier"})
	if problem != nil {
		t.Fatal(problem)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "bellhop", "state": "s", "nonce": "n", "code_challenge_method": "S256",
		"redirect_uri": "http://127.0.0.1:1/oidc/callback", "scope": "openid email profile",
	} {
		if q.Get(name) != want {
			t.Errorf("%s=%q, not %q", name, q.Get(name), want)
		}
	}
	if q.Get("code_challenge") == "" || strings.Contains(address, "verifier") {
		t.Error(address)
	}
}

// A provider is believed over a safe way alone, and one that is not there is told as such.
func TestAsk_ProvidersThatAreNone(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"no JSON":        "hello",
		"another issuer": `{"issuer": "https://evil.example"}`,
		"an unsafe place": `{"issuer": "ISSUER", "authorization_endpoint": "http://login.example.org/",
			"token_endpoint": "https://a.example/", "jwks_uri": "https://a.example/"}`,
		"unsafe keys": `{"issuer": "ISSUER", "authorization_endpoint": "https://a.example/",
			"token_endpoint": "https://a.example/", "jwks_uri": "http://a.example/"}`,
	} {
		var server *httptest.Server
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(strings.ReplaceAll(says, "ISSUER", server.URL)))
		}))
		t.Cleanup(server.Close)
		p := New(Config{Issuer: server.URL, Site: &url.URL{}, Log: slog.New(slog.DiscardHandler)})
		at, problem := p.Ask(t.Context(), web.Attempt{})
		if problem == nil || problem.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: %q, %+v", name, at, problem)
		}
	}
}
