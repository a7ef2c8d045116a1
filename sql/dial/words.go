package dial

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Unfit is something in a URL that is not obeyed, and must not be passed over.
type Unfit struct{ Word, Why string }

func (u *Unfit) Error() string { return fmt.Sprintf("%s in the database's URL: %s", u.Word, u.Why) }

// ours are the beginnings of a URL. What has another scheme is not taken for keywords, as pgx does: it would lead to
// the server that PG* variables name.
var (
	ours    = regexp.MustCompile(`^postgres(ql)?://`)
	foreign = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9+.:-]*)://`)
	setting = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$`)
)

// parse reads what the user wrote. An error does not quote it: there may be a password in it.
func parse(text string) (*pgx.ConnConfig, error) {
	if !ours.MatchString(text) {
		if m := foreign.FindStringSubmatch(text); m != nil && !strings.Contains(m[1], "=") {
			why := "it is not a scheme of PostgreSQL: write postgresql://user@host:5432/database"
			if strings.HasPrefix(strings.ToLower(m[1]), "jdbc:") {
				why = "that is how Java writes it: leave out \"jdbc:\", and put user and password before the host, " +
					"as in postgresql://user:password@host:5432/database"
			}
			return nil, &Unfit{m[1] + "://", why}
		}
	}
	return pgx.ParseConfig(text)
}

// narrowed is the text of a URL, or keywords, for one of its servers. Of a word that is said twice the last counts.
func narrowed(text, host string, port uint16) string {
	if !ours.MatchString(text) {
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(host)
		return fmt.Sprintf("%s host='%s' port='%d'", text, quoted, port)
	}
	_, rest, _ := strings.Cut(text, "://")
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' { // a password may hold a question mark
		rest = rest[i+1:]
	}
	joint := "?"
	if strings.Contains(rest, "?") {
		joint = "&"
	}
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, "&") {
		joint = ""
	}
	escaped := strings.ReplaceAll(url.QueryEscape(host), "+", "%20")
	return text + joint + "host=" + escaped + "&port=" + strconv.Itoa(int(port))
}

// words are those of libpq that pgx takes for settings of the server, which does not know them.
type words struct {
	called  string   // fallback_application_name
	addrs   []string // hostaddr
	balance bool     // load_balance_hosts
	probe   *net.KeepAliveConfig
}

// harmless are words that change nothing here, with these values (nil: with any).
var harmless = map[string][]string{
	"gssencmode":       {"disable", "prefer"}, // pgx does not encrypt by GSSAPI, as libpq where it was built without
	"gsslib":           nil,
	"gssdelegation":    {"0"},
	"sslcompression":   nil, // no server has it any more
	"requiressl":       {"0"},
	"tcp_user_timeout": nil, // each statement is bounded here, and more closely
	"client_encoding":  nil, // always UTF8
	"replication":      {"", "0", "false", "off", "no"},
	"requirepeer":      {""}, "sslcrl": {""}, "sslcrldir": {""}, "sslkeylogfile": {""},
	"scram_client_key": {""}, "scram_server_key": {""},
	"oauth_issuer": {""}, "oauth_client_id": {""}, "oauth_client_secret": {""}, "oauth_scope": {""},
}

// pools begins the words of pgx's pool, which a program has read already.
const pools = "pool_"

// takeWords takes libpq's words out of the server's settings, and obeys them. What it cannot obey, and would matter,
// is an error.
func takeWords(config *pgx.ConnConfig) (w words, err error) {
	for name, value := range config.RuntimeParams {
		allowed, known := harmless[name]
		switch {
		case known && allowed == nil, known && contains(allowed, value), strings.HasPrefix(name, pools):
		case known:
			return w, &Unfit{name + "=" + value, "bellhop does not know how; leave it out"}
		case name == "fallback_application_name":
			w.called = value
		case name == "hostaddr":
			w.addrs = strings.Split(value, ",")
		case name == "load_balance_hosts":
			w.balance = value == "random"
			if !w.balance && value != "disable" {
				return w, &Unfit{name + "=" + value, "it is random or disable"}
			}
		case strings.HasPrefix(name, "keepalives"):
			if w.probe, err = probed(w.probe, name, value); err != nil {
				return w, err
			}
		case name == "ssl_min_protocol_version", name == "ssl_max_protocol_version":
			if err := boundTLS(config, name, value); err != nil {
				return w, err
			}
		case !setting.MatchString(name):
			return w, &Unfit{fmt.Sprintf("%q", name), "it is neither a word of libpq nor a setting of the server"}
		default:
			continue // the server knows
		}
		if name != "client_encoding" {
			delete(config.RuntimeParams, name)
		}
	}
	return w, nil
}

func contains(list []string, value string) bool {
	for _, v := range list {
		if v == value {
			return true
		}
	}
	return false
}

// probed is how TCP tries a silent line. Times are whole seconds.
func probed(p *net.KeepAliveConfig, name, value string) (*net.KeepAliveConfig, error) {
	n, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || n < 0 {
		return nil, &Unfit{name + "=" + value, "it is a whole number"}
	}
	if p == nil {
		p = &net.KeepAliveConfig{Enable: true}
	}
	switch name {
	case "keepalives":
		p.Enable = n != 0
	case "keepalives_idle":
		p.Idle = time.Duration(n) * time.Second // 0: the system's
	case "keepalives_interval":
		p.Interval = time.Duration(n) * time.Second
	case "keepalives_count":
		p.Count = n
	default:
		return nil, &Unfit{name, "libpq has no such word"}
	}
	return p, nil
}

func (w words) keepAlive(config *pgx.ConnConfig) {
	if w.probe == nil {
		return
	}
	dialer := net.Dialer{KeepAliveConfig: *w.probe, Timeout: config.ConnectTimeout}
	if !w.probe.Enable {
		dialer.KeepAlive = -1
	}
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, addr)
	}
}

var versionsTLS = map[string]uint16{
	"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13,
}

func boundTLS(config *pgx.ConnConfig, name, value string) error {
	version, known := versionsTLS[value]
	if value != "" && !known {
		return &Unfit{name + "=" + value, "it is TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3"}
	}
	set := func(c *tls.Config) {
		switch {
		case c == nil || value == "":
		case name == "ssl_min_protocol_version":
			c.MinVersion = version
		default:
			c.MaxVersion = version
		}
	}
	set(config.TLSConfig)
	for _, f := range config.Fallbacks {
		set(f.TLSConfig)
	}
	return nil
}
