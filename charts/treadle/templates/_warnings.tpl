{{- /* The labels and annotations of our group that mean something on a pod; operator/treadle/api/known_labels.py has the same. */ -}}
{{- define "treadle.warnings.podKeys" -}}
[
{{- range $index, $key := list "allocated-application" "allocated-queue" "allocation-tags" "application" "application-tags" "bound-as" "demand" "execution-type" "expected-duration" "gang" "gang-min-member" "gang-preferred-topology" "gang-topology" "groups" "locality-nodes" "locality-racks" "partition" "placement-constraints" "promotion" "queue" "relax-locality" "resource-profile" "role" "submitted-by" "submitted-by-groups" "user" -}}
{{ if $index }}, {{ end }}'treadle.dev/{{ $key }}'
{{- end -}}
]
{{- end }}
