package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// mail is a message as a server of mail got it.
type mail struct {
	ID, From, Subject, Text string
	To                      []string
	TLS, Login              bool
}

// smtp starts a server of mail, whose folder is the test's, and gives its port.
func (e *env) smtp(args ...string) (port string) {
	e.t.Helper()
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import aiosmtpd").Run() != nil {
		e.t.Skip("SKIPPED: no server of mail here, so no mail is sent; apt-get install python3-aiosmtpd")
	}
	script, err := filepath.Abs("smtp_server.py")
	if err != nil {
		e.t.Fatal(err)
	}
	cmd := exec.Command(python, append([]string{script, e.dir}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		e.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// mails waits until the server of mail got so many, and gives all of them.
func (e *env) mails(least int) (list []mail) {
	e.t.Helper()
	pgtest.Eventually(e.t, patience, fmt.Sprintf("%d mails", least), func() bool { return len(e.lines("mail")) >= least })
	for _, line := range e.lines("mail") {
		var m mail
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			e.t.Fatalf("%s: %v", line, err)
		}
		list = append(list, m)
	}
	return list
}

const shAgent = "agents:\n  - {type: sh, command: [sh, -c], mode: exec}\n"

// A run that fails is told by mail to those whom its definition names, and by rules of its project; what succeeds
// is not.
func TestNotices_MailTellsOfRunsThatFail(t *testing.T) {
	t.Parallel()
	e := setup(t)
	port := e.smtp()
	e.serve(shAgent + "smtp: {url: \"smtp://127.0.0.1:" + port + "\", from: \"Bellhop <bellhop@example.org>\"}\n")
	e.file("w.yaml", "workflow: nightly\nproject: Demo\nparameters: {HOW: \"true\"}\n"+
		"steps: [{name: fetch, type: sh, args: \"echo žluťoučký >&2; ${HOW}\"}, {name: convert, type: sh, args: \"true\"}]\n"+
		"notify: [{mail: [ops@example.org, nobody@example.org]}, {mail: [seldom@example.org], unless_success_within: 1h}]\n---\n"+
		"workflow: quiet\nsteps: [{name: a, type: sh, args: \"exit 7\"}]\n", 0o600)
	r := e.run("workflow", "apply", filepath.Join(e.dir, "w.yaml"))
	if r.code != 0 || strings.Contains(r.stderr, "warning") {
		t.Fatalf("%+v", r)
	}
	e.ok("workflow", "notify", "add", "--project", "demo", "--prefix", "NIGHT", "--mail", "ops@example.org,boss@example.org")
	e.ok("workflow", "notify", "add", "--prefix", "other", "--mail", "never@example.org")
	off := strings.TrimSpace(e.ok("workflow", "notify", "add", "--prefix", "night", "--mail", "never@example.org"))
	e.ok("workflow", "notify", "edit", off, "--active=false", "--version", "1")
	if r := e.run("workflow", "notify", "edit", off, "--active", "--version", "1"); r.code != 7 ||
		!strings.Contains(r.stderr, "rule "+off+" has version 2, not 1") {
		t.Errorf("a change of what somebody else has changed: %+v", r)
	}
	if r := e.run("workflow", "run", "quiet", "--wait"); r.code != 1 {
		t.Fatalf("%+v", r)
	}
	e.ok("workflow", "run", "nightly", "--wait")
	if r := e.run("workflow", "run", "nightly", "--param", "HOW=exit 3", "--wait"); r.code != 1 {
		t.Fatalf("%+v", r)
	}
	e.eventually("all is sent or given up", "select count(*) = 3 and bool_and(status <> 'waiting') from bellhop.notice")
	got := map[string]mail{}
	for _, m := range e.mails(2) {
		got[strings.Join(m.To, " ")] = m
	}
	ops, boss := got["ops@example.org"].ID, got["boss@example.org"].ID
	if len(got) != 2 || ops == "" || boss == "" || ops == boss {
		t.Errorf("mail went to %+v", got)
	}
	m := got["ops@example.org"]
	has(t, m.Subject, "workflow nightly failed")
	has(t, m.Text, "Workflow nightly (project Demo) failed", "Run 3, version 1", "Step fetch failed", "exit code 3", "žluťoučký", "convert",
		"bellhop workflow show --run 3", "bellhop workflow retry 3", "It last succeeded at")
	has(t, m.From, "bellhop@example.org")
	has(t, e.ok("workflow", "notify", "messages", "-s", "given_up"), "nobody@example.org", "550", "no such mailbox")
	if out := e.ok("workflow", "notify", "messages", "quiet"); strings.Contains(out, "quiet") {
		t.Errorf("somebody is told of a workflow that nobody asked for:\n%s", out)
	}
}

// A server of mail that says "not now" is tried again, and what was given up can be sent by hand, under the same id.
func TestNotices_MailIsTriedAgain(t *testing.T) {
	t.Parallel()
	e := setup(t)
	port := e.smtp()
	e.serve(shAgent + "smtp: {url: \"smtp://127.0.0.1:" + port + "\", from: bellhop@example.org}\nnotifications: {give_up: 1h}\n")
	e.file("w.yaml", "workflow: w\nsteps: [{name: a, type: sh, args: \"exit 1\"}]\nnotify: [{mail: [later@example.org]}]\n", 0o600)
	e.ok("workflow", "apply", filepath.Join(e.dir, "w.yaml"))
	e.run("workflow", "run", "w", "--wait")
	e.eventually("it was tried", "select exists (select from bellhop.notice where tries = 1 and error like '%451%' and next_at > now() + interval '5 s')")
	has(t, e.ok("workflow", "notify", "messages"), "waiting", "451")
	e.sql("update bellhop.notice set until = now() - interval '1 s', next_at = now()")
	e.sql("notify bellhop_due")
	e.eventually("it is given up", "select status = 'given_up' from bellhop.notice")
	e.file("awake", "", 0o600)
	has(t, e.ok("workflow", "notify", "again", "1"), "message 1 is sent now")
	id := value[string](e, "select message::text from bellhop.notice")
	if m := e.mails(1)[0]; m.ID != "<"+id+"@bellhop>" {
		t.Errorf("mail has the id %s, and the message %s", m.ID, id)
	}
	e.eventually("it is sent", "select status = 'sent' from bellhop.notice")
	has(t, e.ok("workflow", "notify", "again", "1"), "was sent already")
}

// The instance that has sent a message is killed before it could write so: another one sends it again, under the
// same id.
func TestNotices_KilledBetweenSendingAndWriting(t *testing.T) {
	t.Parallel()
	e := setup(t)
	port := e.smtp()
	config := shAgent + "smtp: {url: \"smtp://127.0.0.1:" + port + "\", from: bellhop@example.org}\n"
	first := e.serve(config)
	e.file("hold", "", 0o600)
	e.file("w.yaml", "workflow: w\nsteps: [{name: a, type: sh, args: \"exit 1\"}]\nnotify: [{mail: [ops@example.org]}]\n", 0o600)
	e.ok("workflow", "apply", filepath.Join(e.dir, "w.yaml"))
	e.run("workflow", "run", "w", "--wait")
	e.mails(1) // it has it, and has not said so yet
	e.serve(config)
	first.kill()
	if err := os.Remove(filepath.Join(e.dir, "hold")); err != nil {
		t.Fatal(err)
	}
	e.eventually("the other one has sent it", "select exists (select from bellhop.notice where status = 'sent' and tries = 2)")
	list := e.mails(2)
	if len(list) != 2 || list[0].ID != list[1].ID {
		t.Errorf("mails: %+v", list)
	}
}

// A password goes over an encrypted way only, and to a server whose certificate is trusted.
func TestNotices_MailWithTLSAndAPassword(t *testing.T) {
	t.Parallel()
	e := setup(t)
	cert, key := e.certificate()
	port := e.smtp(cert, key)
	e.file("password", "hop\n", 0o600)
	e.file("w.yaml", "workflow: w\nsteps: [{name: a, type: sh, args: \"exit 1\"}]\nnotify: [{mail: [ops@example.org]}]\n", 0o600)
	server := "smtp: {url: \"smtp://bell@127.0.0.1:" + port + "\", from: bellhop@example.org, tls: required, password_file: " + e.dir + "/password"
	strange := e.serve(shAgent + server + "}\n")
	e.ok("workflow", "apply", filepath.Join(e.dir, "w.yaml"))
	e.run("workflow", "run", "w", "--wait")
	e.eventually("the certificate is not trusted", "select exists (select from bellhop.notice where tries > 0 and error like '%certificate%')")
	if len(e.lines("mail")) > 0 {
		t.Errorf("mail went to a server that is not trusted")
	}
	strange.stop()
	e.serve(shAgent + server + ", ca_file: " + cert + "}\n")
	e.ok("workflow", "notify", "again", "1")
	if m := e.mails(1)[0]; !m.TLS || !m.Login {
		t.Errorf("%+v", m)
	}
}

// certificate makes one for 127.0.0.1.
func (e *env) certificate() (cert, key string) {
	e.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		e.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		e.t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		e.t.Fatal(err)
	}
	return e.file("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o600),
		e.file("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})), 0o600)
}

// hooks is a server that is posted to.
type hooks struct {
	mu     sync.Mutex
	got    []*http.Request
	bodies [][]byte
	status []int // of the next answers; then 204
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got, h.bodies = append(h.got, r), append(h.bodies, body)
	status := http.StatusNoContent
	if len(h.status) > 0 {
		status, h.status = h.status[0], h.status[1:]
	}
	if status/100 == 3 {
		w.Header().Set("Location", "/elsewhere")
	}
	w.WriteHeader(status)
}

// A webhook is signed, tried again under the same id, and not followed elsewhere; an address that is not public is one
// of those that the configuration names.
func TestNotices_WebhookIsSignedAndTriedAgain(t *testing.T) {
	t.Parallel()
	e := setup(t)
	h := &hooks{status: []int{500, 302}}
	server := httptest.NewServer(h)
	defer server.Close()
	secret := e.file("secret", "whsec_"+base64.StdEncoding.EncodeToString([]byte("told you so"))+"\n", 0o600)
	e.serve(shAgent + "notifications: {webhooks: [\"" + server.URL + "/in/\"], secret_file: " + secret + "}\n")
	e.file("w.yaml", "workflow: w\nsteps: [{name: a, type: sh, args: \"exit 1\"}]\nnotify: [{when: [failed, succeeded], webhook: \""+server.URL+"/in/x\"}, "+
		"{webhook: \""+server.URL+"/inside\"}]\n", 0o600)
	e.ok("workflow", "apply", filepath.Join(e.dir, "w.yaml"))
	e.run("workflow", "run", "w", "--wait")
	for tries := 1; tries <= 2; tries++ {
		e.eventually("it was tried", "select exists (select from bellhop.notice where tries = $1 and status = 'waiting' and instance is null and target like '%/in/x')", tries)
		e.ok("workflow", "notify", "again", value[string](e, "select id::text from bellhop.notice where target like '%/in/x'"))
	}
	e.eventually("it is sent", "select status = 'sent' from bellhop.notice where target like '%/in/x'")
	e.eventually("the other one is not", "select exists (select from bellhop.notice where status = 'waiting' and error like '%not on the public network%' and target like '%/inside')")
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.got) != 3 {
		t.Fatalf("%d posts", len(h.got))
	}
	for i, r := range h.got {
		id, at := r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp")
		mac := hmac.New(sha256.New, []byte("told you so"))
		fmt.Fprintf(mac, "%s.%s.%s", id, at, h.bodies[i])
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("Webhook-Signature") != want {
			t.Errorf("signed %s, want %s", r.Header.Get("Webhook-Signature"), want)
		}
		if id == "" || id != h.got[0].Header.Get("Webhook-Id") || r.Header.Get("Idempotency-Key") != id || r.URL.Path != "/in/x" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
	}
	var body struct {
		Type string
		Data struct {
			Run   int
			Steps []struct {
				Step     string
				ExitCode int `json:"exit_code"`
			}
		}
	}
	if err := json.Unmarshal(h.bodies[0], &body); err != nil || body.Type != "run.failed" ||
		body.Data.Run != 1 || body.Data.Steps[0].ExitCode != 1 {
		t.Errorf("%v: %s", err, h.bodies[0])
	}
}

// A rule is tried by a message that goes the way of all others, by an instance, and says what it is.
func TestNotices_ATestOfARuleArrives(t *testing.T) {
	t.Parallel()
	e := setup(t)
	h := &hooks{}
	server := httptest.NewServer(h)
	defer server.Close()
	e.serve(shAgent + "notifications: {webhooks: [\"" + server.URL + "/\"]}\n")
	id := strings.TrimSpace(e.ok("workflow", "notify", "add", "--webhook", server.URL+"/x"))
	message := strings.TrimSpace(e.ok("workflow", "notify", "test", id))
	e.eventually("it is sent", "select status = 'sent' from bellhop.notice where id::text = $1", message)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.bodies) != 1 {
		t.Fatalf("%d posts", len(h.bodies))
	}
	has(t, string(h.bodies[0]), `"type":"run.test"`, `"subject":"bellhop: test of rule `+id+`"`, "nothing has run", "asked for by ")
}

