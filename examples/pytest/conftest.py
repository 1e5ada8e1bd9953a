"""A cluster for a pytest session: simulated nodes, everything in memory, no root."""

import os
import shlex
import subprocess

import pytest
from kubernetes import client, config


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory):
    """The path of the kubeconfig of a running cluster. COX is the command, by default `npx cox`."""
    data = tmp_path_factory.mktemp("cox")
    command = shlex.split(os.environ.get("COX", "npx cox"))
    flags = ["--runtime", "simulated", "--store", "memory", "--secure-port", "0", "--no-install", "--quiet"]
    with open(data / "stderr", "w+") as stderr:
        process = subprocess.Popen(
            [*command, "up", *flags, "--data-dir", str(data / "cluster")],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        try:
            if not any(line.startswith("cluster ready") for line in process.stdout):
                stderr.seek(0)
                raise RuntimeError(f"cox up has ended: {stderr.read()}")
            yield str(data / "cluster" / "kubeconfig")
        finally:
            process.terminate()
            process.wait(timeout=30)


@pytest.fixture(scope="session")
def api(kubeconfig):
    """A client of the cluster, for the classes of the package kubernetes."""
    return config.new_client_from_config(kubeconfig)


@pytest.fixture
def namespace(api, request):
    """A namespace of the test's own."""
    core = client.CoreV1Api(api)
    metadata = client.V1ObjectMeta(generate_name="test-")
    name = core.create_namespace(client.V1Namespace(metadata=metadata)).metadata.name
    yield name
    core.delete_namespace(name)
