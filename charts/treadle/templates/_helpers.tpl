{{- define "treadle.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The name of objects. That of a Service has no dots, which the name of a release may have. */ -}}
{{- define "treadle.fullname" -}}
{{- $release := .Release.Name | replace "." "-" }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "treadle.name" .) $release }}
{{- $release | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" $release (include "treadle.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* The Service of the webhooks, whose name may have 63 characters as well. */ -}}
{{- define "treadle.webhookService" -}}
{{ include "treadle.fullname" . | trunc 55 | trimSuffix "-" }}-webhook
{{- end }}

{{- define "treadle.selector" -}}
app.kubernetes.io/name: {{ include "treadle.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "treadle.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "treadle.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: scheduler
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* The labels of an object with those that are chosen for it, which win: a list of the scope and these. */ -}}
{{- define "treadle.labelsWith" -}}
{{- toYaml (mergeOverwrite (include "treadle.labels" (index . 0) | fromYaml) (index . 1)) }}
{{- end }}

{{- /* Refuses labels of pods by which they are selected: a list of them and of the name of the value. */ -}}
{{- define "treadle.checkPodLabels" -}}
{{- range list "app.kubernetes.io/name" "app.kubernetes.io/instance" }}
{{- if hasKey (index $ 0) . }}
{{- fail (printf "%s: %s is a label by which the pods are selected; what it says follows from nameOverride and the name of the release" (index $ 1) .) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "treadle.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "treadle.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- /* The version of MutatingAdmissionPolicies that the API server serves, empty for none. */ -}}
{{- define "treadle.identity.version" -}}
{{- $found := "" }}
{{- range list "v1beta1" "v1" }}
{{- if $.Capabilities.APIVersions.Has (printf "admissionregistration.k8s.io/%s/MutatingAdmissionPolicy" .) }}
{{- $found = . }}
{{- end }}
{{- end }}
{{- $found }}
{{- end }}

{{- /* Who stamps: policies, webhook, or nobody (empty). The webhook wins where it is asked for. */ -}}
{{- define "treadle.identity.form" -}}
{{- if ne .Values.identity.source "stamps" -}}
{{- else if .Values.identity.webhook.enabled -}}
webhook
{{- else if include "treadle.identity.version" . -}}
policies
{{- end }}
{{- end }}

{{- /* What says whose an object is: stamps are believed only where they are written. */ -}}
{{- define "treadle.identity.source" -}}
{{- if and (eq .Values.identity.source "stamps") (not (include "treadle.identity.form" .)) -}}
namespace
{{- else -}}
{{ .Values.identity.source }}
{{- end }}
{{- end }}

{{- /* Not empty where the scheduler serves a webhook, of whichever of the two. */ -}}
{{- define "treadle.webhook" -}}
{{- if or .Values.opportunistic.webhook.enabled .Values.identity.webhook.enabled -}}
true
{{- end }}
{{- end }}

{{- define "treadle.administrators" -}}
{{ include "treadle.fullname" . }}-administrators
{{- end }}

{{- define "treadle.queueChanges" -}}
{{ include "treadle.fullname" . }}-queue-changes
{{- end }}

{{- define "treadle.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- /* Not empty where copies that stand by pass on what the leader answers. */ -}}
{{- define "treadle.forwards" -}}
{{- if and .Values.leaderElection.enabled (or .Values.rest.enabled .Values.page.enabled) -}}
true
{{- end }}
{{- end }}

{{- /* The port of all but the probes, by what is spoken there. */ -}}
{{- define "treadle.portName" -}}
{{- ternary "https" "http" .Values.tls.enabled }}
{{- end }}

{{- /* The name of the service in the certificate. */ -}}
{{- define "treadle.serverName" -}}
{{ include "treadle.fullname" . }}.{{ .Release.Namespace }}.svc
{{- end }}

{{- /* Not empty where the chart makes the account and the token with which Prometheus reads metrics. */ -}}
{{- define "treadle.ownMetricsToken" -}}
{{- if and (or .Values.podMonitor.enabled .Values.serviceMonitor.enabled) (not .Values.metrics.anonymous) (not .Values.metrics.tokenSecret.name) -}}
true
{{- end }}
{{- end }}

{{- /* How Prometheus reads the metrics: an endpoint of a PodMonitor or a ServiceMonitor. */ -}}
{{- define "treadle.monitorEndpoint" -}}
port: {{ include "treadle.portName" . }}
path: /metrics
{{- if .Values.tls.enabled }}
scheme: https
tlsConfig:
  {{- if .Values.metrics.insecureSkipVerify }}
  insecureSkipVerify: true
  {{- else }}
  serverName: {{ include "treadle.serverName" . }}
  ca:
    {{- if .Values.tls.secret }}
    secret:
      name: {{ .Values.tls.secret }}
      key: ca.crt
    {{- else }}
    configMap:
      name: {{ include "treadle.fullname" . }}-ca
      key: ca.crt
    {{- end }}
  {{- end }}
{{- end }}
{{- if not .Values.metrics.anonymous }}
authorization:
  type: Bearer
  credentials:
    name: {{ default (printf "%s-metrics" (include "treadle.fullname" .)) .Values.metrics.tokenSecret.name }}
    key: {{ .Values.metrics.tokenSecret.key }}
{{- end }}
{{- end }}

{{- define "treadle.agent.selector" -}}
app.kubernetes.io/name: {{ include "treadle.name" . | trunc 57 | trimSuffix "-" }}-agent
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "treadle.test.selector" -}}
app.kubernetes.io/name: {{ include "treadle.name" . | trunc 58 | trimSuffix "-" }}-test
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}
