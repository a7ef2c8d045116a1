package torture

import "time"

// stepwise: a step whose output is committed is not done again, and a job that has succeeded has saved all of its
// steps.
func (c *checker) stepwise() {
	saved := map[int64]entry{}
	for _, line := range c.journal {
		switch before, is := saved[line.token]; {
		case line.what == kept:
			saved[line.token] = line
		case line.what == stepping && is && !c.lostTail:
			c.say(exactly, "step token %d (job %d) was saved under fence %d, and done again under %d", line.token, line.job,
				before.fence, line.fence)
		}
	}
	for _, r := range c.rows {
		if r.state != "succeeded" {
			continue
		}
		for i := 1; i <= parseTask(r.args).steps; i++ {
			if _, is := saved[stepToken(r.token, i)]; !is && !c.stepInDoubt(r.token, i) {
				c.say(exactly, "job %d (token %d) has succeeded without its step %d", r.id, r.token, i)
			}
		}
	}
}

// stepInDoubt: a step was done, and the agent died before it read, or wrote down, that it is saved.
func (c *checker) stepInDoubt(token int64, i int) bool {
	for _, line := range c.journal {
		if line.what == stepping && line.token == stepToken(token, i) {
			return true
		}
	}
	return false
}

// families: a parent has each of its child jobs once, and goes on after their ends.
func (c *checker) families() {
	rows, last, ran := map[int64]int{}, map[int64]entry{}, c.ran()
	for _, r := range c.rows {
		rows[r.token]++
	}
	for _, line := range c.journal {
		if line.what == begun {
			last[line.token] = line
		}
	}
	for _, r := range c.rows {
		if r.state != "succeeded" {
			continue
		}
		for i := range parseTask(r.args).children {
			token := childToken(r.token, i)
			child := c.byToken[token]
			if rows[token] == 0 && c.lostTail && ran[token] { // its row was lost after it had run
				continue
			}
			if rows[token] != 1 {
				c.say(exactly, "job %d (token %d) has its child job %d %d times", r.id, r.token, i, rows[token])
				continue
			}
			end, ok := c.finished[claimed{token, child.id, child.fence}]
			if ok && last[r.token].at < end.at && !c.lostTail {
				c.say(ordered, "job %d (token %d) went on %s before the end of its child job %d", r.id, r.token,
					time.Duration(end.at-last[r.token].at), i)
			}
		}
	}
}

// booked: what an app wrote in the transaction that finished a job is there once, and only with that outcome.
func (c *checker) booked() {
	for _, r := range c.rows {
		if n := c.ledger[r.token]; r.typ == "taken" && (r.state == "succeeded") != (n == 1) {
			c.say(exactly, "job %d (token %d) is %s, and the ledger has it %d times", r.id, r.token, r.state, n)
		}
	}
}
