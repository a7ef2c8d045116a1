package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"bellhop/config"
	"bellhop/courier"
	"bellhop/scheduler/notice"
	"bellhop/sql/store"
)

// tells is what this instance can send, as rules need it (notice.Letter).
func tells(c config.Config) []string {
	list := []string{string(notice.Webhook)}
	if c.SMTP.URL != "" {
		list = append(list, string(notice.Mail))
	}
	for name := range c.Notifications.Commands {
		list = append(list, notice.Needs([]string{name}))
	}
	if c.CommandsFromDatabase != nil && *c.CommandsFromDatabase {
		list = append(list, notice.AnyCommand)
	}
	slices.Sort(list)
	return list
}

// newCourier makes what sends messages, of the configuration.
func newCourier(c config.Config, o *store.Outgoing, log *slog.Logger) (*courier.Courier, error) {
	n := c.Notifications
	hooks := courier.Webhooks{Allow: n.Webhooks, Now: time.Now}
	if n.SecretFile != "" {
		text, err := os.ReadFile(n.SecretFile)
		if err == nil {
			hooks.Secret, err = courier.ReadSecret(text)
		}
		if err != nil {
			return nil, fmt.Errorf("notifications.secret_file %s: %w", n.SecretFile, err)
		}
	}
	senders := map[notice.Channel]courier.Sender{
		notice.Webhook: hooks,
		notice.Command: courier.Commands{
			Named: n.Commands, Any: c.CommandsFromDatabase != nil && *c.CommandsFromDatabase,
		},
	}
	if c.SMTP.URL != "" {
		server, err := mailServer(c.SMTP)
		if err != nil {
			return nil, err
		}
		senders[notice.Mail] = server
	}
	return &courier.Courier{Outbox: o, Ends: o, Senders: senders, Words: n.Words, Log: log}, nil
}

func mailServer(s config.SMTP) (courier.SMTP, error) {
	server := courier.SMTP{URL: s.URL, From: s.From, TLS: s.TLS, CA: s.CAFile}
	if s.PasswordFile == "" {
		return server, nil
	}
	text, err := os.ReadFile(s.PasswordFile)
	if err != nil {
		return server, fmt.Errorf("smtp.password_file: %w", err)
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.User == nil {
		return server, errors.New("smtp.password_file: smtp.url has no user for this password")
	}
	u.User = url.UserPassword(u.User.Username(), strings.TrimRight(string(text), "\r\n"))
	server.URL = u.String()
	return server, nil
}
