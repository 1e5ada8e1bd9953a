from kubernetes import client, watch


def test_a_deployment_becomes_available(api, namespace):
    apps = client.AppsV1Api(api)
    labels = {"app": "web"}
    container = client.V1Container(name="web", image="nginx")
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[container])
    )
    spec = client.V1DeploymentSpec(
        replicas=2, selector=client.V1LabelSelector(match_labels=labels), template=template
    )
    web = client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    apps.create_namespaced_deployment(namespace, web)

    stream = watch.Watch().stream(apps.list_namespaced_deployment, namespace, timeout_seconds=60)
    assert any(event["object"].status.available_replicas == 2 for event in stream)
