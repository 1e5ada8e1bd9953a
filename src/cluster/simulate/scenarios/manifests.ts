// The manifests of the scenarios that come with the package.

const template = (name: string, image: string) => ({
  metadata: { labels: { app: name } },
  spec: { containers: [{ name: 'main', image: `example.com/${name}:${image}` }] },
});

export const deployment = (name: string, replicas: number, image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: { replicas, selector: { matchLabels: { app: name } }, template: template(name, image) },
});

export const statefulSet = (name: string, replicas: number) => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name },
  spec: {
    replicas,
    serviceName: name,
    selector: { matchLabels: { app: name } },
    template: template(name, 'v1'),
  },
});

export const service = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port: 80 }] },
});

export const job = (name: string, completions: number) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name },
  spec: {
    completions,
    parallelism: 2,
    ttlSecondsAfterFinished: 1800,
    template: {
      spec: {
        restartPolicy: 'Never',
        containers: [
          { name: 'main', image: 'busybox', command: ['sh', '-c', 'sleep 20; echo done'] },
        ],
      },
    },
  },
});
