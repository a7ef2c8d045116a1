package courier

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bellhop/scheduler/notice"
)

// What is not public is not posted to, in whatever form its address is written.
func TestPublic(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"93.184.215.14:443": true, "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443": true,
		"127.0.0.1:80": false, "10.0.0.7:80": false, "172.16.3.4:80": false,
		"192.168.1.1:80": false, "169.254.169.254:80": false,
		"0.0.0.0:80": false, "100.64.1.1:80": false, "224.0.0.1:80": false,
		"255.255.255.255:80": false, "192.0.0.192:80": false,
		"[::1]:80": false, "[fe80::1]:80": false, "[fd00:ec2::254]:80": false, "[::ffff:169.254.169.254]:80": false,
		"[64:ff9b::a9fe:a9fe]:80": false, "[2002:a9fe:a9fe::1]:80": false, "nonsense": false,
	} {
		if got := public("tcp", address, nil) == nil; got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

// What is allowed is what is below, and not what only begins so.
func TestWebhooks_Allowed(t *testing.T) {
	t.Parallel()
	w := Webhooks{Allow: []string{"http://10.0.0.7/hooks/", "https://inside.example.org"}}
	for text, want := range map[string]bool{
		"http://10.0.0.7/hooks/a": true, "http://10.0.0.7/hooks": true,
		"http://10.0.0.7/hooksy": false, "http://10.0.0.7/": false,
		"https://10.0.0.7/hooks/a": false, "http://10.0.0.7:8080/hooks/a": false, "http://10.0.0.7/hooks/../admin": false,
		"http://10.0.0.7/hooks/%2e%2e/admin": false, "https://INSIDE.example.org/any": true, "https://inside.example.org.evil/": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.allowed(u); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// A server inside the network gets a message only if bellhop.yaml names its URL, whether by its address or by a name.
func TestWebhooks_PostToPublicAddressesOnly(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { posts.Add(1) }))
	t.Cleanup(s.Close)
	named := strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	w := Webhooks{Now: time.Now}
	for _, target := range []string{s.URL, named} {
		if err := w.Send(t.Context(), target, notice.Message{}); !errors.Is(err, errPrivate) || posts.Load() != 0 {
			t.Errorf("%s: %v, %d posts", target, err, posts.Load())
		}
	}
	w.Allow = []string{s.URL}
	if err := w.Send(t.Context(), s.URL+"/hook", notice.Message{}); err != nil || posts.Load() != 1 {
		t.Errorf("a URL that is allowed: %v, %d posts", err, posts.Load())
	}
}
