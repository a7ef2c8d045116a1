package oidc

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// tokenFor is an ID token that the provider gives another client, for the same person.
func (p *provider) tokenFor(t *testing.T, id, callback string) string {
	t.Helper()
	b := newBrowser(t)
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Query().Has("code") {
			return http.ErrUseLastResponse
		}
		return nil
	}
	sent := b.signIn(p.issuer+"/auth?"+url.Values{"client_id": {id}, "redirect_uri": {callback}, "response_type": {"code"},
		"scope": {"openid email"}, "state": {"s"}, "nonce": {"n"}}.Encode(), "ann")
	form := url.Values{"grant_type": {"authorization_code"}, "code": {sent.to.Query().Get("code")},
		"redirect_uri": {callback}}
	ask, err := http.NewRequest(http.MethodPost, p.issuer+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	ask.SetBasicAuth(id, url.QueryEscape("another secret"))
	r, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it was read
	var answer struct {
		IDToken string `json:"id_token"`
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || answer.IDToken == "" {
		t.Fatalf("no token for %s: %d, %v", id, r.StatusCode, err)
	}
	return answer.IDToken
}
