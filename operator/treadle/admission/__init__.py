"""What happens to opportunistic pods when they are made, for API servers without MutatingAdmissionPolicy: a webhook that says the same."""
