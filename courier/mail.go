package courier

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/wneessen/go-mail"

	"bellhop/scheduler/notice"
)

// SMTP is a mail server, and the sender of our mail.
type SMTP struct {
	URL  string // smtp://[user:password@]host[:25], smtps://host[:465]
	From string
	TLS  string // required, offered (used where the server has it), none; empty: required with a user, else offered
	CA   string // a file of certificates to trust besides the system's; empty: none
}

// Send gives a message to the server.
func (s SMTP) Send(ctx context.Context, to string, m notice.Message) error {
	msg := mail.NewMsg()
	if err := msg.From(s.From); err != nil {
		return fmt.Errorf("smtp.from %s: %w", s.From, err)
	}
	if err := msg.To(to); err != nil {
		return fmt.Errorf("%w: %q is not a valid address: %v", ErrNever, to, err)
	}
	msg.SetMessageIDWithValue(m.ID + "@bellhop")
	msg.SetDateWithValue(m.At)
	msg.Subject(m.Subject)
	msg.SetGenHeader(mail.Header("Auto-Submitted"), "auto-generated") // no answer by a machine
	msg.SetUserAgent("bellhop")
	msg.SetBodyString(mail.TypeTextPlain, m.Text)
	client, err := s.client()
	if err != nil {
		return err
	}
	err = client.DialAndSendWithContext(ctx, msg)
	var refused *mail.SendError
	if errors.As(err, &refused) && !refused.IsTemp() && refused.ErrorCode() >= 500 {
		return fmt.Errorf("%w: %v", ErrNever, err)
	}
	if err != nil {
		return unreached(client.ServerAddr(), err)
	}
	return nil
}

func (s SMTP) client() (*mail.Client, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("smtp.url is not a valid URL") // it may hold a password
	}
	host, port := u.Hostname(), 25
	if u.Scheme == "smtps" {
		port = 465
	}
	if p := u.Port(); p != "" {
		port, _ = strconv.Atoi(p)
	}
	trust := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		pem, err := os.ReadFile(s.CA)
		if err != nil {
			return nil, fmt.Errorf("smtp.ca_file: %w", err)
		}
		if trust.RootCAs, err = x509.SystemCertPool(); err != nil {
			trust.RootCAs = x509.NewCertPool()
		}
		trust.RootCAs.AppendCertsFromPEM(pem)
	}
	options := []mail.Option{mail.WithPort(port), mail.WithTimeout(sending[notice.Mail]), mail.WithTLSConfig(trust),
		mail.WithTLSPolicy(s.policy(u))}
	if u.Scheme == "smtps" {
		options = append(options, mail.WithSSL())
	}
	if name, err := os.Hostname(); err == nil && !strings.ContainsAny(name, " \r\n") {
		options = append(options, mail.WithHELO(name))
	}
	if u.User != nil {
		password, _ := u.User.Password()
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(u.User.Username()),
			mail.WithPassword(password))
	}
	return mail.NewClient(host, options...)
}

// policy says whether the way to the server is to be encrypted: always, where a
// password goes over it to another machine.
func (s SMTP) policy(u *url.URL) mail.TLSPolicy {
	switch {
	case u.Scheme == "smtps", s.TLS == "none":
		return mail.NoTLS // of its own accord: STARTTLS
	case s.TLS == "required":
		return mail.TLSMandatory
	case s.TLS == "" && u.User != nil && !loopback(u.Hostname()):
		return mail.TLSMandatory
	}
	return mail.TLSOpportunistic
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
