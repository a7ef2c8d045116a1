package oidc

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const token = "a-token-of-the-tests"

// program is `bellhop serve` with a database of its own.
type program struct {
	t  *testing.T
	at string // http://127.0.0.1:port
}

// free is an address of this machine that was free a moment ago.
func free(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }() // it was only asked for its port
	return ln.Addr().String()
}

// build builds the program once.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "bellhop")
	made := exec.Command("go", "build", "-o", bin, "./cmd/bellhop")
	made.Dir = "../.."
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// serve starts the program with a provider, and waits until it is ready.
func serve(t *testing.T, bin, address string, p *provider) *program {
	t.Helper()
	dir, err := os.MkdirTemp("", "bellhop-oidc-")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bellhop.yaml")
	configuration := fmt.Sprintf(`listen: %s
web:
  oidc:
    issuer: %s
    url: http://%s
    client_id: %s
    client_secret_env: OIDC_SECRET
    roles: {operator: [ops, admins], reader: [staff]}
tokens: [{name: ci, role: operator, env: CI_TOKEN}]
`, address, p.issuer, address, clientID)
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL may run as another user
		t.Fatal(err)
	}
	run := exec.Command(bin, "serve", "-c", file, "--data-dir", filepath.Join(dir, "data"))
	run.Env = append(os.Environ(), "OIDC_SECRET="+secret, "CI_TOKEN="+token, "DATABASE_URL=")
	said, err := run.StderrPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	serves, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		once := sync.OnceFunc(func() { close(serves) })
		for lines := bufio.NewScanner(said); lines.Scan(); {
			fmt.Fprintln(&text, lines.Text())
			if strings.Contains(lines.Text(), "bellhop serves") {
				once()
			}
		}
	}()
	t.Cleanup(func() {
		_ = run.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = run.Wait() // it ends by the signal
		if t.Failed() {
			t.Log(text.String())
		}
		_ = os.RemoveAll(dir)
	})
	select {
	case <-serves:
	case <-ended:
		t.Fatal("it has ended before it serves")
	}
	return &program{t, "http://" + address}
}

// browser is a person's, with cookies of its own.
type browser struct {
	*http.Client
	t *testing.T
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{&http.Client{Jar: jar, Timeout: time.Minute}, t}
}

// page is what a browser shows.
type page struct {
	status int
	at     *url.URL
	to     *url.URL // where a redirect leads that the browser does not follow
	text   string
}

func (b *browser) do(r *http.Request, err error) page {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	a, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }() // it was read
	text, err := io.ReadAll(a.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	to, _ := a.Location() // nil: it is no redirect
	return page{a.StatusCode, a.Request.URL, to, string(text)}
}

func (b *browser) open(at string) page {
	b.t.Helper()
	return b.do(http.NewRequest(http.MethodGet, at, nil))
}

func (b *browser) send(at string, form url.Values) page {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodPost, at, strings.NewReader(form.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return b.do(r, err)
}

var leads = regexp.MustCompile(`http-equiv="refresh" content="0;url=([^"]*)"`)

// signIn opens a page, writes name and password at the provider, and gives what this site says then.
func (b *browser) signIn(at, name string) page {
	b.t.Helper()
	asked := b.open(at)
	id := asked.at.Query().Get("authRequestID")
	if asked.at.Hostname() != "localhost" || id == "" {
		b.t.Fatalf("it is not asked to sign in: %d, %s\n%s", asked.status, asked.at, asked.text)
	}
	to := *asked.at
	to.RawQuery = ""
	return b.send(to.String(), url.Values{"username": {name}, "password": {password}, "id": {id}})
}

// goOn follows the page that says that a person is signed in.
func (b *browser) goOn(from page) page {
	b.t.Helper()
	to := leads.FindStringSubmatch(from.text)
	if from.status != http.StatusOK || to == nil {
		b.t.Fatalf("not signed in: %d, %s\n%s", from.status, from.at, from.text)
	}
	next, err := from.at.Parse(strings.ReplaceAll(to[1], "&amp;", "&"))
	if err != nil {
		b.t.Fatal(err)
	}
	return b.open(next.String())
}
