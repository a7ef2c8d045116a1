package dial

import (
	"errors"
	"strings"
	"testing"
)

// What psql takes leads to the same server, and nothing of it reaches the server as a setting that it does not know.
func TestWords_OfLibpq(t *testing.T) {
	t.Parallel()
	const at = "postgres://me@h.example:5433/d?"
	for _, c := range []struct{ url, problem string }{
		{at + "gssencmode=disable&keepalives=1&keepalives_idle=30&keepalives_interval=5&keepalives_count=3", ""},
		{at + "load_balance_hosts=random&fallback_application_name=shop&tcp_user_timeout=5000", ""},
		{at + "ssl_min_protocol_version=TLSv1.2&ssl_max_protocol_version=TLSv1.3&sslcompression=0", ""},
		{at + "target_session_attrs=read-write&channel_binding=prefer&connect_timeout=3", ""},
		{at + "pool_max_conns=10&pool_max_conn_lifetime=1h", ""},
		{at + "search_path=x&statement_timeout=5s&my.setting=1", ""},
		{"host=h.example port=5433 user=me dbname=d gssencmode=prefer", ""},
		{at + "gssencmode=require", "gssencmode=require"},
		{at + "sslcrl=/etc/crl.pem", "sslcrl=/etc/crl.pem"},
		{at + "requirepeer=postgres", "requirepeer=postgres"},
		{at + "keepalives_idle=soon", "keepalives_idle=soon"},
		{at + "keepalives_often=1", "keepalives_often"},
		{at + "load_balance_hosts=yes", "load_balance_hosts=yes"},
		{at + "ssl_min_protocol_version=SSLv3", "ssl_min_protocol_version=SSLv3"},
		{"jdbc:postgresql://h.example:5433/d?user=me", "leave out \"jdbc:\""},
		{"mysql://h.example/d?user=me", "not a scheme of PostgreSQL"},
		{"postgresql+psycopg2://h.example/d?user=me", "not a scheme of PostgreSQL"},
		{"h.example/d?user=me", "neither a word of libpq nor a setting"},
	} {
		config, err := Way{URL: c.url}.Config()
		var unfit *Unfit
		switch {
		case c.problem != "":
			if !errors.As(err, &unfit) || !strings.Contains(err.Error(), c.problem) {
				t.Errorf("%s: %v, not a problem with %s", c.url, err, c.problem)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", c.url, err)
			continue
		case config.Host != "h.example" || config.Port != 5433 || config.Database != "d" || config.User != "me":
			t.Errorf("%s leads to %s@%s:%d/%s", c.url, config.User, config.Host, config.Port, config.Database)
		}
		for name := range config.RuntimeParams {
			switch name {
			case "application_name", "search_path", "statement_timeout", "my.setting":
			default:
				t.Errorf("%s: the server is told %s", c.url, name)
			}
		}
	}
}

func TestWords_ANameToFallBackOn(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://h/d?fallback_application_name=shop":                       "shop",
		"postgres://h/d?fallback_application_name=shop&application_name=till": "till",
	} {
		config, err := Way{URL: url}.Config()
		if err != nil || config.RuntimeParams["application_name"] != want {
			t.Errorf("%s: called %v, %v", url, config.RuntimeParams, err)
		}
	}
}

// Each of several servers is reached under its own name and port, with all else that the user wrote.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url  string
		want []string // host:port@addr
	}{
		{"postgres://me:p?w@a:1,b:2/d", []string{"a:1", "b:2"}},
		{"postgres://me@a,b/d?sslmode=prefer", []string{"a:5432", "b:5432"}},
		{"postgres://me@/d?host=%2Ftmp%2Fx&port=7", []string{"/tmp/x:7"}},
		{"host=a,b port=1,2 user=me dbname=d", []string{"a:1", "b:2"}},
		{"host='/tmp/it''s',b user=me dbname=d", nil},
		{`host='/tmp/it\'s,b' port=3 user=me dbname=d`, []string{"/tmp/it's:3", "b:3"}},
		{"postgres://me@a,b/d?hostaddr=10.0.0.1,10.0.0.2", []string{"a:5432@10.0.0.1", "b:5432@10.0.0.2"}},
		{"postgres://me@a,b/d?hostaddr=10.0.0.1", nil},
		{"hostaddr=10.0.0.1 user=me dbname=d host=/tmp", []string{"10.0.0.1:5432@10.0.0.1"}},
		{"postgres://me@[::1]:5,[::2]:6/d", []string{"[::1]:5", "[::2]:6"}},
	} {
		servers, err := Way{URL: c.url}.servers()
		if (err != nil) != (c.want == nil) {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		var got []string
		for _, s := range servers {
			config, err := parse(s.url)
			if err != nil {
				t.Errorf("%s: %s: %v", c.url, s.url, err)
				continue
			}
			if config.User != "me" || config.Database != "d" {
				t.Errorf("%s: %s@…/%s", s.url, config.User, config.Database)
			}
			at := address(config)
			if s.addr != "" {
				at += "@" + s.addr
			}
			got = append(got, at)
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%s: %q, not %q", c.url, got, c.want)
		}
	}
}
