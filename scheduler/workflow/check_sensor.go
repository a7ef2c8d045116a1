package workflow

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	// table is [schema.]name, as it is written where no quotes are needed, or with them.
	table = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_$]*|"[^"]+")(\.([A-Za-z_][A-Za-z0-9_$]*|"[^"]+"))?$`)
	topic = regexp.MustCompile(`^[A-Za-z0-9._-]{1,249}$`)
)

// belongs says which fields belong to sensors of which kinds, besides the one that names the kind.
var belongs = map[string][]string{
	"zone":         {"cron"},
	"catch_up":     {"cron", "every", "kafka"},
	"after_finish": {"every"},
	"at_most":      {"every", "workflow", "table", "notify", "http", "file", "kafka"},
	"per":          {"every", "workflow", "table", "notify", "http", "file", "kafka"},
	"when":         {"workflow"},
	"event":        {"table", "notify", "http", "file"},
	"host":         {"file"},
	"stable":       {"file"},
	"topic":        {"kafka"},
	"match":        {"kafka"},
}

// given are the fields of a sensor that are there, besides the one that names the kind.
func (s *Sensor) given() map[string]bool {
	return map[string]bool{"zone": s.Zone != "", "catch_up": s.CatchUp != "", "after_finish": s.AfterFinish,
		"at_most": s.AtMost != 0, "per": s.Per != 0, "when": len(s.When) > 0, "event": s.Event != "", "host": s.Host != "",
		"stable": s.Stable != 0, "topic": s.Topic != "", "match": len(s.Match) > 0}
}

func (c *check) sensor() {
	s := c.Sensor
	if s == nil {
		return
	}
	kinds := s.kinds()
	if len(kinds) != 1 {
		last := len(Kinds) - 1
		c.fault(-1, "sensor", -1, "it has one of "+strings.Join(Kinds[:last], ", ")+" and "+Kinds[last],
			"the sensor has %s", orNothing(strings.Join(kinds, " and ")))
		return
	}
	kind, given := kinds[0], s.given()
	for _, field := range []string{"zone", "after_finish", "at_most", "per", "when", "event", "host", "stable", "topic", "match"} {
		if of := belongs[field]; given[field] && !slices.Contains(of, kind) {
			c.fault(-1, "sensor."+field, -1, "leave it out", "%s belongs to a sensor of the kind %s, and this is one of %s",
				field, strings.Join(of, " or "), kind)
		}
	}
	if slices.Contains(belongs["at_most"], kind) && (s.AtMost > 0) != (s.Per > 0) {
		c.fault(-1, "sensor", -1, "write both, like at_most: 8, per: 1h", "at_most and per mean nothing without each other")
	} else if s.AtMost > mostAtMost {
		c.fault(-1, "sensor.at_most", -1, "", "at_most cannot be more than %d", mostAtMost)
	}
	switch kind {
	case "cron":
		c.cron()
	case "every":
		if s.Every < Duration(minEvery) {
			c.fault(-1, "sensor.every", -1, "write 1s or more", "every %s is too often", s.Every)
		} else if s.Every%Duration(time.Second) != 0 { // slots are named by their second
			c.fault(-1, "sensor.every", -1, "write whole seconds", "every %s does not fall on seconds", s.Every)
		}
	case "workflow":
		if s.Workflow == c.Name {
			c.fault(-1, "sensor.workflow", -1, "every: with after_finish: true starts it again", "a workflow cannot wait for itself")
		} else if len(s.Workflow) > 1024 {
			c.fault(-1, "sensor.workflow", -1, "", "the name of a workflow has at most 1024 bytes, and this one %d", len(s.Workflow))
		}
		for i, state := range s.When {
			if !slices.Contains(RunStates, state) {
				c.fault(-1, "sensor.when", i, "known are "+strings.Join(RunStates, ", "), "no run ends as %q", state)
			}
		}
	case "table":
		if !table.MatchString(s.Table) {
			c.fault(-1, "sensor.table", -1, "write it like shop.uploads", "%q is not a valid name of a table", s.Table)
		}
	case "notify":
		c.channel()
	case "file":
		c.file()
	case "kafka":
		if !topic.MatchString(s.Topic) {
			c.fault(-1, "sensor", -1, "write it like {kafka: main, topic: uploads}",
				"topic %q is not a valid name of a topic", s.Topic)
		}
	}
	if !slices.Contains([]Queue{"", QueueAll, QueueOne}, s.Queue) {
		c.fault(-1, "sensor.queue", -1, "known are all, one", "queue cannot be %q", s.Queue)
	}
	c.catchUp(kind)
}

// mostAtMost bounds what is kept of a sensor.
const mostAtMost = 1000

func (c *check) cron() {
	if _, err := c.Sensor.Schedule(); err != nil {
		field := "sensor.cron"
		if strings.Contains(err.Error(), "is not a valid time zone") {
			field = "sensor.zone"
		}
		c.fault(-1, field, -1, "bellhop cron explain describes schedules", "%s", err)
	}
}

func (c *check) channel() {
	s := c.Sensor
	switch {
	case len(s.Notify) > 63:
		c.fault(-1, "sensor.notify", -1, "", "the name of a channel has at most 63 bytes")
	case s.Notify == "bellhop" || strings.HasPrefix(s.Notify, "bellhop_"):
		c.fault(-1, "sensor.notify", -1, "give it a name of its own", "channel %s is bellhop's own", s.Notify)
	}
}

func (c *check) file() {
	s := c.Sensor
	_, err := path.Match(s.File, "")
	switch {
	case err != nil:
		c.fault(-1, "sensor.file", -1, "* stands for any letters, ? for one, [a-z] for one of these", "%q is not a valid pattern", s.File)
	case !path.IsAbs(s.File) || path.Clean(s.File) != s.File:
		c.fault(-1, "sensor.file", -1, "write it like /srv/in/*.csv", "%q is not a valid pattern of whole paths", s.File)
	case strings.Contains(s.File, "**"):
		c.fault(-1, "sensor.file", -1, "write one * for each folder", "** is not known")
	}
	if s.Event != "" && s.Event != FileByPath && s.Event != FileByVersion {
		c.fault(-1, "sensor.event", -1, "known are path, version", "a file is not named by its %q", s.Event)
	}
}

func (c *check) catchUp(kind string) {
	s := c.Sensor
	known := []CatchUp{CatchUpOne, CatchUpAll, CatchUpNone}
	if kind == "kafka" {
		known = []CatchUp{CatchUpAll, CatchUpNone}
	}
	switch {
	case s.CatchUp == "":
	case !slices.Contains(belongs["catch_up"], kind) || s.AfterFinish:
		c.fault(-1, "sensor.catch_up", -1, "leave it out", "there are no slots here that could be missed")
	case !slices.Contains(known, s.CatchUp):
		var words []string
		for _, k := range known {
			words = append(words, string(k))
		}
		c.fault(-1, "sensor.catch_up", -1, "known are "+strings.Join(words, ", "), "catch_up cannot be %q", s.CatchUp)
	}
}

func orNothing(s string) string {
	if s == "" {
		return "nothing that would start it"
	}
	return s
}
