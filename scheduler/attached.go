package scheduler

// Attached is the command of a row of an attached table.
type Attached struct {
	Command    []string
	WorkDir    string // empty: the scheduler's
	LogDir     string // empty: none
	Attachment string // its name
	Table      string
	Key        string // text form, and the last argument; of several columns, a JSON array
	Row        string // JSON
}
