// Objects that several benchmarks create.

/** Returns a Deployment of containers that only wait. */
export function pauseDeployment(name: string, replicas: number) {
  const labels = { app: name };
  return {
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: 'main',
              image: 'registry.k8s.io/pause:3.10',
              resources: { requests: { cpu: '10m', memory: '16Mi' } },
            },
          ],
        },
      },
    },
  };
}
