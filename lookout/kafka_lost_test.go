package lookout

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"bellhop/scheduler/workflow"
)

// brokers is a cluster of two. A partition can get the other as its leader, under the next leader epoch; what such a
// leader lacks is for the test to say, since all brokers of the fake have one log.
func brokers(t *testing.T) (fake *kfake.Cluster, client *kgo.Client, l *Lookout) {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(2), kfake.SeedTopics(2, "uploads"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	client, err = kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return fake, client, &Lookout{Clusters: map[string]Cluster{"main": {Servers: fake.ListenAddrs()}}}
}

// elect gives a partition a leader that it did not have.
func elect(t *testing.T, fake *kfake.Cluster, partition int32) {
	t.Helper()
	if err := fake.MoveTopicPartition("uploads", partition, 1-fake.LeaderFor("uploads", partition)); err != nil {
		t.Fatal(err)
	}
}

// takes waits for so many events with these names, whatever the mark.
func (k *kept) takes(t *testing.T, names ...string) {
	t.Helper()
	var got []string
	for len(got) < len(names) {
		got = append(got, k.take(t, 1)...)
	}
	if slices.Sort(got); !slices.Equal(got, names) {
		t.Errorf("%q, want %q", got, names)
	}
}

// comesTo waits until the group of the workflow stands there, which it does after the event was kept.
func comesTo(t *testing.T, client *kgo.Client, at string) {
	t.Helper()
	for began := time.Now(); !strings.Contains(stood(t, client), at); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("the group stands %s, want %s", stood(t, client), at)
		}
	}
}

// renewed: none of the events has a name that one had before.
func (k *kept) renewed(t *testing.T, before map[string]int) {
	t.Helper()
	for name := range k.whole {
		if before[name] > 0 {
			t.Errorf("%s is another record, and has the name of one that is lost", name)
		}
	}
}

// Two records that were read are lost with their leader, and others have their offsets, before an instance looks again.
func TestKafka_OffsetsThatOthersHaveAreReadAgain(t *testing.T) {
	t.Parallel()
	fake, client, l := brokers(t)
	sensor := workflow.Sensor{Kafka: "main", Topic: "uploads"}
	k, cancel, over := watch(t, l, sensor)
	k.sees(t, over)
	produce(t, client, 0, "1", "2", "3")
	produce(t, client, 1, "1")
	k.takes(t, "uploads/0/0", "uploads/0/1", "uploads/0/2", "uploads/1/0")
	comesTo(t, client, "0 at 3, 1 at 1") // else a commit that comes late undoes the test's own
	cancel()
	<-over
	if got := k.place.Leader; len(got) != 2 || k.place.Led(0) != 0 {
		t.Fatalf("leader epochs %v", got)
	}
	before := k.whole
	for offset := range int64(2) { // the leader had these two, and the next one does not
		before[k.place.Name(0, 3+offset)]++
	}
	k.place.Read(0, 5, 0)
	var stands kadm.Offsets
	stands.AddOffset("uploads", 0, 5, 0)
	if err := kadm.NewClient(client).CommitAllOffsets(t.Context(), "bellhop.w", stands); err != nil {
		t.Fatal(err)
	}
	elect(t, fake, 0)
	produce(t, client, 0, "a", "b", "c")
	k, cancel, over = watchFrom(t, l, sensor, k.place)
	k.takes(t, "uploads/0/3", "uploads/0/4", "uploads/0/5")
	k.renewed(t, before)
	want := "partition 0 of topic uploads was read up to 5, and the cluster has lost its records from 3 on: reading goes on at 3"
	if k.remark != want {
		t.Errorf("it says %q, want %q", k.remark, want)
	}
	comesTo(t, client, "0 at 6") // else the next watch begins at the offset that the test has committed
	cancel()
	<-over
	// Once more nothing is lost.
	produce(t, client, 0, "d")
	k, cancel, over = watchFrom(t, l, sensor, k.place)
	k.takes(t, "uploads/0/6")
	if k.remark != "" {
		t.Errorf("it says %q", k.remark)
	}
	cancel()
	<-over
}

