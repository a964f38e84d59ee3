"""The first program of Spark's containers, as Spark's own images have one: it becomes the driver or the executor that the pod is for."""

import os
import subprocess
import sys

JAVA = os.environ["JAVA_HOME"] + "/bin/java"
JARS = os.environ["SPARK_HOME"] + "/jars/*"


def driver(arguments: list[str]) -> list[str]:
    """Return the command of a driver, which Spark's launcher makes of what spark-submit is told."""
    address = os.environ["SPARK_DRIVER_BIND_ADDRESS"]
    told = ["--conf", f"spark.driver.bindAddress={address}", "--conf", f"spark.executorEnv.SPARK_DRIVER_POD_IP={address}"]
    submit = ["org.apache.spark.deploy.SparkSubmit", *told, "--deploy-mode", "client", *arguments]
    made = subprocess.run([JAVA, "-cp", JARS, "org.apache.spark.launcher.Main", *submit], stdout=subprocess.PIPE, check=True)
    _, _, command = made.stdout.partition(b"\0\n")
    return [part.decode() for part in command.removesuffix(b"\0").split(b"\0")]


def executor() -> list[str]:
    """Return the command of an executor, which is in the environment."""
    said = os.environ
    options = [said[name] for name in sorted(said, key=len) if name.startswith("SPARK_JAVA_OPT_")]
    memory = said["SPARK_EXECUTOR_MEMORY"]
    words = {
        "driver-url": "SPARK_DRIVER_URL",
        "executor-id": "SPARK_EXECUTOR_ID",
        "cores": "SPARK_EXECUTOR_CORES",
        "app-id": "SPARK_APPLICATION_ID",
        "hostname": "SPARK_EXECUTOR_POD_IP",
        "resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
        "podName": "SPARK_EXECUTOR_POD_NAME",
    }
    told = [part for word, name in words.items() for part in (f"--{word}", said[name])]
    backend = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    return [JAVA, *options, f"-Xms{memory}", f"-Xmx{memory}", "-cp", JARS, backend, *told]


if __name__ == "__main__":
    command = driver(sys.argv[2:]) if sys.argv[1] == "driver" else executor()
    os.execv(command[0], command)
