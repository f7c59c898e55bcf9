"""The path every action takes: plan, judgement, ticket, execution, recovery."""
