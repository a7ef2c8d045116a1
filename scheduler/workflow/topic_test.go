package workflow

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// Where a topic is read from, and under which names, whatever has become of it, its cluster and its group.
func TestBegin(t *testing.T) {
	t.Parallel()
	stood := func(id, cluster, mark string, at int64) *Place {
		return &Place{Kafka: "main", Topic: "t", ID: id, Cluster: cluster, Mark: mark, At: map[int32]int64{0: at}}
	}
	for _, c := range []struct {
		why         string
		was         *Place
		id, cluster string
		start, end  int64
		group       int64 // -1: none
		catchUp     CatchUp
		want, told  string // at, and the name of its event
	}{
		{"a new sensor begins at the end", nil, "A", "c", 0, 7, -1, "", "t/0/7@A", ""},
		{"a new one, in a cluster without ids", nil, "", "c", 0, 7, -1, "", "t/0/7", ""},
		{"one of before keeps its names", nil, "A", "c", 0, 7, 5, "", "t/0/5", ""},
		{"it goes on", stood("A", "c", "A", 5), "A", "c", 0, 7, 5, "", "t/0/5@A", ""},
		{"the cluster has forgotten its group", stood("A", "c", "A", 5), "A", "c", 0, 7, -1, "", "t/0/5@A", ""},
		{"its group was put back", stood("A", "c", "A", 5), "A", "c", 0, 7, 3, "", "t/0/3@A", ""},
		{"its group was put forward", stood("A", "c", "A", 5), "A", "c", 0, 7, 6, "", "t/0/6@A", "1 records are passed over"},
		{"made again", stood("A", "c", "A", 5), "B", "c", 0, 7, -1, "", "t/0/0@B.1", "was deleted and made again: reading begins at its start"},
		{"made again, and its group not forgotten", stood("A", "c", "", 5), "B", "c", 2, 7, 5, "", "t/0/2@B.1", "was deleted and made again"},
		{"made again, and nobody wants what was missed", stood("A", "c", "A", 5), "B", "c", 0, 7, 5, CatchUpNone, "t/0/7@B.1", "reading begins at its end"},
		{"ids came with a newer cluster", stood("", "c", "", 5), "A", "c", 0, 7, 5, "", "t/0/5", ""},
		{"made again, in a cluster without ids", stood("", "c", "", 5), "", "c", 0, 3, -1, "", "t/0/0@c.1", "ends before where it was read"},
		{"another cluster without ids", stood("", "c", "", 5), "", "d", 0, 9, -1, "", "t/0/0@d.1", "is in another cluster"},
		{"another cluster with the same topic", stood("A", "c", "A", 5), "A", "d", 0, 9, 5, "", "t/0/5@A", ""},
		{"the cluster was put back", stood("A", "c", "A", 5), "A", "c", 0, 3, 5, "", "t/0/3@A.1", "ends at 3, and was read up to 5"},
		{"one of before, whose group is beyond the end", nil, "A", "c", 0, 3, 5, "", "t/0/0@A.1", "ends before where its group stands"},
		{"retention was quicker", stood("A", "c", "A", 5), "A", "c", 9, 12, 5, "", "t/0/9@A", "4 records of partition 0 were deleted"},
	} {
		seen := TopicSeen{Cluster: c.cluster, ID: c.id, Start: map[int32]int64{0: c.start}, End: map[int32]int64{0: c.end}}
		if c.group >= 0 {
			seen.Group = map[int32]int64{0: c.group}
		}
		s := Sensor{Kafka: "main", Topic: "t", CatchUp: c.catchUp}
		now, told := s.Begin(c.was, seen)
		if got := now.Name(0, now.At[0]); got != c.want {
			t.Errorf("%s: it begins at %s, want %s", c.why, got, c.want)
		}
		if all := strings.Join(told, "; "); (c.told == "") != (all == "") || !strings.Contains(all, c.told) {
			t.Errorf("%s: it tells %q, want %q", c.why, all, c.told)
		}
		again, told := s.Begin(&now, TopicSeen{c.cluster, c.id, seen.Start, seen.End, maps.Clone(now.At)})
		if c.catchUp == "" &&
			(len(told) > 0 || fmt.Sprint(again) != fmt.Sprint(now)) {
			t.Errorf("%s: once more it is %+v after %+v, and tells %q", c.why, again, now, told)
		}
	}
	// A partition that has come is read from its start.
	s := Sensor{Kafka: "main", Topic: "t"}
	now, _ := s.Begin(stood("A", "c", "A", 5),
		TopicSeen{"c", "A", map[int32]int64{0: 0, 1: 0}, map[int32]int64{0: 7, 1: 4}, nil})
	if now.At[1] != 0 || now.At[0] != 5 {
		t.Errorf("it begins at %v", now.At)
	}
}
