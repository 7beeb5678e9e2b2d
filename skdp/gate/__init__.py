"""The one door: budgets are spent and noise is added here, and nowhere else."""
