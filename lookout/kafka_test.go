package lookout

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"bellhop/scheduler/workflow"
)

// broker is a cluster that speaks Kafka's protocol over TCP. It is none: what it keeps is in memory, there is no
// replication, and no broker ever fails over to another.
func broker(t *testing.T) (*kgo.Client, Cluster) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "uploads"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, Cluster{Servers: c.ListenAddrs()}
}

func produce(t *testing.T, client *kgo.Client, partition int32, texts ...string) {
	t.Helper()
	for _, text := range texts {
		r := &kgo.Record{Topic: "uploads", Partition: partition, Value: []byte(text)}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// stood is where the group of the workflow stands, by partition.
func stood(t *testing.T, client *kgo.Client) string {
	t.Helper()
	o, err := kadm.NewClient(client).FetchOffsets(t.Context(), "bellhop.w")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	o.Each(func(r kadm.OffsetResponse) { list = append(list, fmt.Sprintf("%d at %d", r.Partition, r.At)) })
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func TestKafka_EachRecordOnce(t *testing.T) {
	t.Parallel()
	client, cluster := broker(t)
	l := &Lookout{Clusters: map[string]Cluster{"main": cluster}}
	sensor := workflow.Sensor{Kafka: "main", Topic: "uploads", Match: map[string]string{"kind": "upload"}}
	produce(t, client, 0, `{"kind":"upload"}`) // before anybody watched
	k, cancel, over := watch(t, l, sensor)
	k.sees(t, over)
	if got := stood(t, client); got != "0 at 1, 1 at 0" {
		t.Errorf("the group stands %s", got)
	}
	produce(t, client, 0, `{"kind":"upload","n":1}`, `{"kind":"other"}`, "no JSON", `{"kind":"upload"}`)
	produce(t, client, 1, `{"kind":"upload"}`)
	got := []string{}
	for len(got) < 3 {
		got = append(got, k.take(t, 1)...)
	}
	if slices.Sort(got); strings.Join(got, " ") != "uploads/0/1 uploads/0/4 uploads/1/0" {
		t.Errorf("%q", got)
	}
	cancel()
	<-over
	// What came while nobody watched is caught up with, and what was kept but not committed comes again under its name.
	produce(t, client, 1, `{"kind":"upload"}`)
	k, cancel, over = watchFrom(t, l, sensor, k.place)
	again := []string{}
	for !slices.Contains(again, "uploads/1/1") {
		again = append(again, k.take(t, 1)...)
	}
	for _, name := range again {
		if name != "uploads/1/1" && !slices.Contains(got, name) {
			t.Errorf("%q", again)
		}
	}
	cancel()
	<-over
	// Or not, if nobody cares.
	produce(t, client, 1, `{"kind":"upload"}`)
	sensor.CatchUp = workflow.CatchUpNone
	k, cancel, over = watch(t, l, sensor)
	k.sees(t, over)
	produce(t, client, 1, `{"kind":"upload"}`)
	if got := k.take(t, 1); len(got) != 1 || got[0] != "uploads/1/3" {
		t.Errorf("%q", got)
	}
	cancel()
	<-over
}

// Where the group stands is said again and again, though nothing comes: a cluster forgets it after some days.
func TestKafka_StandsWhereItStoodThoughNothingComes(t *testing.T) {
	t.Parallel()
	client, cluster := broker(t)
	l := &Lookout{Clusters: map[string]Cluster{"main": cluster}, every: 20 * time.Millisecond, stand: time.Millisecond}
	produce(t, client, 0, "1", "2")
	k, cancel, over := watch(t, l, workflow.Sensor{Kafka: "main", Topic: "uploads"})
	k.sees(t, over)
	var forget kadm.TopicsSet
	forget.Add("uploads", 0, 1)
	if _, err := kadm.NewClient(client).DeleteOffsets(t.Context(), "bellhop.w", forget); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); stood(t, client) != "0 at 2, 1 at 0"; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("the group stands %q", stood(t, client))
		}
	}
	cancel()
	<-over
}

// What cannot be kept is not committed.
func TestKafka_NothingIsCommittedThatIsNotKept(t *testing.T) {
	t.Parallel()
	client, cluster := broker(t)
	l := &Lookout{Clusters: map[string]Cluster{"main": cluster}}
	sensor := workflow.Sensor{Kafka: "main", Topic: "uploads"}
	k, cancel, over := watch(t, l, sensor)
	k.sees(t, over)
	k.mu.Lock()
	k.err = errors.New("no database")
	k.mu.Unlock()
	produce(t, client, 0, "1")
	if err := <-over; !errors.Is(err, k.err) {
		t.Error(err)
	}
	if got := stood(t, client); got != "0 at 0, 1 at 0" {
		t.Errorf("the group stands %s", got)
	}
	cancel()
	k, cancel, over = watch(t, l, sensor)
	if got := k.take(t, 1); len(got) != 1 || got[0] != "uploads/0/0" {
		t.Errorf("%q", got)
	}
	cancel()
	<-over
}

