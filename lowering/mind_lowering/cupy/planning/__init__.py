"""The launches of a lowered function on a GPU: `planner.plan_function` makes a `planner.LaunchPlan`."""
