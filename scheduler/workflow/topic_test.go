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
		seen.Group = maps.Clone(now.At)
		again, told := s.Begin(&now, seen)
		if c.catchUp == "" &&
			(len(told) > 0 || fmt.Sprint(again) != fmt.Sprint(now)) {
			t.Errorf("%s: once more it is %+v after %+v, and tells %q", c.why, again, now, told)
		}
	}
	// A partition that has come is read from its start.
	s := Sensor{Kafka: "main", Topic: "t"}
	now, _ := s.Begin(stood("A", "c", "A", 5),
		TopicSeen{Cluster: "c", ID: "A", Start: map[int32]int64{0: 0, 1: 0}, End: map[int32]int64{0: 7, 1: 4}})
	if now.At[1] != 0 || now.At[0] != 5 {
		t.Errorf("it begins at %v", now.At)
	}
}

// A replica that lacks what was read may lead, and give its offsets to others. Where that is known, reading goes on
// where the loss begins, under other names. Other partitions go on where they were, whatever their group says.
func TestBegin_WhereRecordsWereLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why           string
		whole         map[int32]int64
		start, group  int64 // of partition 0; group -1: none
		end           int64
		catchUp       CatchUp
		want0, want1  string
		leader0, told string
	}{
		{"nothing is lost", map[int32]int64{0: 8, 1: 9}, 0, 5, 8, "", "t/0/5@A", "t/1/9@A", "3", ""},
		{"lost and written over", map[int32]int64{0: 3, 1: 9}, 0, 5, 8, "", "t/0/3@A.1", "t/1/9@A.1", "3",
			"partition 0 of topic t was read up to 5, and the cluster has lost its records from 3 on: reading goes on at 3"},
		{"lost, and not yet written over so far", map[int32]int64{0: 3, 1: 9}, 0, 5, 4, "", "t/0/3@A.1", "t/1/9@A.1", "3",
			"has lost its records from 3 on: reading goes on at 3"},
		{"all of it", map[int32]int64{0: 0, 1: 9}, 0, 5, 8, "", "t/0/0@A.1", "t/1/9@A.1", "3", "from 0 on: reading goes on at 0"},
		{"and retention was quicker", map[int32]int64{0: 3, 1: 9}, 4, 5, 8, "", "t/0/4@A.1", "t/1/9@A.1", "3",
			"from 3 on: reading goes on at 4"},
		{"its group is forgotten", map[int32]int64{0: 3, 1: 9}, 0, -1, 8, "", "t/0/3@A.1", "t/1/9@A.1", "3", "reading goes on at 3"},
		{"its group stands before", map[int32]int64{0: 8, 1: 9}, 0, 2, 8, "", "t/0/2@A", "t/1/9@A", "3", ""},
		{"its group stands behind", map[int32]int64{0: 8, 1: 9}, 0, 6, 8, "", "t/0/6@A", "t/1/9@A", "-1", "1 records are passed over"},
		{"what was missed is not wanted", map[int32]int64{0: 3, 1: 9}, 0, 5, 8, CatchUpNone, "t/0/8@A.1", "t/1/9@A.1", "7", ""},
		{"the epoch is not known", map[int32]int64{0: -1, 1: 9}, 0, 5, 8, "", "t/0/5@A", "t/1/9@A", "-1",
			"the cluster does not know leader epoch 3 of partition 0 of topic t any more: records that it has lost cannot be told"},
		{"the epoch is not known, and the end is before", map[int32]int64{0: -1, 1: 9}, 0, 5, 4, "", "t/0/4@A.1", "t/1/9@A.1", "7",
			"partition 0 of topic t ends at 4, and was read up to 5: the cluster has lost records, and reading goes on at the end"},
	} {
		was := &Place{Kafka: "main", Topic: "t", ID: "A", Cluster: "c", Mark: "A", At: map[int32]int64{0: 5, 1: 9},
			Leader: map[int32]int32{0: 3, 1: 3}}
		// The group stands in partition 1 before what was read: that comes again only under the same names.
		seen := TopicSeen{
			Cluster: "c",
			ID:      "A",
			Start:   map[int32]int64{0: c.start, 1: 0},
			End:     map[int32]int64{0: c.end, 1: 9},
			Group:   map[int32]int64{0: c.group, 1: 9},
			Leader:  map[int32]int32{0: 7, 1: 7},
			Whole:   c.whole,
		}
		if c.group < 0 {
			seen.Group = nil
		} else if c.want1 == "t/1/9@A.1" {
			seen.Group[1] = 6
		}
		s := Sensor{Kafka: "main", Topic: "t", CatchUp: c.catchUp}
		now, told := s.Begin(was, seen)
		if a, b := now.Name(0, now.At[0]), now.Name(1, now.At[1]); a != c.want0 || b != c.want1 {
			t.Errorf("%s: it begins at %s and %s, want %s and %s", c.why, a, b, c.want0, c.want1)
		}
		if got := fmt.Sprint(now.Led(0)); got != c.leader0 {
			t.Errorf("%s: the leader is of epoch %s, want %s", c.why, got, c.leader0)
		}
		if all := strings.Join(told, "; "); (c.told == "") != (all == "") || !strings.Contains(all, c.told) {
			t.Errorf("%s: it tells %q, want %q", c.why, all, c.told)
		}
	}
}
