package containers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"bellhop/e2e/containers/standin"
	"bellhop/pgdev/pgtest"
)

// stack is docker-compose.yml with stand-ins for its images.
type stack struct {
	t     *testing.T
	line  []string // the compose command
	env   []string
	ports map[string]int
}

func compose(t *testing.T) *stack {
	t.Helper()
	engine(t)
	s := &stack{t: t, env: os.Environ(), ports: map[string]int{}}
	switch {
	case exec.Command("docker", "compose", "version").Run() == nil:
		s.line = []string{"docker", "compose"}
	case exec.Command("docker-compose", "version").Run() == nil:
		s.line = []string{"docker-compose"}
	default:
		t.Skip("SKIPPED: docker is here without compose, so docker-compose.yml is not tested: install docker-compose")
	}
	if err := standin.Stack(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.line = append(s.line, "-p", project(me), "-f", filepath.Join(standin.Root(), "docker-compose.yml"),
		"-f", filepath.Join(standin.Root(), "e2e", "containers", "standins.yml"), "--profile", "metrics")
	for _, name := range []string{"DB_PORT", "BELLHOP_PORT", "JAEGER_PORT", "OTLP_PORT", "PROMETHEUS_PORT"} {
		s.ports[name] = freePort(t)
		s.env = append(s.env, fmt.Sprintf("%s=%d", name, s.ports[name]))
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := s.run(context.Background(), "logs", "--tail", "60")
			t.Logf("the stack said:\n%s", out)
		}
		if out, err := s.run(context.Background(), "down", "-v", "-t", "5"); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	return s
}

func (s *stack) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.line[0], append(s.line[1:len(s.line):len(s.line)], args...)...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ok runs a compose command that must succeed.
func (s *stack) ok(args ...string) string {
	s.t.Helper()
	out, err := s.run(s.t.Context(), args...)
	if err != nil {
		s.t.Fatalf("compose %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(out)
}

// get asks a port of the stack's, and gives code and answer. Nobody there is code 0.
func (s *stack) get(port, path, token string) (int, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet,
		fmt.Sprintf("http://127.0.0.1:%d%s", s.ports[port], path), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = answer.Body.Close() }() // what matters of it has been read
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}

// The stack of the README comes up, and shows one trace from the app's
// transaction to the agent on the other host.
func TestCompose_TheStack(t *testing.T) {
	t.Parallel()
	s := compose(t)
	// Grafana is not there: Debian has no package of it.
	s.ok("up", "-d", "db", "bellhop", "big1", "app", "jaeger", "prometheus")
	if code, text := s.get("BELLHOP_PORT", "/readyz", ""); code != http.StatusOK { // the app waits for it, and so has `up`
		t.Errorf("/readyz: %d %s", code, text)
	}
	const token = "this-token-is-for-play"
	if code, _ := s.get("BELLHOP_PORT", "/metrics", ""); code != http.StatusUnauthorized {
		t.Errorf("/metrics without a token: %d", code)
	}
	for service, want := range map[string]string{"bellhop": "10001", "big1": "10001"} {
		if uid := s.ok("exec", "-T", service, "id", "-u"); uid != want {
			t.Errorf("%s runs as %s", service, uid)
		}
	}

	db, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://bellhop:play@127.0.0.1:%d/bellhop", s.ports["DB_PORT"]))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.Background()) }()
	pgtest.Eventually(t, patience, "an order is invoiced on the other host, in a transaction of its own", func() bool {
		var good bool
		if err := db.QueryRow(t.Context(), `select exists (select from bellhop.jobqueue j join shop.orders o on j.key = 'invoice.' || o.id
			where j.state = 'succeeded' and j.host = 'big1' and j.traceparent is not null)`).Scan(&good); err != nil {
			t.Fatal(err)
		}
		return good
	})

	link := regexp.MustCompile(
		`order \d+ is job \d+: http://localhost:\d+(/trace/([0-9a-f]{32}))`).FindStringSubmatch(s.ok("logs", "app"))
	if link == nil {
		t.Fatal("the app does not say where its trace is")
	}
	want := []string{"shop", "bellhop", "invoices"}
	var services []string
	defer func() { t.Logf("in trace %s: %q", link[2], services) }()
	pgtest.Eventually(t, patience, fmt.Sprintf("the trace has spans of %q", want), func() bool {
		_, text := s.get("JAEGER_PORT", "/api/traces/"+link[2], "")
		var answer struct {
			Data []struct {
				Processes map[string]struct{ ServiceName string }
			}
		}
		services = nil
		if json.Unmarshal([]byte(text), &answer) != nil || len(answer.Data) != 1 {
			return false
		}
		for _, p := range answer.Data[0].Processes {
			services = append(services, p.ServiceName)
		}
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(services, w) })
	})
	if code, _ := s.get("JAEGER_PORT", link[1], ""); code != http.StatusOK { // a placeholder in a build from the module
		t.Errorf("the page of the trace: %d", code)
	}

	if code, _ := s.get("OTLP_PORT", "/v1/traces", ""); code != http.StatusMethodNotAllowed { // it takes POST only
		t.Errorf("the port for spans: %d", code)
	}
	var version string
	if err := db.QueryRow(t.Context(), "show server_version").Scan(&version); err != nil || !strings.HasPrefix(version, "17.") {
		t.Errorf("docker-compose.yml names PostgreSQL 17, and this is %q, %v", version, err)
	}

	if out := s.ok("exec", "-T", "bellhop", "bellhop", "submit", "upper", "hello", "--wait"); !regexp.MustCompile(
		`^\d+$`).MatchString(out) {
		t.Errorf("submit --wait: %q", out)
	}
	t.Run("metrics", func(t *testing.T) {
		code, text := s.get("BELLHOP_PORT", "/metrics", token)
		if code != http.StatusOK {
			t.Fatalf("/metrics: %d %s", code, text)
		}
		// Some of it is told only when there is something to tell.
		s.ok("exec", "-T", "bellhop", "bellhop", "submit", "nobody-knows-this")
		s.ok("exec", "-T", "big1", "sh", "-c", `for p in /proc/[0-9]*; do [ "$(readlink "$p/exe")" != /usr/local/bin/shop ] || kill -9 "${p#/proc/}"; done`)
		for _, name := range drawn(t) {
			pgtest.Eventually(t, patience, "somebody measures "+name+", which the dashboard draws", func() bool {
				_, text := s.get("BELLHOP_PORT", "/metrics", token)
				return strings.Contains(text, "# TYPE "+name+" ")
			})
		}
		pgtest.Eventually(t, patience, "Prometheus reads /metrics", func() bool {
			_, text := s.get("PROMETHEUS_PORT", "/api/v1/query?query=up", "")
			return strings.Contains(text, `"bellhop:8470"`) && strings.Contains(text, `"1"]`)
		})
		alerts := strings.Count(string(read(t, "compose/alerts.yml")), "- alert: Bellhop")
		pgtest.Eventually(t, patience, "Prometheus works all alerts out, and none is raised for no reason", func() bool {
			_, text := s.get("PROMETHEUS_PORT", "/api/v1/rules", "")
			return strings.Count(text, `"name":"Bellhop`) == alerts && strings.Count(text, `"health":"ok"`) == alerts &&
				!strings.Contains(text, `"name":"BellhopNoInstance","state":"firing"`)
		})
	})
}
