package report

import (
	"fmt"

	"bellhop/scheduler/words"
	"bellhop/sql/view"
)

// Behind says what "retry from here" would do.
func Behind(b view.Behind) string {
	switch {
	case !b.State.Final():
		return fmt.Sprintf("would be refused: job %d is %s, and only a finished job gets a new attempt", b.ID, b.State)
	case b.More:
		return "would be refused: more than 1,000 jobs are behind it"
	case b.Begun != nil:
		return fmt.Sprintf("would be refused: job %d is %s, with what it has got from jobs that were to be tried again", *b.Begun, *b.BegunIs)
	}
	return "would run once more" + Follow(b)
}

// Follow says which other jobs come with a job that is tried again from there.
func Follow(b view.Behind) (text string) {
	switch {
	case b.Follow == 1:
		text = ", and 1 job follows"
	case b.Follow > 1:
		text = ", and " + words.Grouped(b.Follow) + " jobs follow"
	}
	switch {
	case b.Wait == 1:
		text += "; 1 that waits for it goes on waiting"
	case b.Wait > 1:
		text += "; " + words.Grouped(b.Wait) + " that wait for it go on waiting"
	}
	return text
}
