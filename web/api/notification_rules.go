package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"bellhop/config"
	"bellhop/scheduler/notice"
	"bellhop/sql/view"
	"bellhop/verb"
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
	return &verb.Missing{Thing: verb.Rule, Name: strconv.FormatInt(w.ID, 10)}
}

func (w RuleWord) row(ctx context.Context, l view.Look) (view.NoticeRuleRow, error) {
	list, err := l.NoticeRules(ctx)
	for _, r := range list {
		if r.ID == w.ID {
			return r, err
		}
	}
	if err == nil {
		err = w.missing()
	}
	return view.NoticeRuleRow{}, err
}

func ruleOp(method, path, summary string, errors ...int) huma.Operation {
	return operation(method, "/notification-rules"+path, operator, "workflows", summary, errors...)
}

// notificationRules are the routes of notification rules: readers do not see addresses.
func (a *API) notificationRules() {
	read(a, ruleOp(http.MethodGet, "", "List notification rules, except those in definitions"),
		func(ctx context.Context, l view.Look, _ *struct{}) ([]view.NoticeRuleRow, error) {
			return l.NoticeRules(ctx)
		})
	read(a, ruleOp(http.MethodGet, "/{id}", "Show a rule", http.StatusNotFound),
		func(ctx context.Context, l view.Look, in *RuleWord) (view.NoticeRuleRow, error) {
			return in.row(ctx, l)
		})
	op := doing("rule")
	op.DefaultStatus = http.StatusCreated
	change(a, op, func(ctx context.Context, l view.Look, in *madeRule) (*body[view.NoticeRuleRow], error) {
		return in.Body.write(ctx, l, "rule", verb.In{})
	})
	change(a, doing("rule edit", http.StatusNotFound),
		func(ctx context.Context, l view.Look, in *changedRule) (*body[view.NoticeRuleRow], error) {
			out := verb.In{ID: in.ID}
			if in.Version > 0 {
				out.Version = &in.Version
			}
			return in.Body.write(ctx, l, "rule edit", out)
		})
	type deleted struct {
		ID      int64 `json:"id"`
		Changed bool  `json:"changed"`
	}
	change(a, doing("unrule", http.StatusNotFound),
		func(ctx context.Context, l view.Look, in *RuleWord) (*body[deleted], error) {
			out, err := verb.Do(ctx, l, "unrule", verb.In{ID: in.ID})
			return &body[deleted]{deleted{in.ID, out.Changed}}, err
		})
	change(a, doing("ruletest", http.StatusNotFound),
		func(ctx context.Context, l view.Look, in *RuleWord) (*body[Tested], error) {
			out, err := verb.Do(ctx, l, "ruletest", verb.In{ID: in.ID})
			return &body[Tested]{Tested{out.Messages}}, err
		})
	a.notifications()
}

type madeRule struct{ Body NoticeRule }

type changedRule struct {
	RuleWord
	Version int `query:"version" minimum:"0" doc:"Change it only if it has this version"`
	Body    NoticeRule
}

// write adds the rule, or puts it in the place of another.
func (n NoticeRule) write(ctx context.Context, l view.Look, name string, in verb.In) (
	_ *body[view.NoticeRuleRow], err error,
) {
	in.Active = n.Active
	if in.Rule, err = n.rule(); err != nil {
		return nil, err
	}
	out, err := verb.Do(ctx, l, name, in)
	if err != nil {
		return nil, err
	}
	row, err := RuleWord{out.ID}.row(ctx, l)
	return &body[view.NoticeRuleRow]{row}, err
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
		func(ctx context.Context, l view.Look, in *which) ([]view.NoticeRow, error) {
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
