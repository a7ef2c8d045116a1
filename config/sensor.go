package config

import (
	"bellhop/scheduler/grammar"
	"bellhop/scheduler/workflow"
)

func (r *reader) sensor(n node, at string, spots map[spot]node) *workflow.Sensor {
	var s workflow.Sensor
	bad := len(r.problems)
	for name, n := range r.mapping(n, at, r.fields(grammar.Sensor, &s, nil)) {
		spots[spot{-1, "sensor." + name}] = n
	}
	if len(r.problems) > bad { // what is missing besides may be what could not be read
		return nil
	}
	return &s
}

// sensorPairs are the keys and values of a sensor as it is written.
func sensorPairs(s *workflow.Sensor) pairs {
	m := pairs{}
	m.add("cron", s.Cron, s.Cron != "")
	m.add("zone", s.Zone, s.Zone != "")
	m.add("every", s.Every.String(), s.Every > 0)
	m.add("after_finish", true, s.AfterFinish)
	m.add("workflow", s.Workflow, s.Workflow != "")
	m.add("when", s.When, len(s.When) > 0)
	m.add("table", s.Table, s.Table != "")
	m.add("notify", s.Notify, s.Notify != "")
	m.add("http", true, s.HTTP)
	m.add("file", s.File, s.File != "")
	m.add("host", s.Host, s.Host != "")
	m.add("stable", s.Stable.String(), s.Stable > 0)
	m.add("kafka", s.Kafka, s.Kafka != "")
	m.add("topic", s.Topic, s.Topic != "")
	m.add("match", s.Match, len(s.Match) > 0)
	m.add("event", s.Event, s.Event != "")
	m.add("catch_up", string(s.CatchUp), s.CatchUp != "")
	m.add("queue", string(s.Queue), s.Queue != "")
	m.add("at_most", s.AtMost, s.AtMost > 0)
	m.add("per", s.Per.String(), s.Per > 0)
	return m
}
