"""What happens to objects when they are made, for API servers without MutatingAdmissionPolicy: webhooks that say the same as the policies of the chart."""
