package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellhop/pgdev/pgtest"
)

// gateway is an nginx before an instance: TLS, compression of everything, buffering as it is installed.
type gateway struct {
	t    *testing.T
	host string // jobs.example.org:port, which leads nowhere but to it
	port int
	pem  *x509.CertPool
}

// locationOfDocs is what docs/production.md says to write.
func locationOfDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```nginx\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("docs/production.md has no location for nginx")
	}
	return string(m[1])
}

// behindNginx starts one; location is its part that is about this site, and names 127.0.0.1:8470.
func behindNginx(t *testing.T, i *instance, location string) *gateway {
	t.Helper()
	program, err := lookSbin("nginx")
	if err != nil {
		t.Skip("NOT TESTED: pages and API behind nginx; type `apt-get install nginx-light`")
	}
	f := &gateway{t: t, port: freePort(t)}
	f.host = fmt.Sprintf("jobs.example.org:%d", f.port)
	dir := pgtest.Dir(t)
	cert, key := f.certificate(dir)
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`daemon off;
master_process off;
pid %[1]s/pid;
error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fcgi; uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	gzip on; gzip_types *; gzip_proxied any; gzip_min_length 0;
	server {
		listen 127.0.0.1:%[2]d ssl;
		server_name jobs.example.org;
		ssl_certificate %[3]s; ssl_certificate_key %[4]s;
		%[5]s
		location = /outside { return 418; }
	}
}
`, dir, f.port, cert, key, strings.ReplaceAll(location, "127.0.0.1:8470", i.answersAt()))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command(program, "-e", "stderr", "-c", conf)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx said:\n%s", said.String())
		}
	})
	pgtest.Eventually(t, patience, "nginx answers", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", f.port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return f
}

// answersAt is where an instance answers, as it has told the database.
func (i *instance) answersAt() string {
	i.b.t.Helper()
	return value[string](i.b, "select listen from bellhop.instance where id = $1", i.id)
}

// certificate makes one that nobody has signed but itself.
func (f *gateway) certificate(dir string) (certFile, keyFile string) {
	f.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "jobs.example.org"},
		DNSNames:              []string{"jobs.example.org"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		f.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		f.t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		f.t.Fatal(err)
	}
	f.pem = x509.NewCertPool()
	f.pem.AddCert(made)
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// client asks through nginx, keeps cookies and follows no redirect.
func (f *gateway) client() *http.Client {
	f.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	var d net.Dialer
	wire := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: f.pem},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", f.port))
		},
	}
	f.t.Cleanup(wire.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: wire,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
