package page

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellhop/config"
	"bellhop/scheduler/notice"
	flow "bellhop/scheduler/workflow"
	"bellhop/sql/view"
	"bellhop/verb"
)

// noticesMost is how many messages a page lists.
const noticesMost = 50

type notificationsData struct {
	Rules    []ruleRow
	Messages []messageRow
	Form     ruleRow // what the form has: a rule that is to be changed, or an empty one
	States   []string
}

// messageRow is a message of how a run ended.
type messageRow struct{ view.NoticeRow }

// Made is when it was written, and Waits whether it is still to be sent.
func (m messageRow) Made() *time.Time { return &m.At }
func (m messageRow) Waits() bool      { return m.Status == "waiting" }

// ruleRow is a notification rule, with what a page says of it.
type ruleRow struct{ view.NoticeRuleRow }

// notifications lists the rules, in addition to those in definitions: readers do not see addresses.
func notifications(r *request) (content, error) {
	empty := view.NoticeRuleRow{Statuses: []string{"failed"}, Active: true}
	d := notificationsData{States: flow.RunStates, Form: ruleRow{empty}}
	if !r.may.Operates {
		return content{Title: "Notifications", Template: "notifications", Data: d}, nil
	}
	rules, err := r.Look.NoticeRules(r)
	if err != nil {
		return content{}, err
	}
	for _, rule := range rules {
		row := ruleRow{rule}
		d.Rules = append(d.Rules, row)
		if strconv.FormatInt(rule.ID, 10) == r.query.Get("rule") && row.Typable() {
			d.Form = row
		}
	}
	messages, err := r.Look.Notices(r, nil, nil, nil, noticesMost)
	for _, m := range messages {
		d.Messages = append(d.Messages, messageRow{m})
	}
	return content{Title: "Notifications", Template: "notifications", Data: d}, err
}

// Tells reports whether it tells of runs that end so.
func (r ruleRow) Tells(state string) bool { return slices.Contains(r.Statuses, state) }

// Typable reports whether a form gives back what it is shown: not an argument with a blank, or what does not print.
func (r ruleRow) Typable() bool {
	form := url.Values{"project": {clean(r.Project)}, "prefix": {clean(r.Prefix)}, "status": r.Statuses,
		"mail": {r.Mails()}, "webhook": {clean(r.Webhook)}, "command": {r.Words()}, "within": {r.Within()}}
	back, err := ruleOf(form)
	return err == nil && back.Project == r.Project && back.Prefix == r.Prefix && slices.Equal(back.Mail, r.Mail) &&
		(r.Webhook == nil || back.Webhook == *r.Webhook) && slices.Equal(back.Command, r.Command)
}

// Which are the workflows that it is for, in words.
func (r ruleRow) Which() string {
	var parts []string
	if r.Prefix != "" {
		parts = append(parts, r.Prefix+"…")
	}
	if r.Project != "" {
		parts = append(parts, "of "+r.Project)
	}
	if len(parts) == 0 {
		return "every workflow"
	}
	return clean(strings.Join(parts, " "))
}

// Within is how long ago another run may have succeeded, as it is typed.
func (r ruleRow) Within() string {
	if r.UnlessSuccessWithin == nil {
		return ""
	}
	text := (time.Duration(*r.UnlessSuccessWithin) * time.Millisecond).String()
	if short, is := strings.CutSuffix(text, "m0s"); is {
		text = short + "m"
	}
	if short, is := strings.CutSuffix(text, "h0m"); is {
		text = short + "h"
	}
	return text
}

// Mails and Words are its addresses and its command, as they are typed.
func (r ruleRow) Mails() string { return clean(strings.Join(r.Mail, ", ")) }
func (r ruleRow) Words() string { return clean(strings.Join(r.Command, " ")) }

// ruleOf is the rule of a form.
func ruleOf(form url.Values) (r notice.Rule, err error) {
	r = notice.Rule{
		Project: strings.TrimSpace(form.Get("project")),
		Prefix:  strings.TrimSpace(form.Get("prefix")),
		When:    form["status"],
		Mail:    strings.FieldsFunc(form.Get("mail"), func(c rune) bool { return strings.ContainsRune(", ;\t\r\n", c) }),
		Webhook: strings.TrimSpace(form.Get("webhook")),
		Command: strings.Fields(form.Get("command")),
	}
	if len(r.When) == 0 {
		r.When = []string{"failed"}
	}
	const title = "The rule is not valid"
	if text := strings.TrimSpace(form.Get("within")); text != "" {
		if r.UnlessSuccessWithin, err = time.ParseDuration(text); err != nil {
			return r, unfit{title, "unless one has succeeded within: “" + clean(text) + "” is not a time such as 90m or 1h"}
		}
	}
	if err := config.CheckRule(r); err != nil {
		return r, unfit{title, err.Error()}
	}
	return r, nil
}

// ruleIn reads a rule that is to be; one that is there must not have been changed since the form was made.
func ruleIn(form url.Values, in *verb.In) (err error) {
	active := form.Get("active") != ""
	in.Active = &active
	if n, err := strconv.Atoi(form.Get("version")); err == nil {
		in.Version = &n
	}
	in.Rule, err = ruleOf(form)
	return err
}
