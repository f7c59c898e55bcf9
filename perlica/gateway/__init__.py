"""Every tool call: schema, plan, judgement, execution or ticket, protected result, audit."""
