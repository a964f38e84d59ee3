#!/usr/bin/env bash
# Treadle on a laptop: a cluster of kind, the image built here, queues, Prometheus and Grafana with the dashboards.
#
#   examples/kind.sh                   make it, and forward ports until Ctrl-C
#   examples/kind.sh --no-monitoring   without Prometheus and Grafana
#   examples/kind.sh --delete          remove the cluster and all in it
#
# CLUSTER names the cluster (treadle). Run again it upgrades what is there. No other cluster is touched, whatever the current context is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cluster="${CLUSTER:-treadle}"
context="kind-$cluster"
image=treadle:kind
monitoring_chart=kube-prometheus-stack
monitoring_version=92.11.0
monitoring_charts=https://prometheus-community.github.io/helm-charts
monitoring=yes
delete=no

for argument in "$@"; do
  case "$argument" in
    --no-monitoring) monitoring=no ;;
    --delete) delete=yes ;;
    *)
      echo "kind.sh: $argument is not known; allowed are --no-monitoring and --delete" >&2
      exit 2
      ;;
  esac
done

need() {
  command -v "$1" > /dev/null || {
    echo "kind.sh: $1 is not there; it is needed to $2" >&2
    exit 1
  }
}

need kind "make a cluster in containers"
need docker "build the image, and to run the cluster's nodes"

if [ "$delete" = yes ]; then
  kind delete cluster --name "$cluster"
  exit
fi

need helm "install the chart"
need kubectl "talk to the cluster"
docker info > /dev/null 2>&1 || {
  echo "kind.sh: docker does not answer; is its daemon running, and may you use it?" >&2
  exit 1
}

if kind get clusters 2> /dev/null | grep -qxF "$cluster"; then
  echo "== the cluster $cluster is there"
  kind export kubeconfig --name "$cluster"
else
  echo "== a cluster of three nodes"
  kind create cluster --name "$cluster" --config examples/kind/cluster.yaml --wait 180s
fi

echo "== the image"
docker build --tag "$image" .
kind load docker-image "$image" --name "$cluster"

values=(--values examples/kind/values.yaml)
if [ "$monitoring" = yes ]; then
  echo "== Prometheus and Grafana"
  helm upgrade --install monitoring "$monitoring_chart" --repo "$monitoring_charts" --version "$monitoring_version" --kube-context "$context" \
    --namespace monitoring --create-namespace --values examples/kind/monitoring.yaml --wait --timeout 10m
  values+=(--values examples/kind/watched.yaml)
fi

echo "== Treadle"
helm upgrade --install treadle charts/treadle --kube-context "$context" --namespace treadle-system --create-namespace "${values[@]}" --wait --timeout 5m
# The same tag may be another image now.
kubectl --context "$context" --namespace treadle-system rollout restart deployment/treadle
kubectl --context "$context" --namespace treadle-system rollout status deployment/treadle --timeout 120s

echo "== queues and a first pod"
kubectl --context "$context" apply --filename examples/classic.yaml
kubectl --context "$context" delete pod hello --ignore-not-found
kubectl --context "$context" apply --filename examples/pod.yaml
kubectl --context "$context" wait pod/hello --for condition=PodScheduled --timeout 60s
kubectl --context "$context" get queues.treadle.dev

cat << END

Try:
  kubectl --context $context apply --filename examples/job.yaml
  kubectl --context $context get queues.treadle.dev --watch
  kubectl --context $context describe pod hello
Remove it all: examples/kind.sh --delete
END
[ "$monitoring" = yes ] || exit 0

forwards=()
trap 'kill "${forwards[@]}" 2> /dev/null || true' EXIT
kubectl --context "$context" --namespace monitoring port-forward service/monitoring-grafana 3000:80 > /dev/null &
forwards+=("$!")
kubectl --context "$context" --namespace monitoring port-forward service/monitoring-kube-prometheus-prometheus 9090:9090 > /dev/null &
forwards+=("$!")
cat << END
Open, until Ctrl-C:
  http://localhost:3000   Grafana (admin, treadle): the dashboards "Treadle / ..."
  http://localhost:9090   Prometheus: treadle_pods, treadle_queue_resource
END
wait