func TestKafka_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	_, cluster := broker(t)
	l := &Lookout{Clusters: map[string]Cluster{"main": cluster,
		"locked": {Servers: cluster.Servers, SASL: "plain", Password: "/nowhere"}}}
	for _, c := range []struct{ cluster, topic, want string }{
		{"other", "uploads", "knows no cluster of Kafka called other"}, {"main", "nothing", "UNKNOWN_TOPIC_OR_PARTITION"},
		{"locked", "uploads", "read the password"},
	} {
		_, cancel, over := watch(t, l, workflow.Sensor{Kafka: c.cluster, Topic: c.topic})
		if err := <-over; err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		cancel()
	}
}

// lag waits until a watch has told that it is so far behind.
func (k *kept) lag(t *testing.T, want int64) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case n := <-k.lags:
			if n == want {
				return
			}
		case <-late:
			t.Fatalf("it never was %d behind", want)
		}
	}
}

func TestKafka_TellsHowFarItIsBehind(t *testing.T) {
	t.Parallel()
	client, cluster := broker(t)
	l := &Lookout{Clusters: map[string]Cluster{"main": cluster}, every: 20 * time.Millisecond}
	sensor := workflow.Sensor{Kafka: "main", Topic: "uploads", Match: map[string]string{"kind": "upload"}}
	produce(t, client, 0, "before anybody watched")
	k, cancel, over := watch(t, l, sensor)
	k.sees(t, over)
	k.lag(t, 0)
	cancel()
	<-over
	if lags := l.Lags(); len(lags) != 0 {
		t.Errorf("nobody watches, and it is told how far that is behind: %v", lags)
	}
	produce(t, client, 0, "1", "2", `{"kind":"upload"}`)
	produce(t, client, 1, "4", "5")
	k, cancel, over = watch(t, l, sensor)
	k.lag(t, 5)
	k.take(t, 1)
	k.lag(t, 0) // what matched nothing is read, too
	if lags := l.Lags(); len(lags) != 1 || lags["w"] != 0 {
		t.Errorf("%v", lags)
	}
	cancel()
	<-over
}

// A topic that is deleted and made again begins again, and so do the names of its records, whoever looks and when: each
// record of the new one is an event, and the remark says what has happened.
func TestKafka_ATopicThatIsMadeAgainIsReadFromItsStart(t *testing.T) {
	t.Parallel()
	for _, watched := range []bool{true, false} {
		t.Run(fmt.Sprintf("watched %t", watched), func(t *testing.T) {
			t.Parallel()
			client, cluster := broker(t)
			admin := kadm.NewClient(client)
			l := &Lookout{Clusters: map[string]Cluster{"main": cluster}, every: 20 * time.Millisecond}
			sensor := workflow.Sensor{Kafka: "main", Topic: "uploads"}
			k, cancel, over := watch(t, l, sensor)
			k.sees(t, over)
			produce(t, client, 0, "1", "2", "3")
			for n := 0; n < 3; {
				n += len(k.take(t, 1))
			}
			if !watched {
				cancel()
				<-over
			}
			if _, err := admin.DeleteTopics(t.Context(), "uploads"); err != nil {
				t.Fatal(err)
			}
			if _, err := admin.CreateTopic(t.Context(), 2, 1, nil, "uploads"); err != nil {
				t.Fatal(err)
			}
			client.PurgeTopicsFromClient("uploads") // it knows the old one
			produce(t, client, 0, "1", "2", "3", "4", "5", "6", "7", "8")
			if watched {
				if err := <-over; err == nil {
					t.Fatal("the watch goes on with a topic that is not there any more")
				}
				cancel()
			}
			names := k.whole
			k, cancel, over = watchFrom(t, l, sensor, k.place)
			for n := 0; n < 8; {
				n += len(k.take(t, 1))
			}
			for name := range k.whole {
				if names[name] > 0 {
					t.Errorf("a record of the new topic is called %s, as one of the old is", name)
				}
			}
			if want := "topic uploads was deleted and made again: reading begins at its start"; k.remark != want {
				t.Errorf("it says %q, want %q", k.remark, want)
			}
			cancel()
			<-over
		})
	}
}

// A watch goes on where it was, though the cluster has forgotten where its group stood, and says what was deleted
// before it was read.
func TestKafka_GoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	client, cluster := broker(t)
	admin := kadm.NewClient(client)
	l := &Lookout{Clusters: map[string]Cluster{"main": cluster}}
	sensor := workflow.Sensor{Kafka: "main", Topic: "uploads"}
	k, cancel, over := watch(t, l, sensor)
	k.sees(t, over)
	produce(t, client, 0, "1")
	k.take(t, 1)
	cancel()
	<-over
	if _, err := admin.DeleteGroup(t.Context(), "bellhop.w"); err != nil {
		t.Fatal(err)
	}
	produce(t, client, 0, "2", "3", "4")
	var cut kadm.Offsets
	cut.AddOffset("uploads", 0, 2, -1)
	if _, err := admin.DeleteRecords(t.Context(), cut); err != nil {
		t.Fatal(err)
	}
	k, cancel, over = watchFrom(t, l, sensor, k.place)
	got := []string{}
	for len(got) < 2 {
		got = append(got, k.take(t, 1)...)
	}
	if strings.Join(got, " ") != "uploads/0/2 uploads/0/3" || !strings.Contains(k.remark, "1 records of partition 0 were deleted") {
		t.Errorf("%q, and it says %q", got, k.remark)
	}
	cancel()
	<-over
}
