package workflow

import (
	"testing"

	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
)

func TestStarts_SaysHowFarASensorIsBehind(t *testing.T) {
	t.Parallel()
	d := workflow.Definition{Sensor: &workflow.Sensor{Kafka: "main", Topic: "uploads"}}
	at, sees := scheduler.InstanceID(3), "instance 3 watches it"
	none, one, many := int64(0), int64(1), int64(1200)
	for _, c := range []struct {
		lag  *int64
		want string
	}{{nil, sees}, {&none, sees + ", and has read all"}, {&one, sees + ", and is 1 message behind"},
		{&many, sees + ", and is 1200 messages behind"}} {
		if got := starts(d, view.WorkflowRow{Active: true, Instance: &at, Lag: c.lag}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
