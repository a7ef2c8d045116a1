package workflow

import (
	"fmt"
	"maps"
	"slices"
)

// Place is where a sensor stands in a topic of Kafka, and which topic that is: a
// name, and the offsets below it, begin again when the topic is deleted and made
// again, or when its cluster is restored.
type Place struct {
	Kafka   string          `json:"kafka"`             // the cluster, as the configuration calls it
	Cluster string          `json:"cluster,omitempty"` // and what that says it is
	Topic   string          `json:"topic"`
	ID      string          `json:"id,omitempty"`    // the topic's; empty: the cluster is too old to have such
	Epoch   int             `json:"epoch,omitempty"` // how often offsets have begun again
	Mark    string          `json:"mark,omitempty"`  // in the names of events; empty: they are of before there was one
	At      map[int32]int64 `json:"at"`              // the next offset, by partition
}

// TopicSeen is what a cluster tells of a topic.
type TopicSeen struct {
	Cluster string
	ID      string
	Start   map[int32]int64 // the first offset that is kept, by partition
	End     map[int32]int64 // and the next one that will be written
	Group   map[int32]int64 // where the sensor's group stands, as far as the cluster remembers
}

// Name is the name of the event that a record is.
func (p Place) Name(partition int32, offset int64) string {
	name := fmt.Sprintf("%s/%d/%d", p.Topic, partition, offset)
	if p.Mark != "" {
		name += "@" + p.Mark
	}
	return Named(name)
}

// begun starts another epoch of names.
func (p *Place) begun() {
	switch p.Epoch++; {
	case p.ID == "":
		p.Mark = fmt.Sprintf("%s.%d", p.Cluster, p.Epoch)
	default:
		p.Mark = fmt.Sprintf("%s.%d", p.ID, p.Epoch)
	}
}

// Begin is where a sensor begins to read its topic: where its group stands, or, where
// the cluster has forgotten that, where the sensor was. A new sensor begins at the end.
// A topic that was made again is read from its start, and so is a partition that has
// come. told is what is passed over, or begins again, in words.
func (s *Sensor) Begin(was *Place, seen TopicSeen) (now Place, told []string) {
	now = Place{Kafka: s.Kafka, Cluster: seen.Cluster, Topic: s.Topic, ID: seen.ID, Mark: seen.ID, At: map[int32]int64{}}
	if was != nil && (was.Topic != s.Topic || was.Kafka != s.Kafka) {
		was = nil
	}
	known := was != nil || len(seen.Group) > 0
	anew := beginsAnew(was, seen)
	if known {
		now.Mark = ""
	}
	if was != nil {
		now.Epoch, now.Mark = was.Epoch, was.Mark
		if now.ID == "" {
			now.ID = was.ID
		}
	}
	if anew != "" {
		now.begun()
		where := "its start"
		if s.CatchUp == CatchUpNone {
			where = "its end, as catch_up: none says"
		}
		told = append(told, fmt.Sprintf("topic %s %s: reading begins at %s", s.Topic, anew, where))
	}
	for _, p := range slices.Sorted(maps.Keys(seen.End)) {
		at, more := s.beginIn(p, was, seen, known, anew != "")
		now.At[p], told = at, append(told, more...)
		if at == seen.End[p] && anew == "" && was != nil && was.At[p] > at { // what is written there next has names that were
			now.begun()
			anew = "has lost records"
		}
	}
	return now, told
}

// beginsAnew says in which way the topic is another one than it was; empty: it is the same.
func beginsAnew(was *Place, seen TopicSeen) string {
	beyond := func(at map[int32]int64) bool {
		for p, n := range at {
			if end, there := seen.End[p]; !there || n > end {
				return true
			}
		}
		return false
	}
	switch {
	case was == nil && beyond(seen.Group):
		return "ends before where its group stands, and was made again"
	case was == nil:
		return ""
	case was.ID != "" && seen.ID != "" && was.ID != seen.ID:
		return "was deleted and made again"
	case was.ID != "" && seen.ID != "":
		return ""
	case was.Cluster != "" && seen.Cluster != "" && was.Cluster != seen.Cluster:
		return "is in another cluster than before"
	case beyond(was.At):
		return "ends before where it was read, and was made again"
	}
	return ""
}

func (s *Sensor) beginIn(p int32, was *Place, seen TopicSeen, known, anew bool) (at int64, told []string) {
	start, end := seen.Start[p], seen.End[p]
	stood, remembered := seen.Group[p]
	switch {
	case s.CatchUp == CatchUpNone, !known:
		return end, nil
	case anew:
		return start, nil
	case remembered:
		at = stood
		if was != nil && was.At[p] > 0 && stood > was.At[p] {
			told = append(told, fmt.Sprintf("the group stands at %d of partition %d, and was at %d: %d records are passed over",
				stood, p, was.At[p], stood-was.At[p]))
		}
	default:
		at = start // the partition has come, unless it was read
		if was != nil {
			if n, there := was.At[p]; there {
				at = n
			}
		}
	}
	switch {
	case at > end:
		return end, append(told, fmt.Sprintf("partition %d of topic %s ends at %d, and was read up to %d: "+
			"the cluster has lost records, and reading goes on at the end", p, s.Topic, end, at))
	case at < start:
		return start, append(told, fmt.Sprintf("%d records of partition %d were deleted by the cluster before they were read",
			start-at, p))
	}
	return at, told
}
