package lookout

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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
	SASL     string // plain, scram-sha-256 or scram-sha-512; empty: nobody logs in
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

// topic watches a topic. Which instance does is decided by bellhop, and so nobody joins the group, whose members would
// wait for one that was killed: the group only has the offsets, each committed when the event is kept. What comes
// between comes again, under the same name.
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
	client, err := kgo.NewClient(append(options, kgo.KeepControlRecords())...)
	if err != nil {
		return err
	}
	defer client.Close()
	t := &topic{Watch: w, client: client, admin: kadm.NewClient(client), group: "bellhop." + w.Workflow,
		at: map[int32]int64{}, every: cmp.Or(l.stand, standEvery)}
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
		if err := t.keep(ctx, fetches, happened); err != nil {
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
	client *kgo.Client
	admin  *kadm.Client
	group  string
	at     map[int32]int64 // the partitions that are read, and which offset is next
	every  time.Duration   // how often it is said again where the group stands
	said   time.Time       // when it last was
}

// find begins to read partitions that are not read yet: where the group has stood, or, where it was nowhere yet, at the
// end, and one that has come while we read at its begin. With catch_up: none at the end, always. behind is how many
// messages of all are not read yet.
func (t *topic) find(ctx context.Context, first bool) (behind int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, kafkaPatience)
	defer cancel()
	name := t.Sensor.Topic
	ends, err := t.admin.ListEndOffsets(ctx, name)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("find topic %s: %w", name, err)
	}
	stood, err := t.admin.FetchOffsetsForTopics(ctx, t.group, name)
	if err == nil {
		err = stood.Error()
	}
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // nobody has committed anything yet
		return 0, fmt.Errorf("find where group %s stands: %w", t.group, err)
	}
	starts, err := t.admin.ListStartOffsets(ctx, name)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("find topic %s: %w", name, err)
	}
	begin, commit := map[int32]kgo.Offset{}, kadm.Offsets{}
	ends.Each(func(end kadm.ListedOffset) {
		if end.Topic != name {
			return
		}
		if at, ok := t.at[end.Partition]; ok {
			behind += max(0, end.Offset-at)
			return
		}
		at := end.Offset
		if start, ok := starts.Lookup(name, end.Partition); ok && !first {
			at = start.Offset
		}
		was, ok := stood.Lookup(name, end.Partition)
		if ok && was.At >= 0 && t.Sensor.CatchUp != workflow.CatchUpNone {
			at = was.At
		} else {
			commit.AddOffset(name, end.Partition, at, -1)
		}
		// What the cluster has forgotten meanwhile cannot be caught up with.
		if start, ok := starts.Lookup(name, end.Partition); ok {
			at = max(at, start.Offset)
		}
		begin[end.Partition], t.at[end.Partition] = kgo.NewOffset().At(at), at
		behind += max(0, end.Offset-at)
	})
	if time.Since(t.said) >= t.every {
		for partition, at := range t.at {
			commit.AddOffset(name, partition, at, -1)
		}
		t.said = time.Now()
	}
	if len(commit) > 0 { // so that what comes now is caught up with, should this be all that we do
		if err := t.commit(ctx, commit); err != nil {
			return 0, err
		}
	}
	if len(begin) > 0 {
		t.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{name: begin})
	}
	return behind, nil
}

// keep has the records kept that match, and commits all.
func (t *topic) keep(ctx context.Context, fetches kgo.Fetches, happened Happened) error {
	var events []workflow.Happening
	offsets := kadm.Offsets{}
	fetches.EachRecord(func(r *kgo.Record) {
		offsets.AddOffset(r.Topic, r.Partition, r.Offset+1, r.LeaderEpoch)
		t.at[r.Partition] = r.Offset + 1
		if r.Attrs.IsControl() {
			return
		}
		fields := workflow.Fields(r.Value)
		if !t.Sensor.Matches(fields) {
			return
		}
		events = append(events, workflow.Happening{Given: fields,
			Event: workflow.Named(fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset))})
	})
	if len(offsets) == 0 {
		return nil
	}
	if len(events) > 0 {
		if err := happened(ctx, events); err != nil {
			return err
		}
	}
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
