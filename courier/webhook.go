package courier

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bellhop/scheduler/notice"
)

// Webhooks posts messages to URLs, signed as standardwebhooks.com says.
type Webhooks struct {
	// Allow are URLs below which everything may be posted to, wherever it is.
	// Others are reached without a proxy, and on public addresses alone.
	Allow  []string
	Secret []byte // empty: not signed
	Now    func() time.Time
}

// errPrivate is told where an address is not one of the public ones.
var errPrivate = errors.New("it is not on the public network, and not below any of notifications.webhooks in bellhop.yaml")

// Send posts a message. No redirection is followed: its target was not allowed.
func (w Webhooks) Send(ctx context.Context, target string, m notice.Message) error {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return fmt.Errorf("%w: the URL of this webhook is not valid: it is to be https://host/path, without a password", ErrNever)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(m.Body))
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNever, err)
	}
	at := strconv.FormatInt(w.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "bellhop")
	req.Header.Set("Webhook-Id", m.ID)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Idempotency-Key", m.ID)
	if len(w.Secret) > 0 {
		req.Header.Set("Webhook-Signature", "v1,"+Sign(w.Secret, m.ID, at, m.Body))
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second}
	if w.allowed(u) {
		transport.Proxy = http.ProxyFromEnvironment
	} else {
		transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: public}).DialContext
	}
	client := &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		if errors.Is(err, errPrivate) {
			return fmt.Errorf("%s: %w", u.Host, errPrivate)
		}
		return unreached(u.Host, err)
	}
	defer res.Body.Close()
	// Do not log the response: the URL may be internal.
	_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
	if res.StatusCode/100 == 2 {
		return nil
	}
	return refusal(u.Host, res, w.Now())
}

// refusal is what an answer that is no success says: when to come again, or never.
func refusal(host string, res *http.Response, now time.Time) *Refusal {
	r := &Refusal{Says: fmt.Sprintf("%s answered %s", host, res.Status), Gone: res.StatusCode == http.StatusGone}
	if r.Gone {
		r.Says += ": nothing is posted to this URL any more, until a message to it is sent again by hand"
		return r
	}
	text := strings.TrimSpace(res.Header.Get("Retry-After"))
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		r.After = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		r.After = max(0, at.Sub(now))
	}
	if r.After > 0 {
		r.After = min(r.After, notice.MostPause)
		r.Says += fmt.Sprintf(", and asks to be left alone for %v", r.After.Round(time.Second))
	}
	return r
}

// Sign is the signature of a message: HMAC-SHA256 of its id, its time and itself.
func Sign(secret []byte, id, at string, body []byte) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(id + "." + at + "."))
	h.Write(body)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// ReadSecret reads a secret as it stands in a file: whsec_ and base64, or any text.
func ReadSecret(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	if coded, is := bytes.CutPrefix(text, []byte("whsec_")); is {
		return base64.StdEncoding.DecodeString(string(coded))
	}
	if len(text) == 0 {
		return nil, errors.New("it is empty")
	}
	return text, nil
}

// allowed reports whether a URL is one of those below which everything is allowed.
func (w Webhooks) allowed(u *url.URL) bool {
	for _, text := range w.Allow {
		a, err := url.Parse(text)
		if err != nil || a.Scheme != u.Scheme || !strings.EqualFold(a.Host, u.Host) {
			continue
		}
		below, path := strings.TrimSuffix(a.EscapedPath(), "/")+"/", u.EscapedPath()
		if strings.HasPrefix(path+"/", below) && !strings.Contains(u.Path, "..") {
			return true
		}
	}
	return false
}

// public lets a connection through to public addresses only. It is asked of the
// address that a name has come to, so that no name leads elsewhere.
func public(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || inside(ip) {
		return errPrivate
	}
	return nil
}

// nets are addresses that are not on the public network, and that netip does not tell of: of providers' own
// networks, of translators from IPv6, and reserved.
var nets = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

func inside(ip netip.Addr) bool {
	for _, n := range nets {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}
