package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/config"
	"bellhop/scheduler/notice"
	"bellhop/sql/store"
)

// NoticeRule says which receivers are told how runs of workflows end, in addition to those that definitions name.
type NoticeRule struct {
	Project             string   `json:"project,omitempty"                                   maxLength:"1000" doc:"Runs of this project; none: of every project"`
	Prefix              string   `json:"prefix,omitempty"                                    maxLength:"1000" doc:"Runs of workflows whose names begin so, whatever the case; none: of every workflow"`
	Statuses            []string `json:"statuses,omitempty"              maxItems:"3"                         doc:"Outcomes of the run; none: failed"                                                enum:"succeeded,failed,skipped"`
	UnlessSuccessWithin int64    `json:"unless_success_within,omitempty"                                      doc:"Milliseconds: no message if another run of the workflow succeeded within this time before" minimum:"0"                     maximum:"31536000000"`
	Mail                []string `json:"mail,omitempty"                  maxItems:"100"                       doc:"Addresses"`
	Webhook             string   `json:"webhook,omitempty"                                   maxLength:"2000" doc:"The URL to post messages to"`
	Command             []string `json:"command,omitempty"               maxItems:"100"                       doc:"The name of a command in bellhop.yaml"`
	Active              *bool    `json:"active,omitempty"                                                     doc:"Whether the rule sends messages; none: true for a new rule, unchanged for another"`
}

func (n NoticeRule) rule() (notice.Rule, error) {
	r := notice.Rule{
		Project: n.Project, Prefix: n.Prefix, When: n.Statuses, Mail: n.Mail, Webhook: n.Webhook, Command: n.Command,
		UnlessSuccessWithin: time.Duration(n.UnlessSuccessWithin) * time.Millisecond,
	}
	if len(r.When) == 0 {
		r.When = []string{"failed"}
	}
	if err := config.CheckRule(r); err != nil {
		return r, unfit(err.Error())
	}
	words := append(append([]string{r.Project, r.Prefix, r.Webhook}, r.Mail...), r.Command...)
	if strings.ContainsRune(strings.Join(words, ""), 0) {
		return r, unfit("there is a NUL in it, which no text can hold")
	}
	return r, nil
}

// Tested are messages that say they are a test.
type Tested struct {
	Messages []int64 `json:"messages" nullable:"false" doc:"Their ids: bellhop workflow notify messages shows their delivery"`
}

// RuleWord names a rule.
type RuleWord struct {
	ID int64 `path:"id" minimum:"1"`
}

func (w RuleWord) missing() error {
	return refused(http.StatusNotFound, "not_found", "bellhop workflow notify ls", "there is no rule %d", w.ID)
}

func (w RuleWord) row(ctx context.Context, l store.Look) (store.NoticeRuleRow, error) {
	list, err := l.NoticeRules(ctx)
	for _, r := range list {
		if r.ID == w.ID {
			return r, err
		}
	}
	if err == nil {
		err = w.missing()
	}
	return store.NoticeRuleRow{}, err
}

func ruleOp(method, path, summary string, errors ...int) huma.Operation {
	return operation(method, "/notification-rules"+path, operator, "workflows", summary, errors...)
}

// notificationRules are the routes of notification rules: readers do not see addresses.
func (a *API) notificationRules() {
	read(a, ruleOp(http.MethodGet, "", "List notification rules, except those in definitions"),
		func(ctx context.Context, l store.Look, _ *struct{}) ([]store.NoticeRuleRow, error) {
			return l.NoticeRules(ctx)
		})
	read(a, ruleOp(http.MethodGet, "/{id}", "Show a rule", http.StatusNotFound),
		func(ctx context.Context, l store.Look, in *RuleWord) (store.NoticeRuleRow, error) {
			return in.row(ctx, l)
		})
	op := ruleOp(http.MethodPost, "", "Add a rule")
	op.DefaultStatus = http.StatusCreated
	change(a, op, addRule)
	change(a, ruleOp(http.MethodPut, "/{id}", "Replace a rule as a whole", http.StatusNotFound), replaceRule)
	type deleted struct {
		ID      int64 `json:"id"`
		Changed bool  `json:"changed"`
	}
	change(a, ruleOp(http.MethodDelete, "/{id}", "Delete a rule; waiting messages are still sent",
		http.StatusNotFound), func(ctx context.Context, l store.Look, in *RuleWord) (*body[deleted], error) {
		was, err := l.DeleteNoticeRule(ctx, in.ID)
		if err == nil && !was {
			err = in.missing()
		}
		return &body[deleted]{deleted{in.ID, was}}, err
	})
	change(a, ruleOp(http.MethodPost, "/{id}/test", "Send a test message to each recipient of a rule",
		http.StatusNotFound), func(ctx context.Context, l store.Look, in *RuleWord) (*body[Tested], error) {
		ids, err := l.TestNoticeRule(ctx, in.ID)
		if err == nil && ids == nil {
			err = in.missing()
		}
		return &body[Tested]{Tested{ids}}, err
	})
	a.notifications()
}

type madeRule struct{ Body NoticeRule }

func addRule(ctx context.Context, l store.Look, in *madeRule) (*body[store.NoticeRuleRow], error) {
	r, err := in.Body.rule()
	if err != nil {
		return nil, err
	}
	id, err := l.AddNoticeRule(ctx, r, in.Body.Active == nil || *in.Body.Active)
	if err != nil {
		return nil, err
	}
	row, err := RuleWord{id}.row(ctx, l)
	return &body[store.NoticeRuleRow]{row}, err
}

type changedRule struct {
	RuleWord
	Version int `query:"version" minimum:"0" doc:"Change it only if it has this version"`
	Body    NoticeRule
}

func replaceRule(ctx context.Context, l store.Look, in *changedRule) (*body[store.NoticeRuleRow], error) {
	r, err := in.Body.rule()
	if err != nil {
		return nil, err
	}
	var version *int
	if in.Version > 0 {
		version = &in.Version
	}
	is, err := l.ChangeNoticeRule(ctx, in.ID, r, in.Body.Active, version)
	if err == nil && !is {
		err = in.missing()
	}
	if err != nil {
		return nil, err
	}
	row, err := in.row(ctx, l)
	return &body[store.NoticeRuleRow]{row}, err
}

// notifications is the route that lists the messages.
func (a *API) notifications() {
	type which struct {
		Status   []string `query:"status,explode" maxItems:"3" enum:"waiting,sent,given_up" doc:"Repeatable"`
		Workflow string   `query:"workflow" maxLength:"1000" doc:"On runs of this workflow"`
		Run      int64    `query:"run" minimum:"0"`
		Limit    int      `query:"limit" minimum:"1" maximum:"200" default:"50"`
	}
	read(a, operation(http.MethodGet, "/notifications", operator, "workflows", "List messages on ended runs, and their delivery"),
		func(ctx context.Context, l store.Look, in *which) ([]store.NoticeRow, error) {
			var workflow *string
			var run *int64
			if in.Workflow != "" {
				workflow = &in.Workflow
			}
			if in.Run != 0 {
				run = &in.Run
			}
			return l.Notices(ctx, in.Status, workflow, run, in.Limit)
		})
}
