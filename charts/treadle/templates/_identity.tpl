{{- /*
Whom objects are of: what policies and webhook have in common, so that both stamp the same.
What controllers make for people carries the stamp of the template that people made, so whoever is in identity.controllers is let through with what is written there.
*/ -}}
{{- define "treadle.identity.controller" -}}
(request.userInfo.username in {{ append .Values.identity.controllers (printf "system:serviceaccount:%s:%s" .Release.Namespace (include "treadle.serviceAccount" .)) | toJson }} ||
{{- range .Values.identity.controllerPrefixes }} request.userInfo.username.startsWith({{ . | quote }}) ||{{ end }} false)
{{- end }}

{{- define "treadle.identity.names" -}}
{{ prepend .Values.opportunistic.schedulerNames .Values.scheduler.name | uniq | toJson }}
{{- end }}

{{- define "treadle.identity.groups" -}}
request.userInfo.?groups.orValue([]).filter(g, !g.startsWith('system:') && !g.contains(',')).join(',')
{{- end }}

{{- define "treadle.identity.keys" -}}
['treadle.dev/submitted-by', 'treadle.dev/submitted-by-groups']
{{- end }}

{{- /* Namespaces that the webhook leaves out: Treadle has to start while nobody serves it, and so has what the cluster is made of. */ -}}
{{- define "treadle.identity.leftOut" -}}
{{ list "kube-system" .Release.Namespace | uniq | toJson }}
{{- end }}

{{- /*
The rest is of three kinds of objects, as dict "root" and "kind": what is stamped itself (objects), what has a template (templates), and CronJobs, whose template is deeper (cronjobs).
*/ -}}
{{- define "treadle.identity.path" -}}
{{ index (dict "objects" "" "templates" ".spec.template" "cronjobs" ".spec.jobTemplate.spec.template") .kind }}
{{- end }}

{{- define "treadle.identity.rules" -}}
{{- if eq .kind "objects" -}}
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE]
  resources: [pods]
  scope: Namespaced
- apiGroups: [treadle.dev]
  apiVersions: ["*"]
  operations: [CREATE]
  resources: [applications, reservations]
  scope: Namespaced
{{- else if eq .kind "cronjobs" -}}
- apiGroups: [batch]
  apiVersions: [v1]
  operations: [CREATE, UPDATE]
  resources: [cronjobs]
  scope: Namespaced
{{- else -}}
- apiGroups: [batch]
  apiVersions: [v1]
  operations: [CREATE, UPDATE]
  resources: [jobs]
  scope: Namespaced
- apiGroups: [apps]
  apiVersions: [v1]
  operations: [CREATE, UPDATE]
  resources: [deployments, replicasets, statefulsets, daemonsets]
  scope: Namespaced
- apiGroups: [""]
  apiVersions: [v1]
  operations: [CREATE, UPDATE]
  resources: [replicationcontrollers]
  scope: Namespaced
{{- end }}
{{- end }}

{{- define "treadle.identity.conditions" -}}
- name: ours
  expression: >-
    {{- if eq .kind "objects" }}
    request.resource.group == 'treadle.dev' || object.spec.?schedulerName.orValue('') in {{ include "treadle.identity.names" .root }}
    {{- else }}
    object{{ include "treadle.identity.path" . }}.spec.?schedulerName.orValue('') in {{ include "treadle.identity.names" .root }} ||
    object{{ include "treadle.identity.path" . }}.?metadata.?annotations[?'treadle.dev/submitted-by'].hasValue()
    {{- end }}
- name: people
  expression: >-
    !{{ include "treadle.identity.controller" .root | nindent 4 | trim }}
{{- end }}

{{- /* The first stamp of a template, which it keeps: as variables, empty where it has none. */ -}}
{{- define "treadle.identity.first" -}}
{{- $old := printf "oldObject%s.?metadata.?annotations" (include "treadle.identity.path" .) -}}
- name: first
  expression: >-
    request.operation == 'UPDATE' ? {{ $old }}[?'treadle.dev/submitted-by'].orValue('') : ''
- name: groups
  expression: >-
    request.operation == 'UPDATE' ? {{ $old }}[?'treadle.dev/submitted-by-groups'].orValue('') : ''
{{- end }}