// A loss under a watch ends it, whether the client finds it or the next look at the topic, and the next watch goes on
// where the loss begins. Another leader that has all records changes nothing.
func TestKafka_ALossUnderAWatchIsTold(t *testing.T) {
	t.Parallel()
	ways := map[string]time.Duration{"the client finds it": time.Hour, "a look finds it": 20 * time.Millisecond}
	for name, every := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake, client, l := brokers(t)
			l.every = every
			sensor := workflow.Sensor{Kafka: "main", Topic: "uploads"}
			k, cancel, over := watch(t, l, sensor)
			k.sees(t, over)
			produce(t, client, 0, "1", "2", "3")
			k.takes(t, "uploads/0/0", "uploads/0/1", "uploads/0/2")
			elect(t, fake, 0)
			produce(t, client, 0, "4")
			k.takes(t, "uploads/0/3")
			mended := lose(fake, 0, 2)
			elect(t, fake, 0)
			select {
			case err := <-over:
				if err == nil || !strings.Contains(err.Error(), "lost") {
					t.Errorf("%v", err)
				}
			case <-time.After(patience):
				t.Fatal("the watch goes on with records that are lost")
			}
			cancel()
			before := k.whole
			l.every = time.Hour
			k, cancel, over = watchFrom(t, l, sensor, k.place)
			k.sees(t, over)
			mended()
			k.takes(t, "uploads/0/2", "uploads/0/3")
			k.renewed(t, before)
			if want := "has lost its records from 2 on: reading goes on at 2"; !strings.Contains(k.remark, want) {
				t.Errorf("it says %q, want %q", k.remark, want)
			}
			cancel()
			<-over
		})
	}
}

// A watch that has begun again at its place, and has read nothing since, knows the epoch of what was read before.
func TestKafka_ALossBeforeTheFirstRecordOfAWatchIsTold(t *testing.T) {
	t.Parallel()
	fake, client, l := brokers(t)
	l.every = time.Hour // no look finds it
	sensor := workflow.Sensor{Kafka: "main", Topic: "uploads"}
	k, cancel, over := watch(t, l, sensor)
	k.sees(t, over)
	elect(t, fake, 0)
	produce(t, client, 0, "1", "2", "3")
	k.takes(t, "uploads/0/0", "uploads/0/1", "uploads/0/2")
	comesTo(t, client, "0 at 3") // else the next watch reads from the group's offset, which is before the loss
	cancel()
	<-over
	k, cancel, over = watchFrom(t, l, sensor, k.place)
	defer cancel()
	k.sees(t, over)
	lose(fake, 0, 1)
	elect(t, fake, 0)
	select {
	case err := <-over:
		if err == nil || !strings.Contains(err.Error(), "lost") {
			t.Errorf("%v", err)
		}
	case <-time.After(patience):
		t.Fatal("the watch goes on with records that are lost")
	}
}

// lose lets the cluster say that a partition's leader epochs of now end at an offset, and the other's at its start,
// until it is mended.
func lose(fake *kfake.Cluster, partition int32, at int64) (mended func()) {
	var over atomic.Bool
	fake.ControlKey(kmsg.OffsetForLeaderEpoch.Int16(), func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if over.Load() {
			return nil, nil, false
		}
		req := r.(*kmsg.OffsetForLeaderEpochRequest)
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		for _, topic := range req.Topics {
			to := kmsg.NewOffsetForLeaderEpochResponseTopic()
			to.Topic = topic.Topic
			for _, p := range topic.Partitions {
				end := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				end.Partition, end.LeaderEpoch, end.EndOffset = p.Partition, p.LeaderEpoch, 0
				if p.Partition == partition {
					end.EndOffset = at
				}
				to.Partitions = append(to.Partitions, end)
			}
			resp.Topics = append(resp.Topics, to)
		}
		return resp, nil, true
	})
	return func() { over.Store(true) }
}
