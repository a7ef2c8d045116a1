package verb

import (
	"context"
	"fmt"

	"bellhop/scheduler"
	"bellhop/scheduler/workflow"
	"bellhop/sql/view"
)

func moved(c view.Change) bool        { return c.Was != c.State }
func movedOrAsked(c view.Change) bool { return moved(c) || c.Asked() }
func nowHeld(c view.Change) bool      { return c.State == scheduler.Held && moved(c) }

func cancelled(now bool) func(context.Context, view.Look, In) (Out, error) {
	return func(ctx context.Context, l view.Look, in In) (out Out, err error) {
		out.Jobs, err = l.CancelMany(ctx, in.Jobs, now)
		return out, err
	}
}

func retried(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.Jobs, err = l.RetryMany(ctx, in.Jobs)
	return out, err
}

// retriedFrom tries jobs once more, from a step of their work on.
func retriedFrom(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.Jobs, err = l.RetryFrom(ctx, in.Jobs, in.From)
	return out, err
}

// retriedAs tries jobs once more that are to be otherwise. Both in one transaction: none is begun before it is what it
// is to be, and where it may not be changed it is not tried again either.
func retriedAs(ctx context.Context, l view.Look, in In) (Out, error) {
	out, err := retried(ctx, l, in)
	for _, c := range out.Jobs {
		if err == nil && moved(c) {
			_, err = l.Edit(ctx, in.Jobs, in.Edit)
			break
		}
	}
	return out, err
}

// retriedBehind tries jobs once more, and those behind them that are over.
func retriedBehind(ctx context.Context, l view.Look, in In) (out Out, err error) {
	for _, id := range in.Jobs {
		c, n, ok, err := l.RetryBehind(ctx, id)
		if err == nil && !ok {
			err = errMissing
		}
		if err != nil {
			return out, err
		}
		out.Jobs, out.N = append(out.Jobs, c), out.N+n
	}
	return out, nil
}

func released(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.Jobs, err = l.ReleaseMany(ctx, in.Jobs)
	return out, err
}

func held(ctx context.Context, l view.Look, in In) (Out, error) {
	yes := true
	in.Edit = view.Edit{Hold: &yes}
	return edited(ctx, l, in)
}

func edited(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.Jobs, err = l.EditSealing(ctx, in.Jobs, in.Edit, in.Sealing)
	return out, err
}

// pruned deletes the next jobs of a filter.
func pruned(ctx context.Context, l view.Look, in In) (out Out, err error) {
	n, past, err := l.PruneSome(ctx, in.Ended, in.Past)
	return Out{N: int(n), Past: past}, err
}

// ofType is the type that is meant; nil: all.
func (in In) ofType() *scheduler.TypeName {
	if in.Name == "" {
		return nil
	}
	t := scheduler.TypeName(in.Name)
	return &t
}

func paused(ctx context.Context, l view.Look, in In) (Out, error) {
	return Out{}, l.Pause(ctx, in.ofType())
}

func resumed(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.Changed, out.Still, err = l.Resume(ctx, in.ofType())
	return out, err
}

// weighed gives a key its weight.
func weighed(ctx context.Context, l view.Look, in In) (Out, error) {
	return Out{}, l.SetShare(ctx, in.Share)
}

// shutDown ends an instance when what it runs is over.
func shutDown(ctx context.Context, l view.Look, in In) (Out, error) {
	args := fmt.Sprintf("shutdown %d", in.ID)
	_, err := l.Submit(ctx, view.Submission{Type: "command", Args: &args})
	return Out{}, err
}

func managed(what string) func(context.Context, view.Look, In) (Out, error) {
	return func(ctx context.Context, l view.Look, in In) (out Out, err error) {
		out.N, err = l.ChangeManager(ctx, what, in.Name)
		return out, err
	}
}

// there gives what an answer points to, or says that there is no such thing.
func there[T any](p *T, err error) (v T, _ error) {
	if err != nil {
		return v, err
	}
	if p == nil {
		return v, errMissing
	}
	return *p, nil
}

// was is for answers that say whether there is such a thing.
func was(is bool, err error) error {
	if err == nil && !is {
		err = errMissing
	}
	return err
}

func planned(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.ID, err = l.PlanOperation(ctx, in.Order, in.Match, in.Edit.Priority)
	return out, err
}

func started(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.Name, err = there(l.StartOperation(ctx, in.ID))
	return out, err
}

func stopped(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.Name, err = there(l.StopOperation(ctx, in.ID))
	return out, err
}

func undone(ctx context.Context, l view.Look, in In) (out Out, err error) {
	n, err := there(l.UndoOperation(ctx, in.ID))
	return Out{N: int(n)}, err
}

// ran starts a run by hand: of all steps, of some, or of those from one on.
func ran(ctx context.Context, l view.Look, in In) (out Out, err error) {
	if in.From != "" {
		list, err := l.Definitions(ctx, view.Exactly(in.Name))
		if err == nil && len(list) == 0 {
			err = errMissing
		}
		if err != nil {
			return out, err
		}
		d, err := workflow.Read(list[0].Definition)
		if err != nil {
			return out, err
		}
		if in.By.Steps, err = workflow.From(d.Steps, in.From); err != nil {
			return out, &Unfit{Err: err, Next: "bellhop workflow show " + in.Name}
		}
	}
	out.ID, err = there(l.RunWorkflow(ctx, in.Name, in.By))
	return out, err
}

func rerun(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.N, err = there(l.RetryRun(ctx, in.ID))
	return out, err
}

func turned(become string) func(context.Context, view.Look, In) (Out, error) {
	return func(ctx context.Context, l view.Look, in In) (out Out, err error) {
		out.Changed, err = there(l.ChangeWorkflow(ctx, in.Name, become, in.Version))
		return out, err
	}
}

// reverted applies an older version of a workflow once more.
func reverted(ctx context.Context, l view.Look, in In) (out Out, err error) {
	d, ok, err := l.Version(ctx, in.Name, in.Back)
	if err = was(ok, err); err == nil {
		out.Definition = d.Definition
		out.N, err = l.ApplyWorkflow(ctx, d.Definition, in.Version)
	}
	return out, err
}

// ruled adds a rule, or changes the one of an id.
func ruled(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.ID = in.ID
	if in.ID == 0 {
		out.ID, err = l.AddNoticeRule(ctx, in.Rule, in.Active == nil || *in.Active)
		return out, err
	}
	return out, was(l.ChangeNoticeRule(ctx, in.ID, in.Rule, in.Active, in.Version))
}

func unruled(ctx context.Context, l view.Look, in In) (Out, error) {
	return Out{Changed: true}, was(l.DeleteNoticeRule(ctx, in.ID))
}

func ruleTested(ctx context.Context, l view.Look, in In) (out Out, err error) {
	out.Messages, err = l.TestNoticeRule(ctx, in.ID)
	return out, was(out.Messages != nil, err)
}

// filtered adds a filter, or puts one in the place of another.
func filtered(ctx context.Context, l view.Look, in In) (out Out, err error) {
	if in.Filter.ID == "" {
		out.Name, err = l.AddFilter(ctx, in.Filter)
	} else {
		out.Name, err = l.ReplaceFilter(ctx, in.Filter)
	}
	return out, err
}

func unfiltered(ctx context.Context, l view.Look, in In) (Out, error) {
	return Out{Changed: true}, was(l.DeleteFilter(ctx, in.Name))
}
