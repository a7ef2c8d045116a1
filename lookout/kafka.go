package lookout

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"bellhop/scheduler/workflow"
)

// Cluster is how a cluster of Kafka is reached.
type Cluster struct {
	Servers  []string
	TLS      bool
	SASL     string // plain, scram-sha-256 or scram-sha-512; empty: no login
	User     string
	Password string // a file that holds it
}

const (
	partitionsEvery = 30 * time.Second // how often it is asked for new partitions, and how far they go
	// standEvery is how often it is said again where the group stands, be there records or not: a cluster forgets that of
	// a group without members some days (offsets.retention.minutes) after it was last said.
	standEvery    = time.Hour
	mostRecords   = 500
	kafkaPatience = 10 * time.Second
)

// options are what a client of the cluster is made of.
func (c Cluster) options() ([]kgo.Opt, error) {
	list := []kgo.Opt{kgo.SeedBrokers(c.Servers...), kgo.ClientID("bellhop"), kgo.DialTimeout(kafkaPatience),
		kgo.RequestRetries(3)}
	if c.TLS {
		list = append(list, kgo.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if c.SASL == "" {
		return list, nil
	}
	text, err := os.ReadFile(c.Password)
	if err != nil {
		return nil, fmt.Errorf("read the password: %w", err)
	}
	password := strings.TrimRight(string(text), "\r\n")
	switch c.SASL {
	case "plain":
		return append(list, kgo.SASL(plain.Auth{User: c.User, Pass: password}.AsMechanism())), nil
	case "scram-sha-256":
		return append(list, kgo.SASL(scram.Auth{User: c.User, Pass: password}.AsSha256Mechanism())), nil
	default:
		return append(list, kgo.SASL(scram.Auth{User: c.User, Pass: password}.AsSha512Mechanism())), nil
	}
}

// topic watches a topic. Bellhop decides which instance does, so no instance joins the group, whose members would
// wait for one that was killed. The group only has the offsets, each committed when the event is kept. After a
// failure in between, the event comes again, under the same name.
func (l *Lookout) topic(ctx context.Context, w workflow.Watch, well func(), lag func(context.Context, int64),
	happened Happened) error {
	cluster, known := l.Clusters[w.Sensor.Kafka]
	if !known {
		return fmt.Errorf("this instance knows no cluster of Kafka called %s: bellhop.yaml names them, under sensors: kafka", w.Sensor.Kafka)
	}
	options, err := cluster.options()
	if err != nil {
		return err
	}
	// What a producer's transactions leave between the records counts as read, too: else it would be behind for ever.
	// What has become of an offset that is not there is for Begin to say, and not for the client to pass over.
	client, err := kgo.NewClient(append(options, kgo.KeepControlRecords(), kgo.ConsumeResetOffset(kgo.NoResetOffset()))...)
	if err != nil {
		return err
	}
	defer client.Close()
	t := &topic{Watch: w, client: client, admin: kadm.NewClient(client), group: "bellhop." + w.Workflow,
		happened: happened, read: map[int32]bool{}, every: cmp.Or(l.stand, standEvery)}
	every := cmp.Or(l.every, partitionsEvery)
	defer l.forget(w.Workflow)
	find := func(first bool) error {
		behind, err := t.find(ctx, first)
		if err == nil {
			l.behind(w.Workflow, behind)
			lag(ctx, behind)
		}
		return err
	}
	if err := find(true); err != nil {
		return err
	}
	well()
	for next := time.Now().Add(every); ; {
		once, cancel := context.WithDeadline(ctx, next)
		fetches := client.PollRecords(once, mostRecords)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, e := range fetches.Errors() {
			if !errors.Is(e.Err, context.DeadlineExceeded) {
				return fmt.Errorf("read topic %s: %w", w.Sensor.Topic, e.Err)
			}
		}
		if err := t.keep(ctx, fetches); err != nil {
			return err
		}
		if now := time.Now(); !now.Before(next) {
			if err := find(false); err != nil {
				return err
			}
			next = time.Now().Add(every)
		}
	}
}

// topic is one that is being watched.
type topic struct {
	workflow.Watch
	client   *kgo.Client
	admin    *kadm.Client
	group    string
	happened Happened
	place    workflow.Place
	read     map[int32]bool // the partitions that are read
	every    time.Duration  // how often it is said again where the group stands
	said     time.Time      // when it last was
}

// look asks the cluster about the topic, in which the sensor was at a place; nil: it is new.
func (t *topic) look(ctx context.Context, was *workflow.Place) (seen workflow.TopicSeen, err error) {
	name := t.Sensor.Topic
	all, err := t.admin.Metadata(ctx, name)
	if err == nil {
		err = all.Topics.Error()
	}
	if err != nil {
		return seen, fmt.Errorf("find topic %s: %w", name, err)
	}
	seen.Cluster = all.Cluster
	if id := all.Topics[name].ID; id != (kadm.TopicID{}) {
		seen.ID = base64.RawURLEncoding.EncodeToString(id[:])
	}
	ends, err := t.admin.ListEndOffsets(ctx, name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return seen, fmt.Errorf("find topic %s: %w", name, err)
	}
	starts, err := t.admin.ListStartOffsets(ctx, name)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return seen, fmt.Errorf("find topic %s: %w", name, err)
	}
	stood, err := t.admin.FetchOffsetsForTopics(ctx, t.group, name)
	if err == nil {
		err = stood.Error()
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // nothing has been committed yet
		return seen, fmt.Errorf("find where group %s stands: %w", t.group, err)
	}
	seen.Start, seen.End, seen.Group = map[int32]int64{}, map[int32]int64{}, map[int32]int64{}
	seen.Leader = map[int32]int32{}
	ends.Each(func(o kadm.ListedOffset) {
		seen.End[o.Partition] = o.Offset
		if o.LeaderEpoch >= 0 {
			seen.Leader[o.Partition] = o.LeaderEpoch
		}
	})
	starts.Each(func(o kadm.ListedOffset) { seen.Start[o.Partition] = o.Offset })
	stood.Each(func(o kadm.OffsetResponse) {
		if o.Topic == t.Sensor.Topic && o.At >= 0 {
			seen.Group[o.Partition] = o.At
		}
	})
	seen.Whole, err = t.whole(ctx, was, seen)
	return seen, err
}

// whole asks where the leader epochs of what was read end: a replica that lacked records may have become the leader. Of
// a topic that was made again there is nothing to ask.
func (t *topic) whole(ctx context.Context, was *workflow.Place, seen workflow.TopicSeen) (map[int32]int64, error) {
	var ask kadm.OffsetForLeaderEpochRequest
	if was.IsOf(&t.Sensor) && was.ID == seen.ID {
		for p, epoch := range was.Leader {
			if _, there := seen.End[p]; there {
				ask.Add(was.Topic, p, epoch)
			}
		}
	}
	if len(ask) == 0 {
		return nil, nil
	}
	list, err := t.admin.OffsetForLeaderEpoch(ctx, ask)
	whole := map[int32]int64{}
	for p, o := range list[was.Topic] {
		err = cmp.Or(err, o.Err)
		whole[p] = o.EndOffset
	}
	if err != nil {
		return nil, fmt.Errorf("find whether topic %s has lost records: %w", was.Topic, err)
	}
	return whole, nil
}

// find begins to read partitions that are not read yet, where the sensor says. A topic that was made again meanwhile is
// an error, and the watch begins anew. behind is how many messages of all are not read yet.
func (t *topic) find(ctx context.Context, first bool) (behind int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, kafkaPatience)
	defer cancel()
	was := t.Place
	if !first {
		was = &t.place
	}
	seen, err := t.look(ctx, was)
	if err != nil {
		return 0, err
	}
	now, told := t.Sensor.Begin(was, seen)
	if !first && now.Epoch != t.place.Epoch {
		return 0, fmt.Errorf("read topic %s: %s", t.Sensor.Topic, strings.Join(told, "; "))
	}
	begin, commit := map[int32]kgo.Offset{}, kadm.Offsets{}
	for p, end := range seen.End {
		if t.read[p] {
			now.Read(p, t.place.At[p], t.place.Led(p))
		} else {
			begin[p] = kgo.NewOffset().At(now.At[p]).WithEpoch(now.Led(p)) // from now on the client looks for losses
			commit.AddOffset(t.Sensor.Topic, p, now.At[p], -1)
		}
		behind += max(0, end-now.At[p])
	}
	if len(begin) > 0 { // what comes now is caught up with, should this be all that we do
		sight := workflow.Sight{Place: &now}
		if len(told) > 0 {
			remark := strings.Join(told, "; ")
			sight.Remark = &remark
		}
		if err := t.happened(ctx, sight); err != nil {
			return 0, err
		}
		t.place = now
	}
	if time.Since(t.said) >= t.every {
		for partition, at := range t.place.At {
			commit.AddOffset(t.Sensor.Topic, partition, at, -1)
		}
		t.said = time.Now()
	}
	if len(commit) > 0 {
		if err := t.commit(ctx, commit); err != nil {
			return 0, err
		}
	}
	if len(begin) > 0 {
		t.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{t.Sensor.Topic: begin})
		for p := range begin {
			t.read[p] = true
		}
	}
	return behind, nil
}