// A command is one of those that the configuration names, and gets the message as JSON; one that only the database
// names is not run, and waits visibly. A template that cannot be filled in keeps nobody from being told.
func TestNotices_CommandIsOneOfTheConfiguration(t *testing.T) {
	t.Parallel()
	e := setup(t)
	told := e.script("told.sh", "cat > $DIR/told; echo $BELLHOP_MESSAGE_ID > $DIR/id; env > $DIR/env")
	e.env = []string{"SECRET_OF_THE_INSTANCE=1"}
	e.serve(shAgent + "notifications: {commands: {page: [" + told + "]}, subject: \"{{.Workflow}} {{.State}}\", text: \"{{index .Steps 99}}\"}\n")
	e.file("w.yaml", "workflow: w\nsteps: [{name: a, type: sh, args: \"exit 1\"}]\n"+
		"notify: [{command: [page]}, {command: [\"touch\", \""+e.dir+"/never\"]}, {mail: [ops@example.org]}]\n", 0o600)
	r := e.run("workflow", "apply", filepath.Join(e.dir, "w.yaml"))
	has(t, r.stderr, "warning", "no running instance runs commands of the database", "no running instance sends mail")
	e.run("workflow", "run", "w", "--wait")
	e.eventually("it is told", "select exists (select from bellhop.notice where status = 'sent' and needs = 'command:page')")
	text := strings.Join(e.lines("told"), "\n")
	has(t, text, `"type":"run.failed"`, `"subject":"w failed"`, "could not be filled in", "Workflow w failed")
	if id := e.lines("id"); len(id) != 1 || id[0] != value[string](e, "select message::text from bellhop.notice where needs = 'command:page'") {
		t.Errorf("its id was %q", id)
	}
	if strings.Contains(strings.Join(e.lines("env"), "\n"), "SECRET_OF") {
		t.Error("the command got the instance's environment")
	}
	has(t, e.ok("workflow", "notify", "messages"), "no running instance runs commands of the database", "no running instance sends mail")
	if e.lines("never") != nil || value[int](e, "select count(*) from bellhop.notice where status = 'waiting' and tries = 0") != 2 {
		t.Error("what nobody may send was tried")
	}
}

// The page that tells of messages is tried as it stands there.
func TestNotificationsDoc_MailsWhenItFailed(t *testing.T) {
	t.Parallel()
	e := setup(t)
	port := e.smtp()
	page, err := os.ReadFile("../docs/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string) (text string) {
		_, rest, _ := strings.Cut(string(page), "```"+kind+"\n")
		text, after, _ := strings.Cut(rest, "```")
		page = []byte(after)
		return text
	}
	config := strings.ReplaceAll(block("yaml"), "smtp://mail.example.org:25", "smtp://127.0.0.1:"+port)
	e.serve(config)
	e.file("nightly.yaml", block("yaml"), 0o600)
	script := block("sh")
	cmd := exec.Command("bash", "-e", "-c", script)
	cmd.Dir = e.dir
	cmd.Env = append(environment(e.dir), "DATABASE_URL="+e.url)
	cmd.Env[0] = "PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	has(t, string(out), "nightly created (version 1)")
	m := e.mails(1)[0]
	has(t, m.Text, "Step convert failed")
	has(t, e.ok("workflow", "notify", "messages"), "ops@example.org")
}
