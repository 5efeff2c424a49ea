"""What a lowered function does on a GPU step by step: `planner.plan_function` makes a `plan.Plan`."""
