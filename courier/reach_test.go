package courier

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"bellhop/scheduler/notice"
)

// A server that cannot be reached is named with the reason, in the same words for mail and for webhooks.
func TestSend_SaysWhyAServerCannotBeReached(t *testing.T) {
	t.Parallel()
	listener := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	closed, hangsUp := listener(), listener()
	_ = closed.Close()
	go func() {
		for {
			c, err := hangsUp.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(tls.Close)
	secure := strings.TrimPrefix(tls.URL, "https://")
	message := notice.Message{ID: "1", At: time.Now(), Text: "x"}
	mailed := func(url string) error {
		return SMTP{URL: url, From: "bellhop@host.example", TLS: "none"}.Send(t.Context(), "ops@host.example", message)
	}
	posted := func(url string) error {
		return Webhooks{Now: time.Now, Allow: []string{url}}.Send(t.Context(), url+"/secret", message)
	}
	for _, x := range []struct {
		err  error
		want string
	}{
		{mailed("smtp://" + closed.Addr().String()), "cannot reach " + closed.Addr().String() + ": connection refused"},
		{posted("http://" + closed.Addr().String()), "cannot reach " + closed.Addr().String() + ": connection refused"},
		{mailed("smtp://" + hangsUp.Addr().String()), "cannot reach " + hangsUp.Addr().String() + ": it closed the connection"},
		{posted("http://" + hangsUp.Addr().String()), "cannot reach " + hangsUp.Addr().String() + ": it closed the connection"},
		{mailed("smtps://" + secure), "cannot reach " + secure + ": its certificate is not trusted: x509"},
		{posted("https://" + secure), "cannot reach " + secure + ": its certificate is not trusted: x509"},
		{mailed("smtp://nowhere.invalid:25"), "about the name nowhere.invalid|DNS does not know the name nowhere.invalid"},
		{posted("http://nowhere.invalid"), "about the name nowhere.invalid|DNS does not know the name nowhere.invalid"},
		{
			unreached("h:80", &url.Error{Op: "Post", Err: errors.New("http: server closed idle connection")}),
			"cannot reach h:80: it closed the connection",
		},
	} {
		said := ""
		if x.err != nil {
			said = x.err.Error()
		}
		one, other, _ := strings.Cut(x.want, "|")
		says := strings.Contains(said, one) || other != "" && strings.Contains(said, other)
		if !says || strings.Contains(said, "secret") {
			t.Errorf("%q, want %q", said, x.want)
		}
	}
}
