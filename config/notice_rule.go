package config

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"

	"bellhop/scheduler/grammar"
	"bellhop/scheduler/notice"
)

// CheckRule says what cannot be right of a rule that stands beside definitions: the same as of those in them.
func CheckRule(r notice.Rule) error {
	for _, state := range r.When {
		if wrong, hint := grammar.Notice.Field("when").Text(state); wrong != "" {
			return fmt.Errorf("when: %s; %s", wrong, hint)
		}
	}
	for _, to := range r.Mail {
		if _, err := mail.ParseAddress(to); err != nil {
			return fmt.Errorf("mail: %q is not a valid address", to)
		}
	}
	switch {
	case len(r.Mail)+len(r.Command) == 0 && r.Webhook == "":
		return errors.New("it names no recipient: it takes mail, webhook or command")
	case r.UnlessSuccessWithin < 0:
		return errors.New("unless_success_within is below 0")
	case r.Webhook != "":
		return checkWebURL("webhook", r.Webhook)
	}
	return nil
}

// checkWebURL says why a text is not a URL that can be posted to and may be shown to every reader of the rule.
func checkWebURL(at, text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%s: %q is not a valid URL", at, text)
	case u.User != nil:
		return fmt.Errorf("%s: there is a password in it, which every reader of the rule would see", at)
	}
	return nil
}
