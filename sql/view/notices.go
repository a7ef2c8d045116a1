package view

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"bellhop/scheduler"
	"bellhop/scheduler/notice"
	"bellhop/sql"
)

var (
	lookNoticeRulesSQL  = sql.Query("look_notice_rules")
	lookNoticeAddSQL    = sql.Query("look_notice_add")
	lookNoticeChangeSQL = sql.Query("look_notice_change")
	lookNoticeTestSQL   = sql.Query("look_notice_test")
	lookNoticeDeleteSQL = sql.Query("look_notice_delete")
	lookNoticeAgainSQL  = sql.Query("look_notice_again")
	lookNoticesSQL      = sql.Query("look_notices")
	lookTellsSQL        = sql.Query("look_tells")
)

// NoticeRuleRow is a notification rule of runs.
type NoticeRuleRow struct {
	ID                  int64     `json:"id"`
	Project             string    `json:"project"`
	Prefix              string    `json:"prefix"`
	Statuses            []string  `json:"statuses"`
	UnlessSuccessWithin *int64    `json:"unless_success_within"` // ms
	Mail                []string  `json:"mail"`
	Webhook             *string   `json:"webhook"`
	Command             []string  `json:"command"`
	Active              bool      `json:"active"`
	Version             int32     `json:"version"`
	ChangedAt           time.Time `json:"changed_at"`
	ChangedBy           string    `json:"changed_by"`
}

// NoticeRow is a message of how a run has ended.
type NoticeRow struct {
	ID       int64                 `json:"id"`
	Message  string                `json:"message"`
	Run      int64                 `json:"run"`
	Workflow string                `json:"workflow"`
	State    string                `json:"state"`
	Channel  notice.Channel        `json:"channel"`
	Target   string                `json:"target"`
	Status   string                `json:"status"`
	Tries    int                   `json:"tries"`
	At       time.Time             `json:"at"`
	NextAt   *time.Time            `json:"next_at"`
	Until    time.Time             `json:"until"`
	Instance *scheduler.InstanceID `json:"instance"`
	SentAt   *time.Time            `json:"sent_at"`
	Error    *string               `json:"error"`
	Needs    string                `json:"needs"`
	Can      bool                  `json:"can"` // some live instance is able to send it
}

// MessagesRow is how messages of the last day went that are sent in one way.
type MessagesRow struct {
	Channel notice.Channel
	Failing int64 // they wait after a failed try
	GivenUp int64
	Sent    int64
}

var lookMessagesSQL = sql.Query("look_messages")

// Messages gives how messages went lately.
func (l Look) Messages(ctx context.Context) ([]MessagesRow, error) {
	return collect[MessagesRow](ctx, l.db, "count messages", lookMessagesSQL)
}

// NoticeRules lists the notification rules, without those in definitions.
func (l Look) NoticeRules(ctx context.Context) ([]NoticeRuleRow, error) {
	return collect[NoticeRuleRow](ctx, l.db, "list rules", lookNoticeRulesSQL)
}

// AddNoticeRule writes a rule, which is active or not yet, and gives its id.
func (l Look) AddNoticeRule(ctx context.Context, r notice.Rule, active bool) (id int64, err error) {
	return value[int64](ctx, l.db, "add a rule", lookNoticeAddSQL, append(ruleArgs(r), active)...)
}

// ChangeNoticeRule says what a rule is from now on, and whether it is active (nil: as it was). With a version it is
// refused where the rule has another one. False: there is none.
func (l Look) ChangeNoticeRule(ctx context.Context, id int64, r notice.Rule, active *bool, version *int) (
	is bool, err error) {
	args := append(append([]any{id}, ruleArgs(r)...), active, version)
	return value[bool](ctx, l.db, "change a rule", lookNoticeChangeSQL, args...)
}

func ruleArgs(r notice.Rule) []any {
	var within *int64
	if r.UnlessSuccessWithin > 0 {
		ms := r.UnlessSuccessWithin.Milliseconds()
		within = &ms
	}
	return []any{r.Project, r.Prefix, r.When, sql.ListOrEmpty(r.Mail), r.Webhook, sql.ListOrEmpty(r.Command), within}
}

// TestNoticeRule has messages sent that say they are a test, and gives their ids; nil: there is no such rule.
func (l Look) TestNoticeRule(ctx context.Context, id int64) (messages []int64, err error) {
	return value[[]int64](ctx, l.db, "test a rule", lookNoticeTestSQL, id)
}

// DeleteNoticeRule deletes a rule; false: there was none.
func (l Look) DeleteNoticeRule(ctx context.Context, id int64) (was bool, err error) {
	return value[bool](ctx, l.db, "delete a rule", lookNoticeDeleteSQL, id)
}

// SendAgain has a message sent that was given up, or waits; nil: there is no such message.
func (l Look) SendAgain(ctx context.Context, id int64) (was *string, err error) {
	return value[*string](ctx, l.db, "send again", lookNoticeAgainSQL, id)
}

// Notices lists messages, the latest first: of statuses (nil: all), a workflow, a run (nil: of all).
func (l Look) Notices(ctx context.Context, statuses []string, workflow *string, run *int64, most int) (
	[]NoticeRow, error) {
	return collect[NoticeRow](ctx, l.db, "list messages", lookNoticesSQL, statuses, workflow, run, most)
}

// Tells gives what live instances can send, and how many of them there are.
func (l Look) Tells(ctx context.Context) (can []string, instances int, err error) {
	rows, err := l.db.Query(ctx, lookTellsSQL)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&can, &instances}, func() error { return nil })
	}
	if err != nil {
		return nil, 0, fmt.Errorf("see what instances can send: %w", err)
	}
	return can, instances, nil
}