// keep has the records kept that match, with where the sensor stands then, and commits all.
func (t *topic) keep(ctx context.Context, fetches kgo.Fetches) error {
	var events []workflow.Happening
	offsets := kadm.Offsets{}
	now := t.place
	now.At, now.Leader = maps.Clone(t.place.At), maps.Clone(t.place.Leader)
	fetches.EachRecord(func(r *kgo.Record) {
		offsets.AddOffset(r.Topic, r.Partition, r.Offset+1, r.LeaderEpoch)
		now.Read(r.Partition, r.Offset+1, r.LeaderEpoch)
		if r.Attrs.IsControl() {
			return
		}
		fields := workflow.Fields(r.Value)
		if !t.Sensor.Matches(fields) {
			return
		}
		events = append(events, workflow.Happening{Given: fields, Event: now.Name(r.Partition, r.Offset)})
	})
	if len(offsets) == 0 {
		return nil
	}
	if err := t.happened(ctx, workflow.Sight{Events: events, Place: &now}); err != nil {
		return err
	}
	t.place = now
	ctx, cancel := context.WithTimeout(ctx, kafkaPatience)
	defer cancel()
	return t.commit(ctx, offsets)
}

func (t *topic) commit(ctx context.Context, offsets kadm.Offsets) error {
	done, err := t.admin.CommitOffsets(ctx, t.group, offsets)
	if err == nil {
		err = done.Error()
	}
	if err != nil {
		return fmt.Errorf("commit where group %s stands: %w", t.group, err)
	}
	return nil
}
